/**
 * The arguments with which a subcommand runs its program. They go to the program as a list, never through a shell, so a value
 * is always one argument; but the program itself may read one that begins with a dash as an option.
 */
import type { JsonObject } from '../../../core/base/is-object.ts';
import {
  parametersIn,
  type Subcommand,
  type SubcommandArgument,
  templateParts,
} from '../../../core/base/subcommand.ts';
import { stringifyExact } from '../../../core/protocol/exact-json.ts';
import { RequestError } from '../../../core/protocol/server-requests.ts';

const INVALID_PARAMS = -32_602;
/** Linux starts no program with a longer argument (`MAX_ARG_STRLEN` is 131,072), macOS and Windows with less in total. */
const MAX_ARGUMENT_BYTES = 100_000;
const MAX_WORDS = 5_000;

export interface CommandRun {
  readonly args: readonly string[];
  readonly stdin: string;
}

/** Throws a `RequestError` with the code of invalid parameters for values that cannot be given to the program. */
export function buildCommand(subcommand: Subcommand, args: JsonObject): CommandRun {
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(subcommand.parameters, name));
  if (unknown !== undefined) {
    throw invalid(`there is no argument "${unknown}"`);
  }
  const values = new Map<string, unknown>();
  for (const [name, schema] of Object.entries(subcommand.parameters)) {
    const given = Object.hasOwn(args, name) ? args[name] : undefined;
    const value = given ?? schema['default'];
    if (value !== undefined && value !== null) {
      values.set(name, value);
    }
  }
  const words: string[] = [];
  let isAfterDashes = false;
  for (const part of subcommand.args) {
    words.push(...wordsOf(part, { values, subcommand, isAfterDashes }));
    // Only the declaration's own `--` counts: a value could be one, too.
    isAfterDashes ||= part === '--';
  }
  if (words.length > MAX_WORDS) {
    throw invalid(`the command has ${words.length} arguments; the limit is ${MAX_WORDS}`);
  }
  const input = subcommand.stdin === undefined ? undefined : values.get(subcommand.stdin);
  return { args: words, stdin: input === undefined ? '' : textOf(input) };
}

interface Filling {
  readonly values: ReadonlyMap<string, unknown>;
  readonly subcommand: Subcommand;
  readonly isAfterDashes: boolean;
}

function wordsOf(part: SubcommandArgument, filling: Filling): readonly string[] {
  const { values } = filling;
  if (typeof part === 'object' && 'flag' in part) {
    return values.get(part.if) === true ? [part.flag] : [];
  }
  const templates = typeof part === 'string' ? [part] : part;
  const names = parametersIn(templates);
  const missing = names.find((name) => !values.has(name));
  if (missing !== undefined) {
    if (typeof part === 'string') {
      throw invalid(`the argument "${missing}" is missing`);
    }
    return [];
  }
  const lists = [...new Set(names.filter((name) => Array.isArray(values.get(name))))];
  const [list] = lists;
  if (list === undefined) {
    return fill(templates, filling);
  }
  if (lists.length > 1) {
    throw invalid(`only one of ${lists.map((name) => `"${name}"`).join(' and ')} can be a list`);
  }
  // Each element makes the arguments once.
  return (values.get(list) as readonly unknown[]).flatMap((element) => {
    const one = { ...filling, values: new Map(values).set(list, element) };
    return fill(templates, one);
  });
}

function fill(templates: readonly string[], filling: Filling): readonly string[] {
  return templates.map((template, index) => {
    const isAfterDashes = filling.isAfterDashes || templates.slice(0, index).includes('--');
    return wordOf(template, { ...filling, isAfterDashes });
  });
}

function wordOf(template: string, { values, subcommand, isAfterDashes }: Filling): string {
  const parts = templateParts(template);
  const word = parts.map((part) => ('text' in part ? part.text : textOf(values.get(part.parameter)))).join('');
  const names = parametersIn([template]);
  const isFree = isAfterDashes || names.every((name) => subcommand.parameters[name]?.['mayBeginWithDash'] === true);
  const isOwn = names.length === 0 || template.startsWith('-');
  if (word.startsWith('-') && !isOwn && !isFree) {
    throw invalid(`"${names.join('", "')}" begins with "-", which the program would read as an option`);
  }
  if (word.includes('\0')) {
    throw invalid(`"${names.join('", "')}" contains a NUL character`);
  }
  if (Buffer.byteLength(word) > MAX_ARGUMENT_BYTES) {
    throw invalid(`"${names.join('", "')}" is longer than ${MAX_ARGUMENT_BYTES.toLocaleString('en-US')} bytes`);
  }
  return word;
}

/** A text as it is, anything else as JSON. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : stringifyExact(value);
}

function invalid(message: string): RequestError {
  return new RequestError('rpc', message, { code: INVALID_PARAMS });
}
