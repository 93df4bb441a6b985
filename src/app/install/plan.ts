/** Plans the changes of `install` and `uninstall` to the files of one client. Writes nothing. */

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import type { ClientId } from '../../edges/clients/client-ids.ts';
import { type FileFormat, type FileObject, FileSyntaxError, UnsafeEditError } from '../../edges/clients/file-format.ts';
import { entriesAt, loadFormat } from '../../edges/clients/format.ts';
import {
  asRegistered,
  ENTRY_NAME,
  findOriginal,
  isBefore,
  OTHER_NAME,
  ownNames,
  type RegistrationOptions,
  register,
  unregister,
} from '../../edges/clients/registration.ts';
import { describeRestrictions, restrictionsOf } from '../../edges/clients/restrictions.ts';
import { type ListedServer, quoteServers, serverList } from '../../edges/clients/server-lists.ts';
import {
  type ClientDefinition,
  type ClientSystem,
  clientOf,
  startCommand,
  usualFileOf,
} from '../../edges/clients/table.ts';
import {
  type ClientFile,
  type FileChange,
  hasFolder,
  newClientFile,
  readBackups,
  readClientFile,
  refuseReadOnly,
} from '../../edges/servers/client-file.ts';
import { addImported, importedFrom, takeBack } from '../../edges/servers/imported-servers.ts';
import { chooseMovable, type Movable, type Scope } from './movable-servers.ts';
import { entryVariables, entryWords, isOwnEntry, isWrittenByInstall } from './own-entry.ts';

export interface PlanOptions {
  readonly system: ClientSystem;
  /** The project folder, for `--scope project`. */
  readonly cwd: string;
  readonly scope: Scope;
  readonly stateDir: string;
  readonly start: ClientStart;
  /** The servers of clients that were planned before. */
  readonly taken?: Movable['definitions'] | undefined;
}

/** The command that the client will run. */
export interface ClientStart {
  readonly words: readonly string[];
  /** Whether the user gave them with `--command`. */
  readonly isGiven: boolean;
  /** For the environment of the bridge. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
}

export interface Plan {
  readonly client: ClientDefinition;
  readonly path: string;
  /** In the order in which they must be written, so that every server is always in at least one file. */
  readonly changes: readonly FileChange[];
  /** Sentences about which servers move, and which stay and why. */
  readonly notes: readonly string[];
  /** The entry that starts the bridge in the file now, if any. */
  readonly registered: Registered | undefined;
  /** The client's other servers in the file now. */
  readonly others: Movable;
}

export interface InstallPlan extends Plan {
  /** Whether `uninstall` would restore the client's file byte for byte, as long as no one changes it. */
  readonly isReversible: boolean;
}

