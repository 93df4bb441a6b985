/** `sessions show|export|import|delete`: the sessions that later bridges continue. Nothing reads what is in a checkpoint. */
import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { MAX_CHECKPOINT_BYTES, MAX_CHECKPOINT_PART_BYTES } from '../../core/base/limits.ts';
import { escapeControls, type Logger, renderJson } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { counted } from '../../core/base/units.ts';
import {
  CHECKPOINTS,
  type CheckpointFacts,
  type CheckpointStore,
  COMMAND_LINE,
  lastingStore,
  lastingStores,
  openCheckpoint,
  type StoredCheckpoint,
} from '../../core/session/checkpoint-store.ts';
import type { CommandContext, LineFor } from '../../edges/terminal/command.ts';
import { SESSION_NAME_PATTERN } from '../../front/server/arguments.ts';
import type { SavedCommand } from './command.ts';

interface SavedOptions extends Pick<CommandContext, 'settings' | 'logger'> {
  readonly writeOut: (text: string) => void;
}

/** A session that is saved; also the JSON output. */
export interface SavedSession {
  readonly session: string;
  /** The project folder. */
  readonly folder: string;
  readonly client: string;
  readonly savedAt: string;
  readonly cell: number;
  readonly variables: number;
  readonly files: number;
  readonly bytes: number;
  /** The process of the bridge that has it now. */
  readonly heldBy: number | null;
}

interface Found extends SavedSession {
  readonly store: CheckpointStore;
  readonly facts: CheckpointFacts;
}

/** Of all projects, the newest first. */
export async function savedSessions(stateDir: string, logger: Logger): Promise<readonly Found[]> {
  const stores = await lastingStores(join(stateDir, CHECKPOINTS), logger);
  const found = await Promise.all(
    stores.map(async ({ user, store }) =>
      Promise.all(
        (await store.sessions()).map(async ({ facts, bytes }): Promise<Found> => {
          const { cell, files, savedAt, session, variables } = facts;
          const heldBy = (await store.holder(session))?.pid ?? null;
          return { session, ...user, savedAt, cell, variables, files, bytes, heldBy, store, facts };
        }),
      ),
    ),
  );
  return found.flat().toSorted((a, b) => b.savedAt.localeCompare(a.savedAt));
}

/** Without what is only for this program. */
export function reportOf({ store: _store, facts: _facts, ...report }: Found): SavedSession {
  return report;
}

/** Resolves with 0. Rejects with `USAGE_INVALID`. */
export async function manageSaved(command: SavedCommand, options: SavedOptions): Promise<number> {
  if (command.action === 'show') {
    await show(await findOne(command, options), command, options);
    return 0;
  }
  const done = await change(command, options);
  const lines = done.map(
    ({ client, folder, session }) => `${DONE[command.action]} session ${session} of ${client} in ${folder}.`,
  );
  const text = lines.map((line) => `${escapeControls(line)}\n`).join('');
  options.writeOut(command.isJson ? renderJson(done) : text);
  return 0;
}

/** Of an invalid name in a message. */
const SHOWN_NAME_CHARS = 80;
const DONE = { export: 'Exported', import: 'Imported', delete: 'Deleted' } as const;

type Done = Pick<SavedSession, 'session' | 'folder' | 'client'>;

async function change(command: Exclude<SavedCommand, { action: 'show' }>, options: SavedOptions): Promise<Done[]> {
  switch (command.action) {
    case 'export':
      return [await exportSession(await findOne(command, options), command.file)];
    case 'import':
      return [await importSession(command, options)];
    case 'delete':
      return deleteSessions(command, options);
  }
}

async function show(found: Found, { isJson }: SavedCommand, { writeOut }: SavedOptions): Promise<void> {
  const { facts, session, store } = found;
  const { engine, lost, python, servers } = facts;
  const named = (await store.list(`${session}\n`)).map((each) => ({
    name: each.key.slice(session.length + 1),
    cell: each.facts.cell,
    savedAt: each.facts.savedAt,
  }));
  if (isJson) {
    const report = { ...reportOf(found), python, engine, servers, lost, checkpoints: named };
    writeOut(renderJson(report));
    return;
  }
  const lines = [
    `${session}: ${counted(found.variables, 'variable')} and ${counted(found.files, 'file')} after cell ${found.cell}, ${counted(found.bytes, 'byte')}`,
    `  saved ${found.savedAt} on ${engine}, Python ${python}`,
    `  client ${found.client}, folder ${found.folder}`,
    `  servers ${servers.length === 0 ? 'none' : servers.join(', ')}`,
    ...(found.heldBy === null ? [] : [`  in use by bridge ${found.heldBy}`]),
    ...lost.map(({ name, reason }) => `  not saved: ${name} (${reason})`),
    ...named.map(({ name, cell, savedAt }) => `  checkpoint ${name}: after cell ${cell}, saved ${savedAt}`),
  ];
  writeOut(lines.map((line) => `${escapeControls(line)}\n`).join(''));
}

async function exportSession({ client, folder, session, store }: Found, path: string): Promise<Done> {
  const isThere = await store.exportTo(session, path).catch((error: unknown) => {
    throw new BridgeError('USAGE_INVALID', `cannot export session '${session}' to '${path}': ${messageOf(error)}`, {
      hint: 'Name a file that does not exist yet, in a folder that you can write to.',
    });
  });
  if (!isThere) {
    throw noSession(session);
  }
  return { session, folder, client };
}

