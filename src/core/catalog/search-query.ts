/**
 * What a query asks for: its words, how much each of them matters, and the action. People and models write "Show me the
 * tables in database X on server Y": they begin with what they want, and the rest says where it is.
 */
import { type Action, actionOf } from './search-lexicon.ts';
import { isPlural, runsOf, STOP_WORDS, stemOf, wordsOfRun } from './search-words.ts';

export interface Query {
  /** In order, without duplicate stems. */
  readonly words: readonly QueryWord[];
  /** The action that the query asks for, if it names one. */
  readonly action: Action | undefined;
}

export interface QueryWord {
  readonly stem: string;
  /** The word as written, in lower case. */
  readonly text: string;
  /** 1; less for a word that only says where something is. */
  readonly weight: number;
}

interface ReadWord extends QueryWord {
  /** Whether it is one of `ASIDES` or comes after one. */
  readonly isAside: boolean;
}

/** A query says what it wants at the beginning. Chosen. */
export const MAX_QUERY_CHARS = 2_000;
const MAX_WORDS = 48;
/** The words after these say where something is or what it is called. */
const ASIDES: ReadonlySet<string> = new Set(
  'in on from with for under of by named called titled using within at about where containing that so because'.split(
    ' ',
  ),
);
/** An aside can begin only after this many things were named. */
const MIN_THINGS = 2;
const ASIDE_WEIGHT = 0.7;
/** A verb later in the query is not its main action. */
const ACTION_WINDOW = 6;
/** Plurals that describe one thing. */
const ATTRIBUTES: ReadonlySet<string> = new Set(
  (
    'analytics contents credentials days details docs hours metrics minutes options permissions preferences ' +
    'properties results seconds settings statistics stats'
  ).split(' '),
);
const ASKS_TO_SEE = /^\W*(?:can you |please )?(?:show|what|which|get|give|view|see|display)\b/i;

/** Parses a query. `isKnown` says whether any tool has the stem. */
export function readQuery(query: string, isKnown: (stem: string) => boolean): Query {
  const text = query.slice(0, MAX_QUERY_CHARS);
  const all = readWords(text, isKnown);
  const meaningful = all.filter((word) => !STOP_WORDS.has(word.text));
  const words = (meaningful.length === 0 ? all : meaningful).slice(0, MAX_WORDS);
  return { words: eachOnce(words), action: readAction(text, words) };
}

function readWords(text: string, isKnown: (stem: string) => boolean): ReadWord[] {
  const words: ReadWord[] = [];
  let things = 0;
  let isAside = false;
  for (const run of runsOf(text)) {
    for (const word of splitUnlessKnown(run, isKnown)) {
      isAside ||= things >= MIN_THINGS && ASIDES.has(word);
      const stem = stemOf(word);
      things += STOP_WORDS.has(word) || actionOf(stem) !== undefined ? 0 : 1;
      words.push({ stem, text: word, weight: isAside ? ASIDE_WEIGHT : 1, isAside });
    }
  }
  return words;
}

/** `MySQL` stays one word if there are tools about `mysql`. */
function splitUnlessKnown(run: string, isKnown: (stem: string) => boolean): string[] {
  const parts = wordsOfRun(run);
  const whole = parts.join('');
  return parts.length > 1 && isKnown(stemOf(whole)) ? [whole] : parts;
}

function readAction(text: string, words: readonly ReadWord[]): Action | undefined {
  const action = words
    .slice(0, ACTION_WINDOW)
    .map((word) => actionOf(word.stem))
    .find((found) => found !== undefined);
  const things = words.filter((word) => actionOf(word.stem) === undefined).slice(0, 3);
  const asksForMany = things.some((word) => !word.isAside && isPlural(word.text) && !ATTRIBUTES.has(word.text));
  // "Show me my servers" asks for a list, "show me the server" does not.
  return asksForMany && (action === 'get' || action === undefined) && ASKS_TO_SEE.test(text) ? 'list' : action;
}

function eachOnce(words: readonly ReadWord[]): QueryWord[] {
  const first = new Map<string, QueryWord>();
  for (const { stem, text, weight } of words) {
    first.set(stem, first.get(stem) ?? { stem, text, weight });
  }
  return [...first.values()];
}