/** An entry that starts the bridge. */
interface Registered {
  readonly name: string;
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

/** Plans the registration. Rejects with `CONFIG_INVALID` if a file cannot be read or changed. */
export async function planInstall(
  id: ClientId,
  options: PlanOptions & { readonly isImport: boolean },
): Promise<InstallPlan> {
  const opened = await open(id, options);
  const { client, file, registration, format } = opened;
  const text = file.text ?? '';
  return explaining(file.path, async () => {
    const notes: string[] = [];
    const others = await chooseMovable({ ...opened, ...options });
    for (const server of options.isImport ? others.staying : []) {
      notes.push(`${quoteServers([server])} stays: it ${server.reason}.`);
    }
    const moved = options.isImport ? others.moved : [];
    const changes: FileChange[] = [];
    if (moved.length > 0) {
      const store = await openStore(id, options);
      const next = await explaining(store.file.path, async () =>
        addImported(store.file.text ?? '', store.format, file.target, moved),
      );
      changes.push({ ...store, next });
      notes.push(`${quoteServers(moved)}: moved to ${store.file.path}.`);
      for (const server of moved) {
        const found = restrictionsOf(server.original);
        if (found !== undefined && !('wrong' in found)) {
          notes.push(`${quoteServers([server])}: ${describeRestrictions(found)}, as in the client.`);
        }
      }
    }
    const next = register(text, registration, moved);
    changes.push({ file, next, format, isOriginal: (backup) => isBefore(backup, registration) });
    const registered = findRegistered(text, registration);
    if (registered !== undefined) {
      notes.push(...describeForeign(registered, next, opened, id));
    }
    const isReversible = findOriginal(next, [text], registration, moved) === text;
    return { client, path: file.path, changes: changes.filter(isChange), notes, registered, others, isReversible };
  });
}

/** What `install` leaves as it is in an entry that it did not write. Without arguments and values, which may be secrets. */
function describeForeign(
  registered: Registered,
  next: string,
  { file, registration, words }: Opened,
  id: ClientId,
): string[] {
  const found = findRegistered(next, registration);
  const foreign = `'${registered.name}' in ${file.path} was not written by install`;
  const isKept = !isStarting(registered.words, words) && isStarting(found?.words ?? [], registered.words);
  const replaced = isKept
    ? [
        `${foreign} and is left unchanged (it runs ${registered.words[0]}). To replace it, first run: ${COMMAND} uninstall ${id}`,
      ]
    : [];
  const wanted = Object.entries(registration.variables?.wanted ?? {});
  const missing = wanted.filter(([name, value]) => found?.variables[name] !== value).map(([name]) => name);
  const isAre = missing.length === 1 ? 'was' : 'were';
  return missing.length === 0
    ? replaced
    : [...replaced, `${foreign}, so ${missing.join(' and ')} ${isAre} not added. Add what it needs by hand.`];
}

function findRegistered(text: string, registration: RegistrationOptions): Plan['registered'] {
  const [name] = ownNames(text, registration);
  const entry = name === undefined ? undefined : entriesAt(registration.format.parse(text), registration.keys)?.[name];
  return name === undefined ? undefined : { name, words: entryWords(entry), variables: entryVariables(entry) };
}

function isStarting(words: readonly string[], wanted: readonly string[]): boolean {
  return isDeepStrictEqual(words, wanted);
}

/** Plans removing the registration and moving imported servers back. Rejects with `CONFIG_INVALID`. */
export async function planUninstall(id: ClientId, options: PlanOptions): Promise<Plan> {
  const { client, file, registration, format } = await open(id, options);
  const store = await openStore(id, options);
  const { text } = file;
  const moved = await explaining(store.file.path, async () =>
    importedFrom(store.file.text ?? '', store.format, file.target).map(
      (server): ListedServer => ({ ...server, ...serverList(client, server.folder) }),
    ),
  );
  return explaining(file.path, async () => {
    const registered = findRegistered(text ?? '', registration);
    const others: Movable = { moved: [], staying: [], definitions: new Map() };
    if (moved.length === 0 && registered === undefined) {
      return { client, path: file.path, changes: [], notes: [], registered, others };
    }
    const backups = await readBackups(file);
    const original = findOriginal(text ?? '', backups, registration, moved);
    // If the file is exactly what `install` creates for a client without one, remove it entirely.
    const isOursAlone =
      original === undefined && moved.length === 0 && text === register('', asRegistered(text ?? '', registration));
    const next = isOursAlone ? undefined : (original ?? unregister(text ?? '', registration, moved));
    const changes: FileChange[] = [{ file, next, format }];
    const notes: string[] = [];
    if (moved.length > 0) {
      const rest = takeBack(store.file.text ?? '', store.format, file.target);
      changes.push({ ...store, next: rest.text });
      const root = format.parse(unregister(text ?? '', registration));
      const isTaken = ({ keys, name }: ListedServer) => Object.hasOwn(entriesAt(root, keys) ?? {}, name);
      const taken = original === undefined ? moved.filter(isTaken) : [];
      notes.push(...describeReturn({ moved, taken, from: store.file.path, to: file.path }));
      notes.push(...rest.kept.map((name) => `'${name}' was changed in ${store.file.path} and also stays there.`));
    }
    return { client, path: file.path, changes: changes.filter(isChange), notes, registered, others };
  });
}

interface Return {
  readonly moved: readonly ListedServer[];
  /** Those whose names the client has given to another server since. */
  readonly taken: readonly ListedServer[];
  readonly from: string;
  readonly to: string;
}

function describeReturn({ moved, taken, from, to }: Return): string[] {
  const back = moved.filter((server) => !taken.includes(server));
  return [
    ...(back.length === 0 ? [] : [`${quoteServers(back)}: moved back from ${from}.`]),
    ...taken.map(
      (server) =>
        `${quoteServers([server])} was not moved back from ${from}: ${to} already has a server with that name.`,
    ),
  ];
}

/** The path of the client's file, and the entry to write there. */
export async function snippetOf(id: ClientId, options: PlanOptions) {
  const { client, file, registration, format } = await open(id, options, { isRead: false });
  return { client, path: file.path, text: register('', { ...registration, format }) };
}

interface Opened {
  readonly client: ClientDefinition;
  readonly file: ClientFile;
  readonly format: FileFormat;
  readonly registration: RegistrationOptions;
  /** The command to register, adapted to the platform. */
  readonly words: readonly string[];
}

async function open(id: ClientId, options: PlanOptions, { isRead } = { isRead: true }): Promise<Opened> {
  const client = clientOf(id);
  const format = await loadFormat(client.format);
  const { env, platform } = options.system;
  const { isGiven, variables = {}, words } = options.start;
  const start = startCommand(client, words, platform);
  const registration: RegistrationOptions = {
    format,
    keys: client.keys,
    // If the command alone does not identify the bridge, the entry is later recognized by this name.
    name: isOwnEntry(ENTRY_NAME, { ...start }, env) ? ENTRY_NAME : OTHER_NAME,
    entry: (name) => withVariables(client.entry(start, name), client, variables),
    variables: { key: client.variablesKey ?? 'env', wanted: variables },
    isOwn: (name, entry) => isOwnEntry(name, entry, env),
    isReplaceable: (name, entry) =>
      isWrittenByInstall(name, entry) || (isGiven && (name === ENTRY_NAME || name === OTHER_NAME)),
  };
  const places = candidates(client, options);
  const usual = options.scope === 'user' ? usualFileOf(id, options.system) : (places[0] ?? '');
  const file = isRead ? await chooseFile(places, usual) : newClientFile(usual);
  return { client, file, format, registration, words: [start.command, ...start.args] };
}

function withVariables(
  entry: FileObject,
  { variablesKey = 'env' }: ClientDefinition,
  variables: Readonly<Record<string, string>>,
): FileObject {
  return Object.keys(variables).length === 0 ? entry : { ...entry, [variablesKey]: variables };
}

function candidates(client: ClientDefinition, { scope, system, cwd }: PlanOptions): readonly string[] {
  if (scope === 'user') {
    return client.userFiles(system);
  }
  if (client.projectFiles === undefined) {
    throw new BridgeError('USAGE_INVALID', `${client.title} has no known configuration file for projects`, {
      hint: 'Leave out --scope to register the bridge for all projects.',
    });
  }
  return client.projectFiles.map((path) => join(cwd, path));
}

/** The first existing file; else the first whose folder exists, because the client is installed there; else the usual one. */
async function chooseFile(paths: readonly string[], usual: string): Promise<ClientFile> {
  for (const path of paths) {
    const file = await readClientFile(path);
    if (file.text !== undefined) {
      return file;
    }
  }
  for (const path of paths) {
    if (await hasFolder(path)) {
      return newClientFile(path);
    }
  }
  return newClientFile(usual);
}

async function openStore(id: ClientId, { stateDir }: PlanOptions) {
  const file = await readClientFile(join(stateDir, `${id}.json`));
  return { file, format: await loadFormat('json') };
}

function isChange(change: FileChange): boolean {
  if (change.next === change.file.text || (change.next === '' && change.file.text === undefined)) {
    return false;
  }
  refuseReadOnly(change.file);
  return true;
}

/** Turns faults of a file into errors with its path, the position and a next step. */
async function explaining<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof FileSyntaxError) {
      const place = `${path}:${error.line}:${error.column}`;
      throw new BridgeError('CONFIG_INVALID', `${place} ${error.message}; nothing was changed`, {
        hint: 'Fix the file first; the client probably cannot read it either.',
        cause: error,
      });
    }
    if (error instanceof UnsafeEditError) {
      throw new BridgeError('CONFIG_INVALID', `${path} was not changed: ${error.message}`, {
        hint: `Edit the file yourself. To see the entry to add, run: ${COMMAND} install CLIENT --print`,
        cause: error,
      });
    }
    throw error;
  }
}
