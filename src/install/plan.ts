/** What `install` and `uninstall` would do to the files of one client. Reads, and writes nothing. */

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BridgeError } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import { type FileFormat, FileSyntaxError, UnsafeEditError } from '../clients/file-format.ts';
import { entriesAt, loadFormat } from '../clients/format.ts';
import {
  asRegistered,
  ENTRY_NAME,
  findOriginal,
  OTHER_NAME,
  ownNames,
  type RegistrationOptions,
  register,
  unregister,
} from '../clients/registration.ts';
import { type ListedServer, quoteServers, serverList } from '../clients/server-lists.ts';
import {
  type ClientDefinition,
  type ClientId,
  type ClientSystem,
  clientOf,
  startCommand,
  usualFileOf,
} from '../clients/table.ts';
import {
  type ClientFile,
  type FileChange,
  hasFolder,
  newClientFile,
  readBackups,
  readClientFile,
  refuseReadOnly,
} from '../servers/client-file.ts';
import { addImported, importedFrom, takeBack } from '../servers/imported-servers.ts';
import { chooseMovable, type Movable, type Scope } from './movable-servers.ts';
import { entryWords, isOwnEntry, isWrittenByInstall } from './own-entry.ts';

export interface PlanOptions {
  readonly system: ClientSystem;
  /** Folder of the project, for its files. */
  readonly cwd: string;
  readonly scope: Scope;
  readonly stateDir: string;
  readonly start: ClientStart;
}

/** What a client is to run. */
export interface ClientStart {
  readonly words: readonly string[];
  /** Whether the user gave them, and not this program. */
  readonly isGiven: boolean;
}

export interface Plan {
  readonly client: ClientDefinition;
  readonly path: string;
  /** In the order in which they are written: a server is never in neither file. */
  readonly changes: readonly FileChange[];
  /** Sentences about what is moved, and what stays and why. */
  readonly notes: readonly string[];
  /** The entry that starts the bridge, as it stands in the file now; undefined when there is none. */
  readonly registered: { readonly name: string; readonly words: readonly string[] } | undefined;
  /** The client's other servers, as they are in the file now. */
  readonly others: Movable;
}

/** How to register the bridge. Rejects with `CONFIG_INVALID` when a file cannot be read or changed. */
export async function planInstall(id: ClientId, options: PlanOptions & { readonly isImport: boolean }): Promise<Plan> {
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
    }
    changes.push({ file, next: register(text, registration, moved), format });
    const registered = findRegistered(text, registration);
    if (registered !== undefined && !isStarting(registered.words, opened.words)) {
      const written = findRegistered(register(text, registration), registration);
      if (isStarting(written?.words ?? [], registered.words)) {
        // Not its arguments, which may hold secrets.
        notes.push(
          `'${registered.name}' in ${file.path} was not written by install and stays as it is (it runs ${registered.words[0]}). To replace it, first run: ${COMMAND} uninstall ${id}`,
        );
      }
    }
    return { client, path: file.path, changes: changes.filter(isChange), notes, registered, others };
  });
}

function findRegistered(text: string, registration: RegistrationOptions): Plan['registered'] {
  const [name] = ownNames(text, registration);
  const entries = entriesAt(registration.format.parse(text), registration.keys);
  return name === undefined ? undefined : { name, words: entryWords(entries?.[name]) };
}

function isStarting(words: readonly string[], wanted: readonly string[]): boolean {
  return isDeepStrictEqual(words, wanted);
}

