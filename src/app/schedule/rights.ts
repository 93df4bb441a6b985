/**
 * What a schedule may call: learned from a run in front of a person, who accepts it as a whole. For each tool it has how many calls
 * a run may make, and for each argument which values. Whatever a later run does beyond that waits for a person.
 */
import { z } from 'zod';
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { counted } from '../../core/base/units.ts';
import { oneLine } from '../../core/catalog/visible.ts';
import { isCarriedNumber, stringifyExact } from '../../core/protocol/exact-json.ts';

/**
 * Different values that are kept for a place; of more, only the length counts. Chosen: the block that a person accepts must stay readable.
 */
const VALUES_KEPT = 100;
/** In a shape, stands for the numbers that differ from run to run: those of dates, and in prose all. */
const NUMBER = '\u0001';
/** Longer ones could carry data. */
const NUMBER_DIGITS = /(?<!\d)\d{1,12}(?!\d)/g;
const DATE =
  /(?<!\d)(?:20\d\d([-_./]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])|\d{1,2}[./]\d{1,2}[./]20\d\d|20\d\d-W?\d\d)(?:[T_ -]\d\d[:-]?\d\d(?:[:-]?\d\d)?)?(?!\d)/g;
/** A word of letters alone. */
const WORD = /(?<![^\s([{"'])\p{L}{2,}(?![^\s.,:;!?)\]}"'])/gu;
/** A longer text, or one of several lines, may be any text up to four times as long. Chosen. */
const LONG_TEXT_CHARS = 120;
const TEXT_FACTOR = 4;
/** Each run may make twice as many calls of a tool as the first, and five more. Chosen. */
const CALLS_FACTOR = 2;
const CALLS_MORE = 5;
const SHOWN_CHARS = 80;
/** Places of values in the arguments of a tool. Of an argument with more, only the size counts. Chosen. */
const MAX_PLACES = 100;

const ValuesSchema = z.union([
  /** Texts of these shapes. */
  z.object({ kind: z.literal('shapes'), shapes: z.array(z.string()) }),
  /** Any text of at most so many characters. */
  z.object({ kind: z.literal('text'), chars: z.number() }),
  z.object({ kind: z.literal('numbers'), least: z.number(), most: z.number() }),
  /** Exactly one of these, as JSON. */
  z.object({ kind: z.literal('exactly'), json: z.array(z.string()) }),
  /** Any JSON of at most so many characters. */
  z.object({ kind: z.literal('json'), chars: z.number() }),
  z.object({ kind: z.literal('anything') }),
]);
type Values = z.infer<typeof ValuesSchema>;

const ToolRightsSchema = z.object({
  server: z.string(),
  tool: z.string(),
  /** Whether its server marks it as read-only. */
  isReading: z.boolean(),
  mostCalls: z.number(),
  /** By place: `repo`, `labels[]`, `rows[].title`. */
  arguments: z.record(z.string(), ValuesSchema),
  /** Places that each call had. */
  always: z.array(z.string()),
  /** Values in the arguments of one call. */
  mostValues: z.number(),
});
type ToolRights = z.infer<typeof ToolRightsSchema>;

export const RightsSchema = z.object({
  /** ISO 8601. */
  acceptedAt: z.string(),
  /** SHA-256 of the code. */
  source: z.string(),
  tools: z.array(ToolRightsSchema),
});
export type Rights = z.infer<typeof RightsSchema>;

/** A call of a run. */
export interface MadeCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** What covers the calls of a run. */
export function learnRights(calls: readonly MadeCall[], isReading: (call: MadeCall) => boolean): ToolRights[] {
  return [...groupByTool(calls).values()].map((same) => {
    const [first] = same as [MadeCall];
    const names = [...new Set(same.flatMap((call) => Object.keys(call.arguments)))];
    const reading = isReading(first);
    const topNames = names.map((name) => placeOf('', name));
    const learned = names.flatMap((name) => {
      const given = same.flatMap((call) => (Object.hasOwn(call.arguments, name) ? [call.arguments[name]] : []));
      return learnArgument(name, given, reading);
    });
    return {
      server: first.server,
      tool: first.tool,
      isReading: reading,
      mostCalls: more(same.length),
      arguments: Object.fromEntries(learned),
      always: same
        .map(placesOf)
        .reduce((all, places) => all.filter((place) => places.includes(place)))
        .filter((place) => learned.some(([known]) => known === place) || topNames.includes(place)),
      mostValues: more(same.reduce((most, call) => Math.max(most, valuesOf(call).length), 0)),
    };
  });
}

/** The same rights with the values of this call, too, which is the `count`-th of its tool in a run. */
export function widenRights(
  tools: readonly ToolRights[],
  call: MadeCall,
  { count, isReading }: { readonly count: number; readonly isReading: boolean },
): ToolRights[] {
  const known = tools.find((one) => keyOf(one) === keyOf(call));
  const learned = learnRights([call], () => isReading)[0] as ToolRights;
  if (known === undefined) {
    return [...tools, learned];
  }
  const values = Object.entries(learned.arguments).map(([place, added]): [string, Values] => {
    const before = Object.hasOwn(known.arguments, place) ? known.arguments[place] : undefined;
    return [place, before === undefined ? added : eitherOf(before, added)];
  });
  const mostCalls = count > known.mostCalls ? count * CALLS_FACTOR : known.mostCalls;
  const wider = {
    ...known,
    mostCalls,
    arguments: { ...known.arguments, ...Object.fromEntries(values) },
    always: known.always.filter((place) => learned.always.includes(place)),
    mostValues: Math.max(known.mostValues, learned.mostValues),
  };
  return tools.map((one) => (one === known ? wider : one));
}

function eitherOf(one: Values, other: Values): Values {
  if (one.kind === 'anything' || other.kind === 'anything') {
    return { kind: 'anything' };
  }
  if (one.kind === 'shapes' && other.kind === 'shapes') {
    return { kind: 'shapes', shapes: [...new Set([...one.shapes, ...other.shapes])] };
  }
  if ('chars' in one && 'chars' in other && one.kind === other.kind) {
    return { kind: one.kind, chars: Math.max(one.chars, other.chars) };
  }
  if (one.kind === 'numbers' && other.kind === 'numbers') {
    return { kind: 'numbers', least: Math.min(one.least, other.least), most: Math.max(one.most, other.most) };
  }
  if (one.kind === 'exactly' && other.kind === 'exactly') {
    return { kind: 'exactly', json: [...new Set([...one.json, ...other.json])] };
  }
  // A long text covers short ones; of other kinds, both are of text, or one is not.
  const text = [one, other].find((each) => each.kind === 'text');
  return text !== undefined && [one, other].some((each) => each.kind === 'shapes') ? text : { kind: 'anything' };
}

/** Why the rights do not cover a call, in one clause; undefined if they do. `count` is its number among the calls of its tool. */
export function whyBeyond({ tools }: Pick<Rights, 'tools'>, call: MadeCall, count: number): string | undefined {
  const rights = tools.find((one) => keyOf(one) === keyOf(call));
  if (rights === undefined) {
    return 'the run from which its rights were learned did not call it';
  }
  if (count > rights.mostCalls) {
    return `a run may call it at most ${counted(rights.mostCalls, 'time')}`;
  }
  const why = Object.entries(call.arguments)
    .map(([name, value]) => whyArgument(rights, name, value))
    .find((one) => one !== undefined);
  if (why !== undefined) {
    return why;
  }
  const places = placesOf(call);
  const missing = rights.always.find((place) => !places.includes(place));
  if (missing !== undefined) {
    return `it was always called with a value at '${oneLine(missing, SHOWN_CHARS)}'`;
  }
  const isOver = valuesOf(call).length > rights.mostValues && !Object.values(rights.arguments).some(isWhole);
  return isOver ? `its arguments may have at most ${counted(rights.mostValues, 'value')}` : undefined;
}

function whyArgument({ arguments: rights }: ToolRights, name: string, value: unknown): string | undefined {
  const of = (place: string): Values | undefined => (Object.hasOwn(rights, place) ? rights[place] : undefined);
  const top = placeOf('', name);
  const ofTop = of(top);
  for (const [place, leaf] of ofTop !== undefined && isWhole(ofTop) ? [[top, value] as Leaf] : leavesAt(top, value)) {
    const values = of(place);
    if (values === undefined) {
      return `it was never called with a value at '${oneLine(place, SHOWN_CHARS)}'`;
    }
    if (!allows(values, leaf)) {
      return `its argument '${oneLine(place, SHOWN_CHARS)}' may be ${describeValues(values)}`;
    }
  }
  return undefined;
}

/** Whether it is about a whole argument, with all that is in it. */
function isWhole({ kind }: Values): boolean {
  return kind === 'json' || kind === 'anything';
}

function more(seen: number): number {
  return seen * CALLS_FACTOR + CALLS_MORE;
}

function valuesOf(call: MadeCall): Leaf[] {
  return Object.entries(call.arguments).flatMap(([name, value]) => leavesAt(placeOf('', name), value));
}

function placesOf(call: MadeCall): string[] {
  const names = Object.keys(call.arguments).map((name) => placeOf('', name));
  return [...new Set([...names, ...valuesOf(call).map(([place]) => place)])];
}

/** A value that holds no others, and its place. */
type Leaf = readonly [place: string, value: unknown];

function leavesAt(place: string, value: unknown): Leaf[] {
  if (Array.isArray(value) && value.length > 0) {
    return value.flatMap((item) => leavesAt(`${place}[]`, item));
  }
  const members = isObject(value) && !isCarriedNumber(value) ? Object.entries(value) : [];
  return members.length === 0
    ? [[place, value]]
    : members.flatMap(([key, member]) => leavesAt(placeOf(place, key), member));
}

/** A key that could read as another place is quoted. */
function placeOf(parent: string, key: string): string {
  const shown = /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
  return parent === '' ? shown : `${parent}.${shown}`;
}

function learnArgument(name: string, given: readonly unknown[], isReading: boolean): [string, Values][] {
  const top = placeOf('', name);
  const byPlace = new Map<string, unknown[]>();
  for (const [place, leaf] of given.flatMap((value) => leavesAt(top, value))) {
    const known = byPlace.get(place);
    if (known === undefined) {
      byPlace.set(place, [leaf]);
    } else {
      known.push(leaf);
    }
  }
  if (byPlace.size > MAX_PLACES) {
    const longest = given.reduce((most: number, value) => Math.max(most, stringifyExact(value).length), 0);
    return [[top, { kind: 'json', chars: longest * TEXT_FACTOR }]];
  }
  return [...byPlace].map(([place, leaves]) => [place, learnValues(leaves, isReading)]);
}

/** One line for each tool, with its arguments below it. */
export function describeRights({ tools }: Pick<Rights, 'tools'>): string {
  if (tools.length === 0) {
    return '  no calls to servers\n';
  }
  return tools
    .map((one) => {
      const kind = one.isReading ? ', which only reads according to its server' : '';
      const name = oneLine(`${one.server}.${one.tool}`, SHOWN_CHARS);
      const lines = Object.entries(one.arguments).map(
        ([argument, values]) => `      ${oneLine(argument, SHOWN_CHARS)}: ${describeValues(values)}\n`,
      );
      return `  ${name}${kind}: at most ${counted(one.mostCalls, 'call')} in a run\n${lines.join('')}`;
    })
    .join('');
}

function learnValues(given: readonly unknown[], isReading: boolean): Values {
  if (given.every((value) => typeof value === 'string')) {
    return learnTexts(given);
  }
  if (given.every((value) => typeof value === 'number')) {
    return isReading
      ? { kind: 'anything' }
      : {
          kind: 'numbers',
          least: given.reduce((least, one) => Math.min(least, one)),
          most: given.reduce((most, one) => Math.max(most, one)),
        };
  }
  const json = [...new Set(given.map((value) => stringifyExact(value)))];
  return isReading || json.length > VALUES_KEPT ? { kind: 'anything' } : { kind: 'exactly', json };
}

function learnTexts(given: readonly string[]): Values {
  const shapes = [...new Set(given.map(shapeOf))];
  const longest = given.reduce((most, { length }) => Math.max(most, length), 0);
  const isLong = given.some((text) => text.includes('\n')) || longest > LONG_TEXT_CHARS;
  return isLong || shapes.length > VALUES_KEPT
    ? { kind: 'text', chars: longest * TEXT_FACTOR }
    : { kind: 'shapes', shapes };
}

/** Numbers of accounts, channels and people stay as they are; they are no prose. */
function shapeOf(text: string): string {
  const isProse = (text.match(WORD)?.length ?? 0) > 1;
  return text.replace(isProse ? NUMBER_DIGITS : DATE, (digits) => digits.replace(/\d+/g, NUMBER));
}

/** A `#` of the text itself is written as `\#`. */
function describeShape(shape: string): string {
  return JSON.stringify(oneLine(shape.replaceAll('#', '\\#').replaceAll(NUMBER, '#'), LONG_TEXT_CHARS * 2));
}

function allows(values: Values, value: unknown): boolean {
  switch (values.kind) {
    case 'shapes':
      return typeof value === 'string' && values.shapes.includes(shapeOf(value));
    case 'text':
      return typeof value === 'string' && value.length <= values.chars;
    case 'numbers':
      return typeof value === 'number' && value >= values.least && value <= values.most;
    case 'exactly':
      return values.json.includes(stringifyExact(value));
    case 'json':
      return stringifyExact(value).length <= values.chars;
    case 'anything':
      return true;
  }
}

function describeValues(values: Values): string {
  switch (values.kind) {
    case 'shapes': {
      const hasNumber = values.shapes.some((shape) => shape.includes(NUMBER));
      return `${values.shapes.map(describeShape).join(' or ')}${hasNumber ? ', where # is any number' : ''}`;
    }
    case 'text':
      return `any text of at most ${counted(values.chars, 'character')}`;
    case 'numbers':
      return values.least === values.most ? `${values.least}` : `from ${values.least} to ${values.most}`;
    case 'exactly':
      return values.json.map((json) => oneLine(json, SHOWN_CHARS)).join(' or ');
    case 'json':
      return `any value of at most ${counted(values.chars, 'character')}`;
    case 'anything':
      return 'anything';
  }
}

function keyOf({ server, tool }: { readonly server: string; readonly tool: string }): string {
  return `${server}\n${tool}`;
}

function groupByTool(calls: readonly MadeCall[]): Map<string, MadeCall[]> {
  const groups = new Map<string, MadeCall[]>();
  for (const call of calls) {
    groups.set(keyOf(call), [...(groups.get(keyOf(call)) ?? []), call]);
  }
  return groups;
}
