/**
 * Cuts text into words for the search: `createIssue`, `create-issue` and `Create issues` give the same two. Words are
 * compared by their stem, so that number and tense do not matter.
 */

/** Runs of one word whose forms no rule below brings together. */
const IRREGULAR: ReadonlyMap<string, string> = new Map([
  ['children', 'child'],
  ['people', 'person'],
  ['indices', 'index'],
  ['indexes', 'index'],
  ['sent', 'send'],
  ['ran', 'run'],
  ['wrote', 'write'],
  ['written', 'write'],
  // Not plurals, though they end like one.
  ...['news', 'series', 'aws', 'dns', 'sms', 'gps', 'ios', 'css', 'kubernetes', 'analytics'].map(
    (word) => [word, word] as const,
  ),
]);

/** Words that say nothing about what is looked for. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about also am an and any are as at be been being but by can could did do does for from has have help how i if ' +
    'in into is it its just let like me my need needs of on or our please should so some tell that the their them ' +
    'then there these they this those to us use used using via want was we were what when where which who will with ' +
    'would you your'
  ).split(' '),
);

/** Letters and digits without anything between, with or without an `'s`. */
const RUN = /[\p{L}\p{M}\p{N}]+(?:['’]s(?![\p{L}\p{N}]))?/gu;
const ASCII_RUN = /[A-Za-z0-9]+(?:'s(?![A-Za-z0-9]))?/g;
/** Where the case says that a new word begins: `createIssue`, `HTTPServer`, but not `IDs`. */
const WORD_BEGIN = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}(?!(?<=s)(?![\p{L}\p{N}])))/u;
/** `MySQL` or `GitHub`: one word for its readers, though its case looks like two. */
const BRAND = /^\p{Lu}\p{L}*\p{Ll}\p{Lu}/u;

/** A text cut at everything that is no letter or digit. */
export function runsOf(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is the range of ASCII.
  return (/^[\u0000-\u007f]*$/.test(text) ? text.match(ASCII_RUN) : text.normalize('NFKC').match(RUN)) ?? [];
}

/** The words of one run in lower case, cut where its case changes. */
export function wordsOfRun(run: string): string[] {
  return run
    .replace(/['’]s$/, '')
    .split(WORD_BEGIN)
    .map((word) => word.toLowerCase());
}

/** The words of a text in lower case. */
export function searchWordsOf(text: string): string[] {
  return runsOf(text).flatMap(wordsOfRun);
}

/** What the index has of one run. */
export interface ReadRun {
  /** Stems of its words that say something. */
  readonly stems: readonly string[];
  /** All its stems, and that of the whole run when it is a name like `GitHub`. */
  readonly indexed: readonly string[];
}

/** Reads a text run by run. */
export type Read = (text: string) => ReadRun[];

/** Runs that a reader remembers: more than any language of tools has. About 5 MB. */
const MAX_REMEMBERED = 20_000;

/** A reader that remembers, because texts of tools repeat their words. */
export function createReader(): Read {
  const known = new Map<string, ReadRun>();
  return (text) =>
    runsOf(text).map((run) => {
      let read = known.get(run);
      if (read === undefined) {
        if (known.size >= MAX_REMEMBERED) {
          known.clear();
        }
        read = readRun(run);
        known.set(run, read);
      }
      return read;
    });
}

function readRun(run: string): ReadRun {
  const words = wordsOfRun(run);
  const stems = words.map(stemOf);
  return {
    stems: words.filter((word) => !STOP_WORDS.has(word)).map(stemOf),
    indexed: words.length > 1 && BRAND.test(run) ? [...stems, stemOf(words.join(''))] : stems,
  };
}

/**
 * A light stem for English: enough for `issues`/`issue`, `queries`/`query`, `listing`/`list`, `created`/`create`,
 * `running`/`run`. Other words stay as they are.
 */
export function stemOf(word: string): string {
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined || word.length < 4 || !/^[a-z]+$/.test(word)) {
    return irregular ?? word;
  }
  const singular = word
    .replace(/ies$/, 'y')
    .replace(/(ss|x|z|ch|sh)es$/, '$1')
    .replace(/([^sui])s$/, '$1');
  const bare = singular.replace(/(?<=[aeiouy].*)(?<=.{3})(?:ing|ed)$/, '');
  const short = bare === singular ? bare : bare.replace(/([bdgklmnprt])\1$/, '$1');
  // `created` and `creating` leave `creat`; so does `create` without its `e`.
  return short.length > 4 ? short.replace(/e$/, '') : short;
}

/** Whether the word looks like an English plural. */
export function isPlural(word: string): boolean {
  return word.length > 3 && /[^su]s$/.test(word) && !IRREGULAR.has(word);
}