async function importSession(
  { client = COMMAND_LINE, file, folder = '.', name }: LineFor<SavedCommand, 'import'>,
  { logger, settings }: SavedOptions,
): Promise<Done> {
  const stored = await openCheckpoint(file).catch((error: unknown) => {
    throw new BridgeError('USAGE_INVALID', `cannot import '${file}': ${messageOf(error)}`, {
      hint: `Name a file that was written by: ${COMMAND} sessions export`,
    });
  });
  try {
    const session = checkedName(name ?? stored.facts.session, file);
    const user = { folder: await projectFolder(folder), client };
    const store = lastingStore(join(settings.stateDir, CHECKPOINTS), user, logger);
    await whileClaimed(store, session, () => copyInto(store, session, stored));
    return { session, ...user };
  } finally {
    await stored.close();
  }
}

/** No client could name any other. */
function checkedName(session: string, file: string): string {
  if (!SESSION_NAME_PATTERN.test(session)) {
    throw new BridgeError(
      'USAGE_INVALID',
      `cannot import '${file}' as session '${session.slice(0, SHOWN_NAME_CHARS)}'`,
      {
        hint: "Give it a name with --name: 1 to 64 letters, digits, '_', '.' or '-'.",
      },
    );
  }
  return session;
}

/** Without links, as a bridge that runs there sees it. A folder that is gone has none. */
async function projectFolder(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

async function copyInto(store: CheckpointStore, session: string, stored: StoredCheckpoint): Promise<void> {
  if ((await store.sessions()).some(({ facts }) => facts.session === session)) {
    throw new BridgeError('USAGE_INVALID', `there is a saved session '${session}' in this folder already`, {
      hint: `Give it another name with --name, or run: ${COMMAND} sessions delete ${session}`,
    });
  }
  const writer = await store.begin(session);
  try {
    for await (const part of contentOf(stored)) {
      await writer.write(part);
    }
  } catch (error) {
    await writer.discard();
    throw error;
  }
  await writer.commit({ ...stored.facts, session });
}

async function deleteSessions(command: LineFor<SavedCommand, 'delete'>, options: SavedOptions): Promise<Done[]> {
  const found = await Promise.all(command.names.map((name) => findStored(name, command, options)));
  for (const { session, store } of found) {
    await whileClaimed(store, session, () => store.removeAll(session));
  }
  return found.map(({ client, folder, session }) => ({ session, folder, client }));
}

/** No bridge can have the session meanwhile. Rejects with `USAGE_INVALID` if one has it. */
export async function whileClaimed(
  store: CheckpointStore,
  session: string,
  action: () => Promise<void>,
): Promise<void> {
  const claim = await store.claim(session);
  if ('pid' in claim) {
    throw new BridgeError(
      'USAGE_INVALID',
      `session '${session}' is in use by bridge ${claim.pid}, which would save it again`,
      {
        hint: 'End that bridge first, for example by closing its client.',
      },
    );
  }
  try {
    await action();
  } finally {
    await claim.release();
  }
}

async function findOne(
  command: LineFor<SavedCommand, 'show' | 'export'>,
  { logger, settings }: SavedOptions,
): Promise<Found> {
  const { name } = command;
  const all = await savedSessions(settings.stateDir, logger);
  return chooseOne(
    all.filter(({ session }) => session === name),
    name,
    command,
  );
}

interface Stored extends Done {
  readonly store: CheckpointStore;
}

/** Also if only its named checkpoints are left, or what is there is damaged. */
async function findStored(name: string, command: SavedCommand, { logger, settings }: SavedOptions): Promise<Stored> {
  const stores = await lastingStores(join(settings.stateDir, CHECKPOINTS), logger);
  const found = await Promise.all(
    stores.map(async ({ user, store }) => ((await store.has(name)) ? [{ session: name, ...user, store }] : [])),
  );
  return chooseOne(found.flat(), name, command);
}

/** The one of the current folder, or the only one. */
async function chooseOne<One extends Done>(
  all: readonly One[],
  name: string,
  { client, folder }: Pick<SavedCommand, 'client' | 'folder'>,
): Promise<One> {
  const wanted = folder === undefined ? undefined : [resolve(folder), await projectFolder(folder)];
  const named = all.filter(
    (one) => (client === undefined || one.client === client) && (wanted === undefined || wanted.includes(one.folder)),
  );
  const here = named.filter((one) => one.folder === resolve('.'));
  const [found, ...others] = here.length > 0 ? here : named;
  if (found === undefined) {
    throw noSession(name);
  }
  if (others.length > 0) {
    const which = [found, ...others].map((one) => `${one.client} in ${one.folder}`);
    throw new BridgeError('USAGE_INVALID', `there are several saved sessions '${name}': of ${which.join('; ')}`, {
      hint: 'Choose one with --client and --folder.',
    });
  }
  return found;
}

function noSession(name: string): BridgeError {
  return new BridgeError('USAGE_INVALID', `there is no saved session '${name}'`, {
    hint: `Run: ${COMMAND} sessions list`,
  });
}

async function* contentOf(stored: StoredCheckpoint): AsyncGenerator<Buffer> {
  let offset = 0;
  for (;;) {
    const part = await stored.read(offset, MAX_CHECKPOINT_PART_BYTES);
    if (part.length === 0) {
      return;
    }
    offset += part.length;
    if (offset > MAX_CHECKPOINT_BYTES) {
      throw new BridgeError(
        'USAGE_INVALID',
        `the session has more than ${counted(MAX_CHECKPOINT_BYTES, 'byte')}, which is the limit`,
      );
    }
    yield part;
  }
}
