/** What `install` and `uninstall` make of the text of a client's file. Pure; both leave every other byte alone. */
import { isDeepStrictEqual } from 'node:util';
import type { EntryPlace, FileFormat, FileObject } from './file-format.ts';
import { entriesAt } from './format.ts';
import type { ListedServer } from './server-lists.ts';

/** Name of the entry in clients; some put it before the tool's name, and count the characters of both. */
export const ENTRY_NAME = 'code';
/** Taken when the user has a server called `code`. */
export const OTHER_NAME = 'mcp-server-code-execution-mode';

export interface RegistrationOptions {
  readonly format: FileFormat;
  /** Keys from the root to the object of servers. */
  readonly keys: readonly string[];
  /** The name to register under; that of the package where it is taken. */
  readonly name: string;
  /** The entry that starts the bridge, for a name. */
  readonly entry: (name: string) => FileObject;
  /** Whether an entry that is there starts the bridge. */
  readonly isOwn: (name: string, entry: unknown) => boolean;
  /** Whether such an entry is one that `install` wrote, and may bring up to date. */
  readonly isReplaceable: (name: string, entry: unknown) => boolean;
}

/** Names of the entries that start the bridge, as they stand. */
export function ownNames(text: string, { format, keys, isOwn }: RegistrationOptions): string[] {
  const entries = entriesAt(format.parse(text), keys) ?? {};
  return Object.keys(entries).filter((name) => isOwn(name, entries[name]));
}

/**
 * The text with the bridge registered and without the entries `moved`. An entry that an earlier `install` wrote starts
 * this program afterwards, with what the user added to it; one that the user wrote stays as it is.
 */
export function register(text: string, options: RegistrationOptions, moved: readonly EntryPlace[] = []): string {
  const { format, keys } = options;
  const entries = entriesAt(format.parse(text), keys) ?? {};
  const own = ownNames(text, options);
  const old = own.find((name) => options.isReplaceable(name, entries[name]));
  if (old !== undefined) {
    return removeAll(update(text, old, entries[old] as FileObject, options), format, moved);
  }
  const name = Object.hasOwn(entries, options.name) ? OTHER_NAME : options.name;
  const registered = own.length > 0 ? text : format.add(text, { keys, name }, options.entry(name));
  return removeAll(registered, format, moved);
}

/** Keys that hold the command in one client or another. */
const COMMAND_KEYS = ['type', 'command', 'cmd', 'args'];

function update(text: string, name: string, old: FileObject, options: RegistrationOptions): string {
  const { format, keys, entry } = options;
  const wanted = entry(name);
  const isCurrent = COMMAND_KEYS.every((key) => isDeepStrictEqual(old[key], wanted[key]) || wanted[key] === undefined);
  if (isCurrent) {
    return text;
  }
  const command = Object.entries(wanted).filter(([key]) => COMMAND_KEYS.includes(key));
  const next = { ...wanted, ...old, ...Object.fromEntries(command) };
  // A command that does not show what it starts is known by its name alone.
  const kept = options.isOwn(name, next) ? name : options.name;
  return format.add(format.remove(text, { keys, name }), { keys, name: kept }, next);
}

/** With the entry that stands in the text in the place of the one that would be written now: it may be of an earlier version. */
export function asRegistered(text: string, options: RegistrationOptions): RegistrationOptions {
  const entries = entriesAt(options.format.parse(text), options.keys) ?? {};
  const [name] = ownNames(text, options);
  const entry = name === undefined ? undefined : (entries[name] as FileObject);
  return name === undefined || entry === undefined ? options : { ...options, name, entry: () => entry };
}

/** The text without the bridge, and with the entries that were moved away; names that are taken again stay as they are. */
export function unregister(text: string, options: RegistrationOptions, moved: readonly ListedServer[] = []): string {
  const { format, keys } = options;
  const own = ownNames(text, options).map((name) => ({ keys, name }));
  let rest = removeAll(text, format, own);
  for (const server of moved) {
    if (!Object.hasOwn(entriesAt(format.parse(rest), server.keys) ?? {}, server.name)) {
      rest = format.add(rest, server, server.original);
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
  current: RegistrationOptions,
  moved: readonly ListedServer[] = [],
): string | undefined {
  const options = asRegistered(text, current);
  return earlier.find((candidate) => {
    try {
      const root = options.format.parse(candidate);
      const hasMoved = moved.every(({ keys, name, original }) => {
        return isDeepStrictEqual(entriesAt(root, keys)?.[name], original);
      });
      const isBefore = ownNames(candidate, options).length === 0;
      return hasMoved && isBefore && register(candidate, options, moved) === text;
    } catch {
      // An earlier text that cannot be read or changed is none that `register` made anything of.
      return false;
    }
  });
}

function removeAll(text: string, format: FileFormat, places: readonly EntryPlace[]): string {
  return places.reduce((rest, place) => format.remove(rest, place), text);
}
