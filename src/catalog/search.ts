/**
 * Finds tools by words. Names, descriptions and parameters are cut into words (`createIssue`, `create-issue` and
 * `create_issue` are the same two), words are brought to a stem, and rare words count more than common ones (BM25,
 * Robertson and Zaragoza 2009). Pure and deterministic: equal scores are ordered by server and tool.
 */

/** One tool as the index reads it. */
export interface SearchEntry {
  readonly server: string;
  readonly serverDescription: string;
  readonly tool: string;
  readonly description: string;
  readonly parameters: readonly string[];
}

export interface SearchHit<Entry extends SearchEntry> {
  readonly entry: Entry;
  readonly score: number;
}

export interface SearchIndex<Entry extends SearchEntry> {
  /** The best `limit` entries with a score above zero, best first. */
  search(query: string, limit: number): SearchHit<Entry>[];
}

/** What a word is worth by where it stands. Chosen: a tool's name says most, its parameters least. */
const WEIGHTS = { tool: 4, server: 2, description: 1, parameter: 0.5, serverDescription: 0.5 } as const;
/** A query word that only begins an indexed word counts this much of it. Measured on 378 queries over 2,700 tools. */
const PREFIX_FACTOR = 0.2;
/** Added to the score, as a share of it, when every word of the tool's name was asked for. Measured as above. */
const NAME_BONUS = 0.5;
const MIN_PREFIX_CHARS = 3;
/** How fast repetition stops to count, and how much long texts are held back: the usual constants of BM25. */
const SATURATION = 1.2;
const LENGTH_SHARE = 0.4;
/** Characters of a description that are read; a longer one says nothing more about what the tool is for. Chosen. */
const INDEXED_CHARS = 2_000;

/** Words so common in queries that they name nothing. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an and are as at be by can do for from get how i in into is it me my of on or that the this to tool use using via want what which with'.split(
    ' ',
  ),
);

interface Posting {
  readonly entry: number;
  readonly weight: number;
  readonly isInName: boolean;
}

export function createSearchIndex<Entry extends SearchEntry>(entries: readonly Entry[]): SearchIndex<Entry> {
  const postings = new Map<string, Posting[]>();
  const lengths = new Float64Array(entries.length);
  const nameLengths = new Uint16Array(entries.length);
  for (const [index, entry] of entries.entries()) {
    const nameWords = new Set(wordsOf(entry.tool));
    nameLengths[index] = nameWords.size;
    for (const [word, weight] of weightsOf(entry)) {
      lengths[index] = (lengths[index] ?? 0) + weight;
      const list = postings.get(word) ?? [];
      list.push({ entry: index, weight, isInName: nameWords.has(word) });
      postings.set(word, list);
    }
  }
  const meanLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, entries.length);
  const vocabulary = [...postings.keys()].toSorted();

  function add(found: Map<number, Found>, word: string, factor: number): void {
    const list = postings.get(word) ?? [];
    const rarity = Math.log(1 + (entries.length - list.length + 0.5) / (list.length + 0.5));
    for (const { entry, weight, isInName } of list) {
      const length = (lengths[entry] ?? 0) / meanLength;
      const held = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length);
      const before = found.get(entry) ?? { score: 0, nameWords: 0 };
      before.score += (factor * rarity * (weight * (SATURATION + 1))) / (weight + held);
      before.nameWords += isInName && factor === 1 ? 1 : 0;
      found.set(entry, before);
    }
  }

  return {
    search(query, limit) {
      const found = new Map<number, Found>();
      for (const word of queryWords(query)) {
        add(found, word, 1);
        for (const longer of wordsBeginning(vocabulary, word)) {
          add(found, longer, PREFIX_FACTOR);
        }
      }
      const best: SearchHit<Entry>[] = [];
      for (const [index, { score, nameWords }] of found) {
        const entry = entries[index];
        if (entry !== undefined) {
          const nameShare = nameWords / Math.max(1, nameLengths[index] ?? 1);
          keepBest(best, { entry, score: score * (1 + NAME_BONUS * nameShare) }, limit);
        }
      }
      return best;
    },
  };
}

/** What has been found of one entry so far. */
interface Found {
  score: number;
  /** Words of the tool's name that were asked for. */
  nameWords: number;
}

/** Puts `hit` into its place among the best; cheaper than sorting all when few of many are wanted. */
function keepBest<Entry extends SearchEntry>(best: SearchHit<Entry>[], hit: SearchHit<Entry>, limit: number): void {
  const last = best.at(-1);
  if (last !== undefined && best.length >= limit && byScoreThenName(last, hit) <= 0) {
    return;
  }
  let place = best.length;
  for (
    let before = best[place - 1];
    before !== undefined && byScoreThenName(before, hit) > 0;
    before = best[place - 1]
  ) {
    place -= 1;
  }
  best.splice(place, 0, hit);
  best.length = Math.min(best.length, limit);
}

/** The words of a text as stems: cut at case, digits and punctuation, lower case, without plural and verb endings. */
export function wordsOf(text: string): string[] {
  return text
    .normalize('NFKC')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map(stem);
}

function queryWords(query: string): Set<string> {
  const all = wordsOf(query);
  const meaningful = all.filter((word) => !STOP_WORDS.has(word));
  return new Set(meaningful.length === 0 ? all : meaningful);
}

function weightsOf(entry: SearchEntry): Map<string, number> {
  const weights = new Map<string, number>();
  const read = (text: string, weight: number): void => {
    for (const word of wordsOf(text)) {
      weights.set(word, (weights.get(word) ?? 0) + weight);
    }
  };
  read(entry.tool, WEIGHTS.tool);
  read(entry.server, WEIGHTS.server);
  read(entry.serverDescription.slice(0, INDEXED_CHARS), WEIGHTS.serverDescription);
  read(entry.description.slice(0, INDEXED_CHARS), WEIGHTS.description);
  read(entry.parameters.join(' '), WEIGHTS.parameter);
  return weights;
}

/** A light stem for English: enough for `issues`/`issue`, `queries`/`query`, `listing`/`list`, `created`/`create`. */
function stem(word: string): string {
  if (word.length < 4) {
    return word;
  }
  const singular = word
    .replace(/ies$/, 'y')
    .replace(/(s|x|z|ch|sh)es$/, '$1')
    .replace(/([^su])s$/, '$1');
  const bare = singular.replace(/(?<=\w{3})(?:ing|ed)$/, '');
  // `created` and `creating` leave `creat`; so does `create` without its `e`.
  return bare.length > 4 ? bare.replace(/e$/, '') : bare;
}

/** Indexed words that begin with `word` but are longer, in order. */
function wordsBeginning(vocabulary: readonly string[], word: string): string[] {
  if (word.length < MIN_PREFIX_CHARS) {
    return [];
  }
  let low = 0;
  let high = vocabulary.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((vocabulary[middle] ?? '') <= word) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const found: string[] = [];
  for (let index = low; vocabulary[index]?.startsWith(word) === true; index += 1) {
    found.push(vocabulary[index] ?? '');
  }
  return found;
}

function byScoreThenName<Entry extends SearchEntry>(left: SearchHit<Entry>, right: SearchHit<Entry>): number {
  return (
    right.score - left.score ||
    compareText(left.entry.server, right.entry.server) ||
    compareText(left.entry.tool, right.entry.tool)
  );
}

/** By code unit, so that the order is the same in every locale. */
function compareText(left: string, right: string): number {
  if (left === right) {
    return 0;
  }
  return left < right ? -1 : 1;
}
