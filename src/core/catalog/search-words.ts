/**
 * Splits text into words for the search: `createIssue`, `create-issue` and `Create issues` give the same two. Words are
 * compared by their stems, so that number and tense do not matter.
 */

/** Irregular forms, which the rules below do not cover. */
const IRREGULAR: ReadonlyMap<string, string> = new Map([
  ['children', 'child'],
  ['people', 'person'],
  ['indices', 'index'],
  ['indexes', 'index'],
  ['sent', 'send'],
  ['ran', 'run'],
  ['wrote', 'write'],
  ['written', 'write'],
  // They look like plurals but are not.
  ...['news', 'series', 'aws', 'dns', 'sms', 'gps', 'ios', 'css', 'kubernetes', 'analytics'].map(
    (word) => [word, word] as const,
  ),
]);

/** Words that say nothing about what the query is looking for. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about also am an and any are as at be been being but by can could did do does for from has have help how i if ' +
    'in into is it its just let like me my need needs of on or our please should so some tell that the their them ' +
    'then there these they this those to us use used using via want was we were what when where which who will with ' +
    'would you your'
  ).split(' '),
);

/** Adjacent letters and digits, with or without a final `'s`. */
const RUN = /[\p{L}\p{M}\p{N}]+(?:['’]s(?![\p{L}\p{N}]))?/gu;
const ASCII_RUN = /[A-Za-z0-9]+(?:'s(?![A-Za-z0-9]))?/g;
/** A change of case that begins a new word: in `createIssue` and `HTTPServer`, but not in `IDs`. */
const WORD_BEGIN = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}(?!(?<=s)(?![\p{L}\p{N}])))/u;
/** `MySQL` or `GitHub`: people read it as one word, though its case looks like two. */
const BRAND = /^\p{Lu}\p{L}*\p{Ll}\p{Lu}/u;

/** The text split at everything that is not a letter or digit. */
export function runsOf(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is the range of ASCII.
  return (/^[\u0000-\u007f]*$/.test(text) ? text.match(ASCII_RUN) : text.normalize('NFKC').match(RUN)) ?? [];
}

/** The words of one run in lower case, split where its case changes. */
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

/**
 * A stem with room for notes of whoever builds an index, who would otherwise look into maps for each word of each text.
 */
export class Stem<Note> {
  readonly text: string;
  note: Note | undefined;

  constructor(text: string) {
    this.text = text;
  }
}

/** What the index stores about one run. */
export interface ReadRun<Note> {
  /** The stems of its words, without stop words. */
  readonly stems: readonly string[];
  /** All its stems, plus that of the whole run if it is a name like `GitHub`. */
  readonly indexed: readonly Stem<Note>[];
}

/** Runs in the cache: more than the descriptions of tools use. About 5 MB. */
const MAX_REMEMBERED = 20_000;

/** Reads texts run by run. It has a cache, because tools' texts repeat their words. */
export class Reader<Note> {
  readonly #runs = new Map<string, ReadRun<Note>>();
  readonly #stems = new Map<string, Stem<Note>>();

  read(text: string): ReadRun<Note>[] {
    return text === '' ? [] : runsOf(text).map((run) => this.#runs.get(run) ?? this.#remember(run));
  }

  /** Empties a full cache. Until then, there is one object for each stem. */
  forgetIfFull(): void {
    if (this.#runs.size >= MAX_REMEMBERED) {
      this.#runs.clear();
      this.#stems.clear();
    }
  }

  #remember(run: string): ReadRun<Note> {
    const words = wordsOfRun(run);
    const stems = words.map(stemOf);
    const indexed = words.length > 1 && BRAND.test(run) ? [...stems, stemOf(words.join(''))] : stems;
    const read = {
      stems: words.filter((word) => !STOP_WORDS.has(word)).map(stemOf),
      indexed: indexed.map((stem) => this.#stemOf(stem)),
    };
    this.#runs.set(run, read);
    return read;
  }

  #stemOf(text: string): Stem<Note> {
    const stem = this.#stems.get(text) ?? new Stem<Note>(text);
    this.#stems.set(text, stem);
    return stem;
  }
}

/**
 * A light stemmer for English: enough for `issues`/`issue`, `queries`/`query`, `listing`/`list`, `created`/`create` and
 * `running`/`run`. Other words are returned unchanged.
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
  // `created` and `creating` become `creat`, so `create` must lose its `e`.
  return short.length > 4 ? short.replace(/e$/, '') : short;
}

/** Whether the word looks like an English plural. */
export function isPlural(word: string): boolean {
  return word.length > 3 && /[^su]s$/.test(word) && !IRREGULAR.has(word);
}