/** How to take the registration out, and what was moved back in. Rejects with `CONFIG_INVALID`. */
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
    const others: Movable = { moved: [], staying: [] };
    if (moved.length === 0 && registered === undefined) {
      return { client, path: file.path, changes: [], notes: [], registered, others };
    }
    const backups = await readBackups(file);
    const original = findOriginal(text ?? '', backups, registration, moved);
    // What is exactly the file that `install` makes where there is none, is removed as a whole.
    const isMade =
      original === undefined && moved.length === 0 && text === register('', asRegistered(text ?? '', registration));
    const next = isMade ? undefined : (original ?? unregister(text ?? '', registration, moved));
    const changes: FileChange[] = [{ file, next, format }];
    const notes: string[] = [];
    if (moved.length > 0) {
      const rest = takeBack(store.file.text ?? '', store.format, file.target);
      changes.push({ ...store, next: rest.text });
      const root = format.parse(unregister(text ?? '', registration));
      const isTaken = ({ keys, name }: ListedServer) => Object.hasOwn(entriesAt(root, keys) ?? {}, name);
      const taken = original === undefined ? moved.filter(isTaken) : [];
      notes.push(...describeReturn({ moved, taken, from: store.file.path, to: file.path }));
      notes.push(...rest.kept.map((name) => `'${name}' was changed in ${store.file.path}, and stays there too.`));
    }
    return { client, path: file.path, changes: changes.filter(isChange), notes, registered, others };
  });
}

interface Return {
  readonly moved: readonly ListedServer[];
  /** Of these, those for whose names the client has a server again. */
  readonly taken: readonly ListedServer[];
  readonly from: string;
  readonly to: string;
}

function describeReturn({ moved, taken, from, to }: Return): string[] {
  const back = moved.filter((server) => !taken.includes(server));
  return [
    ...(back.length === 0 ? [] : [`${quoteServers(back)}: put back from ${from}.`]),
    ...taken.map(
      (server) => `${quoteServers([server])} of ${from} was not put back: ${to} already has a server of that name.`,
    ),
  ];
}

/** The path of the client's file, and an entry as it belongs there. */
export async function snippetOf(id: ClientId, options: PlanOptions) {
  const { client, file, registration, format } = await open(id, options, { isRead: false });
  return { client, path: file.path, text: register('', { ...registration, format }) };
}

interface Opened {
  readonly client: ClientDefinition;
  readonly file: ClientFile;
  readonly format: FileFormat;
  readonly registration: RegistrationOptions;
  /** What is registered: of `start`, in the way of the client's system. */
  readonly words: readonly string[];
}

async function open(id: ClientId, options: PlanOptions, { isRead } = { isRead: true }): Promise<Opened> {
  const client = clientOf(id);
  const format = await loadFormat(client.format);
  const { env, platform } = options.system;
  const { isGiven, words } = options.start;
  const start = startCommand(client, words, platform);
  const registration: RegistrationOptions = {
    format,
    keys: client.keys,
    // A command that does not show that it starts the bridge is known by the name of its entry later.
    name: isOwnEntry(ENTRY_NAME, { ...start }, env) ? ENTRY_NAME : OTHER_NAME,
    entry: (name) => client.entry(start, name),
    isOwn: (name, entry) => isOwnEntry(name, entry, env),
    isReplaceable: (name, entry) =>
      isWrittenByInstall(name, entry) || (isGiven && (name === ENTRY_NAME || name === OTHER_NAME)),
  };
  const places = candidates(client, options);
  const usual = options.scope === 'user' ? usualFileOf(id, options.system) : (places[0] ?? '');
  const file = isRead ? await chooseFile(places, usual) : newClientFile(usual);
  return { client, file, format, registration, words: [start.command, ...start.args] };
}

function candidates(client: ClientDefinition, { scope, system, cwd }: PlanOptions): readonly string[] {
  if (scope === 'user') {
    return client.userFiles(system);
  }
  if (client.projectFiles === undefined) {
    throw new BridgeError('USAGE_INVALID', `${client.title} has no file for one project that is known here.`, {
      hint: 'Leave --scope out, to register it for all projects.',
    });
  }
  return client.projectFiles.map((path) => join(cwd, path));
}

/** The first file that exists, else the first in a folder that exists: there the client is; else the usual one. */
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

/** Faults of a file as errors that name it, the place, and what to do. */
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
        hint: `Make the change by hand. To see the entry, run: ${COMMAND} install CLIENT --print`,
        cause: error,
      });
    }
    throw error;
  }
}
