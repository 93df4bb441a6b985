/**
 * Reading and changing the files of clients as text: only the lines of one entry change, everything else keeps its
 * bytes. Each format brings its own splice; whether it did what was meant is checked here, by reading the result.
 */

import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../base/is-object.ts';
import { type EntryPlace, type FileFormat, type FileObject, FileSyntaxError, UnsafeEditError } from './file-format.ts';
import type { FileFormatName } from './table.ts';

/** The parsers of TOML and YAML take 1.5 s and 8 s for so much (measured), and more than twice that for twice as much. */
const MAX_SLOW_CHARS = 1024 * 1024;

/** A format, loaded when a file of it is first met: none of the parsers is needed to serve. */
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

/** The servers of a file, by name; undefined when there is no such object, also when something else is in its place. */
export function entriesAt(root: FileObject, keys: readonly string[]): FileObject | undefined {
  let value: unknown = root;
  for (const key of keys) {
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return isObject(value) ? value : undefined;
}

/** The format with its edits checked: the result must read as the old content with exactly that entry changed. */
function checked(inner: FileFormat, maxChars: number): FileFormat {
  const format = { ...inner, parse: (text: string) => parseBounded(inner, text, maxChars) };
  const expectSame = (text: string, place: EntryPlace, expected: FileObject | undefined, before: string): string => {
    const wanted = withEntry(format.parse(before), place, expected);
    if (!isDeepStrictEqual(wanted, withEntry(parseEdited(format, text), place, entryAt(format, text, place)))) {
      throw new UnsafeEditError('the change would have touched other parts of the file');
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

/** The parsers follow nesting by calling themselves. */
function parseBounded(format: FileFormat, text: string, maxChars: number): FileObject {
  const start = { line: 1, column: 1 };
  if (text.length > maxChars) {
    throw new FileSyntaxError(`has ${text.length} characters; at most ${maxChars} are read`, start);
  }
  try {
    return format.parse(text);
  } catch (error) {
    throw error instanceof RangeError ? new FileSyntaxError('is nested too deeply', start) : error;
  }
}

/** Every key on the way must hold an object, or nothing yet. */
function refuseOtherValues(root: FileObject, keys: readonly string[]): void {
  for (const [index] of keys.entries()) {
    const value = entriesAt(root, keys.slice(0, index))?.[keys[index] ?? ''];
    if (value !== undefined && value !== null && !isObject(value)) {
      throw new UnsafeEditError(`"${keys.slice(0, index + 1).join('.')}" holds something else than servers`);
    }
  }
}

function parseEdited(format: FileFormat, text: string): FileObject {
  try {
    return format.parse(text);
  } catch (error) {
    throw new UnsafeEditError('the changed file could not be read again', { cause: error });
  }
}

function entryAt(format: FileFormat, text: string, { keys, name }: EntryPlace): FileObject | undefined {
  const entry = entriesAt(parseEdited(format, text), keys)?.[name];
  return isObject(entry) ? entry : undefined;
}

/** A copy with that entry, or without it; without objects that are left empty, which are as good as none. */
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
