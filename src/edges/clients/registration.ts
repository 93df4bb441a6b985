/** How `install` and `uninstall` edit the text of a client's file. Pure; both leave every other byte as it is. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../core/base/is-object.ts';
import type { EntryPlace, FileFormat, FileObject } from './file-format.ts';
import { entriesAt } from './format.ts';
import type { ListedServer } from './server-lists.ts';

/** The name of the entry in clients. Short, because some prefix the tool's name with it and limit the length of both. */
export const ENTRY_NAME = 'code';
/** The name used if the user already has a server called `code`. */
export const OTHER_NAME = 'mcp-server-code-execution-mode';

export interface RegistrationOptions {
  readonly format: FileFormat;
  /** The keys from the root to the object of servers. */
  readonly keys: readonly string[];
  /** The name to register under; if it is taken, the package's name is used. */
  readonly name: string;
  /** The entry that starts the bridge, for a given name. */
  readonly entry: (name: string) => FileObject;
  /** Variables that an existing entry also gets, at this key. */
  readonly variables?: { readonly key: string; readonly wanted: Readonly<Record<string, string>> };
  /** Whether an existing entry starts the bridge. */
  readonly isOwn: (name: string, entry: unknown) => boolean;
  /** Whether `install` wrote such an entry and may update it. */
  readonly isReplaceable: (name: string, entry: unknown) => boolean;
}

/** The names of the entries that start the bridge. */
export function ownNames(text: string, { format, keys, isOwn }: RegistrationOptions): string[] {
  const entries = entriesAt(format.parse(text), keys) ?? {};
  return Object.keys(entries).filter((name) => isOwn(name, entries[name]));
}

/**
 * Registers the bridge and removes the entries `moved`. An entry from an earlier `install` is updated to start this program, and
 * keeps what the user added to it. An entry that the user wrote is not changed.
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

/** The keys of the command in the various clients. */
const COMMAND_KEYS = ['type', 'command', 'cmd', 'args'];

function update(text: string, name: string, old: FileObject, options: RegistrationOptions): string {
  const { format, keys, entry } = options;
  const wanted = entry(name);
  const command = Object.entries(wanted).filter(([key]) => COMMAND_KEYS.includes(key));
  const variables = addVariables(old, options);
  const isCurrent = [...command, ...Object.entries(variables)].every(([key, value]) =>
    isDeepStrictEqual(old[key], value),
  );
  if (isCurrent) {
    return text;
  }
  const next = { ...wanted, ...old, ...Object.fromEntries(command), ...variables };
  // If the command does not reveal what it starts, only the name identifies the entry.
  const kept = options.isOwn(name, next) ? name : options.name;
  return format.add(format.remove(text, { keys, name }), { keys, name: kept }, next);
}

/** The variables of the entry with those that `install` adds. Empty if it adds none. */
function addVariables(old: FileObject, { variables }: RegistrationOptions): FileObject {
  if (variables === undefined || Object.keys(variables.wanted).length === 0) {
    return {};
  }
  const { key, wanted } = variables;
  return { [key]: { ...(isObject(old[key]) ? old[key] : {}), ...wanted } };
}

/** The options with the entry that is in the text, which may come from an earlier version, instead of the current one. */
export function asRegistered(text: string, options: RegistrationOptions): RegistrationOptions {
  const entries = entriesAt(options.format.parse(text), options.keys) ?? {};
  const [name] = ownNames(text, options);
  const entry = name === undefined ? undefined : (entries[name] as FileObject);
  return name === undefined || entry === undefined ? options : { ...options, name, entry: () => entry };
}

/** Removes the bridge and restores the entries `moved`, except under names that are in use again. */
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
 * The one of the `earlier` texts, newest first, from which `register` produced exactly `text`; undefined if the file has been
 * changed since. A file that did not exist counts as an empty text.
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
      return hasMoved && isBefore(candidate, options) && register(candidate, options, moved) === text;
    } catch {
      // `register` cannot have used an earlier text that cannot be parsed or edited.
      return false;
    }
  });
}

/** Whether a text can be read and has no registration. */
export function isBefore(text: string, options: RegistrationOptions): boolean {
  try {
    return ownNames(text, options).length === 0;
  } catch {
    return false;
  }
}

function removeAll(text: string, format: FileFormat, places: readonly EntryPlace[]): string {
  return places.reduce((rest, place) => format.remove(rest, place), text);
}
