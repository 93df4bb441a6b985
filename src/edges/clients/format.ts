/**
 * Reads and edits the files of clients as text: only the lines of one entry change, and every other byte stays. Each format
 * does its own editing; the result is checked here, by parsing it again. A result other than the intended one is refused, so a
 * bug in an edit costs a refusal, never a file. The writers of the parsers' packages would reformat what is not ours.
 */

import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../core/base/is-object.ts';
import { type EntryPlace, type FileFormat, type FileObject, FileSyntaxError, UnsafeEditError } from './file-format.ts';
import type { FileFormatName } from './table.ts';

/** The limit for TOML and YAML, whose parsers need 1.5 s and 8 s for this much (measured) and are slower than linear. */
const MAX_SLOW_CHARS = 1024 * 1024;

/** A format. Its parser is loaded on demand, because the server itself does not need it. */
export async function loadFormat(name: FileFormatName): Promise<FileFormat> {
  switch (name) {
    case 'json':
      return checked((await import('./json-format.ts')).jsonFormat, Number.POSITIVE_INFINITY);
    case 'toml':
      return checked((await import('./toml-format.ts')).tomlFormat, MAX_SLOW_CHARS);
    case 'yaml':
      return checked((await import('./yaml-format.ts')).yamlFormat, MAX_SLOW_CHARS);
  }
}

/** The servers of a file, by name; undefined if there is no object at `keys`. */
export function entriesAt(root: FileObject, keys: readonly string[]): FileObject | undefined {
  let value: unknown = root;
  for (const key of keys) {
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return isObject(value) ? value : undefined;
}

/** The format with checked edits: a result must parse to the old content with exactly that entry changed. */
function checked(inner: FileFormat, maxChars: number): FileFormat {
  const format = { ...inner, parse: (text: string) => parseBounded(inner, text, maxChars) };
  const expectSame = (text: string, place: EntryPlace, expected: FileObject | undefined, before: string): string => {
    const wanted = withEntry(format.parse(before), place, expected);
    if (!isDeepStrictEqual(wanted, withEntry(parseEdited(format, text), place, entryAt(format, text, place)))) {
      throw new UnsafeEditError('the change would affect other parts of the file');
    }
    return text;
  };
  return {
    parse: (text) => format.parse(text),
    add(text, place, entry) {
      refuseOtherValues(format.parse(text), place.keys);
      return expectSame(format.add(text, place, entry), place, entry, text);
    },
    remove: (text, place) => expectSame(format.remove(text, place), place, undefined, text),
  };
}

/** Limits the length, and reports the stack overflow of a recursive parser as a syntax error. */
function parseBounded(format: FileFormat, text: string, maxChars: number): FileObject {
  const start = { line: 1, column: 1 };
  if (text.length > maxChars) {
    throw new FileSyntaxError(`has ${text.length} characters; the limit is ${maxChars}`, start);
  }
  try {
    return format.parse(text);
  } catch (error) {
    throw error instanceof RangeError ? new FileSyntaxError('is nested too deeply', start) : error;
  }
}

/** The value at each of `keys` must be an object or not exist yet. */
function refuseOtherValues(root: FileObject, keys: readonly string[]): void {
  for (const [index] of keys.entries()) {
    const value = entriesAt(root, keys.slice(0, index))?.[keys[index] ?? ''];
    if (value !== undefined && value !== null && !isObject(value)) {
      throw new UnsafeEditError(`"${keys.slice(0, index + 1).join('.')}" is not an object of servers`);
    }
  }
}

function parseEdited(format: FileFormat, text: string): FileObject {
  try {
    return format.parse(text);
  } catch (error) {
    throw new UnsafeEditError('the changed file would be invalid', { cause: error });
  }
}

function entryAt(format: FileFormat, text: string, { keys, name }: EntryPlace): FileObject | undefined {
  const entry = entriesAt(parseEdited(format, text), keys)?.[name];
  return isObject(entry) ? entry : undefined;
}

/** A copy with `entry` at its place, or without an entry there. Empty objects are removed, because they mean the same as none. */
function withEntry(root: FileObject, { keys, name }: EntryPlace, entry: FileObject | undefined): FileObject {
  const [key, ...deeper] = keys;
  if (key === undefined) {
    return without(root, name, entry);
  }
  const inner = root[key];
  return without(root, key, withEntry(isObject(inner) ? inner : {}, { keys: deeper, name }, entry));
}

function without(root: FileObject, key: string, value: FileObject | undefined): FileObject {
  const { [key]: _old, ...rest } = root;
  return value === undefined || Object.keys(value).length === 0 ? rest : { ...rest, [key]: value };
}
