/** What `install` and `uninstall` make of the text of a client's file. Pure; both leave every other byte alone. */
import { isDeepStrictEqual } from 'node:util';
import { entriesAt, type FileFormat, type FileObject } from './format.ts';

/** Name of the entry in clients; some put it before the tool's name, and count the characters of both. */
export const ENTRY_NAME = 'code';
/** Taken when the user has a server called `code`. */
const OTHER_NAME = 'mcp-server-code-execution-mode';

export interface RegistrationOptions {
  readonly format: FileFormat;
  /** Keys from the root to the object of servers. */
  readonly keys: readonly string[];
  /** The entry that starts the bridge, for a name. */
  readonly entry: (name: string) => FileObject;
  /** Whether an entry that is there starts the bridge. */
  readonly isOwn: (name: string, entry: unknown) => boolean;
}

/** Names of the entries that start the bridge, as they stand. */
export function ownNames(text: string, { format, keys, isOwn }: RegistrationOptions): string[] {
  const entries = entriesAt(format.parse(text), keys) ?? {};
  return Object.keys(entries).filter((name) => isOwn(name, entries[name]));
}

/** The text with the bridge registered and without the entries `moved`; the same text when that is so already. */
export function register(text: string, options: RegistrationOptions, moved: readonly string[] = []): string {
  const { format, keys } = options;
  const taken = entriesAt(format.parse(text), keys) ?? {};
  const name = Object.hasOwn(taken, ENTRY_NAME) ? OTHER_NAME : ENTRY_NAME;
  const isRegistered = ownNames(text, options).length > 0;
  const registered = isRegistered ? text : format.add(text, { keys, name }, options.entry(name));
  return removeAll(registered, options, moved);
}

/** The text without the bridge, and with the entries that were moved away; names that are taken again stay as they are. */
export function unregister(
  text: string,
  options: RegistrationOptions,
  moved: Readonly<Record<string, FileObject>> = {},
): string {
  const { format, keys } = options;
  let rest = removeAll(text, options, ownNames(text, options));
  for (const [name, entry] of Object.entries(moved)) {
    if (!Object.hasOwn(entriesAt(format.parse(rest), keys) ?? {}, name)) {
      rest = format.add(rest, { keys, name }, entry);
    }
  }
  return rest;
}

/**
 * Which of the earlier texts of the file, newest first, `text` was made from by `register`, byte for byte; undefined when
 * it was changed since. A file that did not exist counts as the empty text.
 */
export function findOriginal(
  text: string,
  earlier: readonly string[],
  options: RegistrationOptions,
  moved: Readonly<Record<string, FileObject>> = {},
): string | undefined {
  return earlier.find((candidate) => {
    try {
      const entries = entriesAt(options.format.parse(candidate), options.keys) ?? {};
      const hasMoved = Object.entries(moved).every(([name, entry]) => isDeepStrictEqual(entries[name], entry));
      const isBefore = ownNames(candidate, options).length === 0;
      return hasMoved && isBefore && register(candidate, options, Object.keys(moved)) === text;
    } catch {
      // An earlier text that cannot be read or changed is none that `register` made anything of.
      return false;
    }
  });
}

function removeAll(text: string, { format, keys }: RegistrationOptions, names: readonly string[]): string {
  return names.reduce((rest, name) => format.remove(rest, { keys, name }), text);
}
