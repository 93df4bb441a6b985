/**
 * The tools of one server, prepared for the search. A server that changes gets a new shelf while the others keep theirs, so
 * nothing here may depend on other servers.
 */
import { type Action, actionOf } from './search-lexicon.ts';
import type { Reader, ReadRun, Stem } from './search-words.ts';

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

/** A tool takes about 20 µs. */
const TOOLS_BETWEEN_PAUSES = 16;

/** What is known of a stem while an index is built. */
export interface StemNote {
  /** The tool and the field that had it last, by their numbers. */
  tool: number;
  field: number;
  /** In that tool, so far. */
  weight: number;
  /** The shelf that had it last, and what it has of it. */
  shelf: Shelf['postings'];
  posting: Posting;
}

/** Counts tools and fields of all shelves, because they are built in turns. */
let lastNumber = 0;

/** Prepares a server. `pause` is awaited now and then, so that a long list does not block other work. */
export async function buildShelf(
  server: SearchServer,
  reader: Reader<StemNote>,
  pause: () => Promise<void>,
): Promise<Shelf> {
  const postings = new Map<string, Posting>();
  const tools: ShelfTool[] = [];
  const noted: Stem<StemNote>[] = [];
  for (const [place, tool] of server.tools.entries()) {
    reader.forgetIfFull();
    const fields = readFields(server, tool, reader);
    for (const { posting, weight } of weigh(fields, postings, noted)) {
      posting.places.push(place);
      posting.shares.push(weight / (SATURATION + weight));
    }
    tools.push(shelfTool(tool.name, fields));
    if (place % TOOLS_BETWEEN_PAUSES === 0) {
      // biome-ignore lint/performance/noAwaitInLoops: the pause is what the loop is for.
      await pause();
    }
  }
  // The reader outlives the shelf.
  for (const stem of noted) {
    stem.note = undefined;
  }
  return { server: server.name, tools, postings };
}

type Run = ReadRun<StemNote>;
type Fields = Readonly<Record<Field, readonly Run[]>>;

function readFields(server: SearchServer, tool: SearchTool, reader: Reader<StemNote>): Fields {
  const description = tool.description.slice(0, MAX_CHARS);
  const [sentence = description] = FIRST_SENTENCE.exec(description) ?? [];
  return {
    name: reader.read(tool.name.slice(0, MAX_NAME_CHARS)),
    title: reader.read((tool.title ?? '').slice(0, MAX_NAME_CHARS)),
    server: server.isNameless === true ? [] : reader.read(server.name.slice(0, MAX_NAME_CHARS)),
    serverDescription: reader.read(server.description.slice(0, MAX_LEAD_CHARS)),
    lead: reader.read(sentence.slice(0, MAX_LEAD_CHARS)),
    rest: reader.read(description.slice(sentence.length)),
    parameters: reader.read(tool.parameters.slice(0, MAX_PARAMETERS).join(' ').slice(0, MAX_CHARS)),
  };
}

/** The stems of one tool, each once, with what it is worth. Loops without lists in between, because all words of all tools pass here. */
function weigh(fields: Fields, postings: Map<string, Posting>, noted: Stem<StemNote>[]): StemNote[] {
  lastNumber += 1;
  const tool = lastNumber;
  const found: StemNote[] = [];
  for (const field of FIELD_NAMES) {
    const runs = fields[field];
    if (runs.length === 0) {
      continue;
    }
    lastNumber += 1;
    const { weight, usualWords } = FIELDS[field];
    const share = weight / (1 - LENGTH_SHARE + (LENGTH_SHARE * stemCount(runs)) / usualWords);
    // Repeating a word means something only in sentences.
    const countsAll = field === 'lead' || field === 'rest';
    for (const { indexed } of runs) {
      for (const stem of indexed) {
        const note = stem.note?.shelf === postings ? stem.note : takeNote(stem, postings, noted);
        if (note.tool !== tool) {
          note.tool = tool;
          note.weight = 0;
          found.push(note);
        } else if (!countsAll && note.field === lastNumber) {
          continue;
        }
        note.field = lastNumber;
        note.weight += share;
      }
    }
  }
  return found;
}

function stemCount(runs: readonly Run[]): number {
  let count = 0;
  for (const { indexed } of runs) {
    count += indexed.length;
  }
  return count;
}

function takeNote(stem: Stem<StemNote>, postings: Map<string, Posting>, noted: Stem<StemNote>[]): StemNote {
  const posting = postings.get(stem.text) ?? { places: [], shares: [] };
  postings.set(stem.text, posting);
  const made = { tool: 0, field: 0, weight: 0, shelf: postings, posting };
  stem.note = made;
  noted.push(stem);
  return made;
}

function meaningfulStemsOf(runs: readonly Run[]): string[] {
  const found: string[] = [];
  for (const { stems } of runs) {
    for (const stem of stems) {
      found.push(stem);
    }
  }
  return found;
}

function shelfTool(name: string, fields: Fields): ShelfTool {
  const nameStems = meaningfulStemsOf(fields.name);
  const leadStems = meaningfulStemsOf(fields.lead);
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
