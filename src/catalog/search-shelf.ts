/**
 * The tools of one server, prepared for the search. A server that changes gets a new shelf and the others keep theirs;
 * therefore nothing here depends on other servers.
 */
import { type Action, actionOf } from './search-lexicon.ts';
import type { Read, ReadRun } from './search-words.ts';

/** A server as the search reads it. */
export interface SearchServer {
  readonly name: string;
  readonly description: string;
  readonly tools: readonly SearchTool[];
}

export interface SearchTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  readonly parameters: readonly string[];
}

export interface Shelf {
  readonly server: string;
  readonly tools: readonly ShelfTool[];
  /** By stem: which tools have the word, and how much of it. */
  readonly postings: ReadonlyMap<string, Posting>;
}

export interface ShelfTool {
  readonly name: string;
  /** Stems of its name, each once. */
  readonly nameStems: readonly string[];
  /** Stems of its name and of the first sentence about it, with a space around each. */
  readonly lead: string;
  readonly actions: ReadonlySet<Action>;
}

/** Two lists of the same length: places of tools in the list of the server, and how much each is about the word, above 0 and below 1. */
export interface Posting {
  readonly places: number[];
  readonly shares: number[];
}

/**
 * What a word is worth by where it stands, and how many words usually stand there. Measured together with the numbers
 * in `search-rank.ts`; the ones of servers' descriptions and of titles are chosen, no evidence.
 */
const FIELDS = {
  name: { weight: 2, usualWords: 3 },
  title: { weight: 1, usualWords: 3 },
  server: { weight: 1, usualWords: 2 },
  serverDescription: { weight: 0.3, usualWords: 10 },
  lead: { weight: 1.2, usualWords: 12 },
  rest: { weight: 0.5, usualWords: 25 },
  parameters: { weight: 0.8, usualWords: 6 },
} as const;
type Field = keyof typeof FIELDS;
const FIELD_NAMES = Object.keys(FIELDS) as Field[];

/** Repetition soon stops to count, and long texts are held back a little: the constants of BM25. Measured as above. */
const SATURATION = 0.5;
const LENGTH_SHARE = 0.3;
/** Characters of a text that are read; a longer one says nothing more about what the tool is for. Chosen. */
const MAX_CHARS = 2_000;
const MAX_LEAD_CHARS = 300;
const MAX_NAME_CHARS = 200;
const MAX_PARAMETERS = 60;
/** A name without a verb may have one at the start of the description. */
const FIRST_WORDS = 3;
/** The first sentence, which is not just an abbreviation. */
const FIRST_SENTENCE = /^[\s\S]{15,}?(?:[.!?](?=\s|$)|。|\n\n)/;

/** Prepares a server; `pause` is awaited between tools, so that a long list holds nobody up. */
export async function buildShelf(server: SearchServer, read: Read, pause: () => Promise<void>): Promise<Shelf> {
  const postings = new Map<string, Posting>();
  const tools: ShelfTool[] = [];
  for (const [place, tool] of server.tools.entries()) {
    const fields = readFields(server, tool, read);
    for (const [stem, weight] of weightsOf(fields)) {
      let posting = postings.get(stem);
      if (posting === undefined) {
        posting = { places: [], shares: [] };
        postings.set(stem, posting);
      }
      posting.places.push(place);
      posting.shares.push(weight / (SATURATION + weight));
    }
    tools.push(shelfTool(tool.name, fields));
    // biome-ignore lint/performance/noAwaitInLoops: the pause is what the loop is for.
    await pause();
  }
  return { server: server.name, tools, postings };
}

type Fields = Readonly<Record<Field, readonly ReadRun[]>>;

function readFields(server: SearchServer, tool: SearchTool, read: Read): Fields {
  const description = tool.description.slice(0, MAX_CHARS);
  const [sentence = description] = FIRST_SENTENCE.exec(description) ?? [];
  return {
    name: read(tool.name.slice(0, MAX_NAME_CHARS)),
    title: read((tool.title ?? '').slice(0, MAX_NAME_CHARS)),
    server: read(server.name.slice(0, MAX_NAME_CHARS)),
    serverDescription: read(server.description.slice(0, MAX_LEAD_CHARS)),
    lead: read(sentence.slice(0, MAX_LEAD_CHARS)),
    rest: read(description.slice(sentence.length)),
    parameters: read(tool.parameters.slice(0, MAX_PARAMETERS).join(' ').slice(0, MAX_CHARS)),
  };
}

function weightsOf(fields: Fields): Map<string, number> {
  const weights = new Map<string, number>();
  for (const field of FIELD_NAMES) {
    const { weight, usualWords } = FIELDS[field];
    const stems = stemsOf(fields[field]);
    // Only in sentences does a repeated word mean more.
    const counted = field === 'lead' || field === 'rest' ? stems : new Set(stems);
    const share = weight / (1 - LENGTH_SHARE + (LENGTH_SHARE * stems.length) / usualWords);
    for (const stem of counted) {
      weights.set(stem, (weights.get(stem) ?? 0) + share);
    }
  }
  return weights;
}

function stemsOf(runs: readonly ReadRun[]): string[] {
  const stems: string[] = [];
  for (const run of runs) {
    stems.push(...run.indexed);
  }
  return stems;
}

function shelfTool(name: string, fields: Fields): ShelfTool {
  const nameStems = fields.name.flatMap((run) => run.stems);
  const leadStems = fields.lead.flatMap((run) => run.stems);
  const named = actionsOf(nameStems);
  return {
    name,
    nameStems: [...new Set(nameStems)],
    lead: ` ${nameStems.join(' ')} | ${leadStems.join(' ')} `,
    actions: named.size > 0 ? named : actionsOf(leadStems.slice(0, FIRST_WORDS)),
  };
}

function actionsOf(stems: readonly string[]): Set<Action> {
  return new Set(stems.map(actionOf).filter((action) => action !== undefined));
}
