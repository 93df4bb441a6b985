/**
 * The tools of one server, prepared for the search. A server that changes gets a new shelf while the others keep theirs, so
 * nothing here may depend on other servers.
 */
import { type Action, actionOf } from './search-lexicon.ts';
import type { Read, ReadRun } from './search-words.ts';

/** A server as the search needs it. */
export interface SearchServer {
  readonly name: string;
  /** Whether words of the query can match its name; by default they can. */
  readonly isNameless?: boolean | undefined;
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
  /** By stem: which tools have the word, and how much they are about it. */
  readonly postings: ReadonlyMap<string, Posting>;
}

export interface ShelfTool {
  readonly name: string;
  /** The stems of its name, without duplicates. */
  readonly nameStems: readonly string[];
  /** The stems of its name and of the first sentence of its description, with a space around each. */
  readonly lead: string;
  readonly actions: ReadonlySet<Action>;
}

/** Two lists of the same length: indexes of tools in the server's list, and how much each tool is about the word (above 0, below 1). */
export interface Posting {
  readonly places: number[];
  readonly shares: number[];
}

/**
 * What a word is worth in each field, and how many words that field usually has. Tuned together with the numbers in
 * `search-rank.ts`, except those for titles and servers' descriptions, which were chosen without evidence.
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

/** The constants of BM25: repetition soon stops counting, and long texts count a little less. Tuned as above. */
const SATURATION = 0.5;
const LENGTH_SHARE = 0.3;
/** How much of a text is read; the rest says nothing more about what the tool is for. Chosen. */
const MAX_CHARS = 2_000;
const MAX_LEAD_CHARS = 300;
const MAX_NAME_CHARS = 200;
const MAX_PARAMETERS = 60;
/** If the name has no verb, it is looked for in this many first words of the description. */
const FIRST_WORDS = 3;
/** The first sentence; its minimum length prevents ending at an abbreviation. */
const FIRST_SENTENCE = /^[\s\S]{15,}?(?:[.!?](?=\s|$)|。|\n\n)/;

/** Prepares a server. `pause` is awaited between tools, so that a long list does not block other work. */
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
    server: server.isNameless === true ? [] : read(server.name.slice(0, MAX_NAME_CHARS)),
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
    // Repeating a word means something only in sentences.
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
