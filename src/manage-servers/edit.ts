/** `servers add`, `remove`, `enable` and `disable`: changes the user's server files. Needs no engine and starts no server. */

import { join } from 'node:path';
import { BridgeError, messageOf } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import { writeClientFile } from '../servers/client-file.ts';
import { type DiscoveryOptions, discoverServers } from '../servers/discover.ts';
import { referenceKinds } from '../servers/expand.ts';
import { discoveryOptionsOf } from '../settings/discovery-options.ts';
import type { Settings } from '../settings/settings.ts';
import { withFileLock } from '../state/file-lock.ts';
import { makeFolders } from '../state/file-system.ts';
import { createLoginStore } from '../upstream/oauth/login-store.ts';
import type { EditServersCommand } from './edit-command-line.ts';
import { type EditPlan, planEdit } from './edit-plan.ts';
import { renderEdit, renderExamples, reportEdit, type ServerPlace } from './edit-text.ts';
import { withOwnHint } from './edited-files.ts';
import { type NewEntries, readExamples } from './examples.ts';
import { createEntries } from './new-entries.ts';

export interface EditServersOptions {
  readonly settings: Settings;
  /** Where the command was typed; the working directory when left out. */
  readonly cwd?: string;
  /** For an entry on standard input. */
  readonly input: NodeJS.ReadableStream;
  /** Whether what is written is shown on a terminal that knows colours. */
  readonly hasColours?: boolean;
  readonly writeOut: (text: string) => void;
}

/** In the state directory, while a command reads and writes server files. */
const LOCK = '.servers.lock';
const STATE_DIR_MODE = 0o700;

/** Resolves with 0; rejects before anything is written when one of several names is refused. */
export async function editServers(command: EditServersCommand, options: EditServersOptions): Promise<number> {
  const { settings, writeOut } = options;
  const print = (json: unknown, text: () => string): void =>
    writeOut(command.isJson ? `${JSON.stringify(json, undefined, 2)}\n` : text());
  if (command.entry?.example === true) {
    const examples = await readExamples();
    print(
      examples.map(({ name, needs, entries }) => ({ name, needs, servers: entries.map(([server]) => server) })),
      () => renderExamples(examples),
    );
    return 0;
  }
  const additions = await additionsOf(command, options);
  const discovery = await discoveryOptionsOf(settings);
  const plan = (): Promise<EditPlan> => planEdit(command, additions, discovery);
  const planned = command.isDryRun
    ? await plan()
    : await exclusively(command, settings, async () => carryOut(await plan()));
  if (!command.isDryRun) {
    await forgetLogins(planned, settings);
  }
  const remaining = command.isDryRun ? [] : findRemaining(planned, discovery);
  const report = reportEdit(command, { ...planned, remaining }, additions.needs);
  print(report, () => renderEdit(report, options.hasColours === true));
  return 0;
}

async function additionsOf({ entry, names }: EditServersCommand, options: EditServersOptions): Promise<NewEntries> {
  const { cwd = process.cwd(), input } = options;
  return entry === undefined ? { entries: [] } : createEntries(names[0], entry, { cwd, input });
}

/** Two commands at once would each write what it read, and the entry of one would be lost. */
async function exclusively<Value>(
  { action }: EditServersCommand,
  { stateDir }: Settings,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    if (action === 'add') {
      await makeFolders(stateDir, STATE_DIR_MODE);
    }
  } catch (error) {
    throw new BridgeError('STATE_WRITE_FAILED', `${stateDir} could not be created: ${messageOf(error)}`, {
      hint: 'Set MCP_BRIDGE_STATE_DIR to a folder of yours.',
      cause: error,
    });
  }
  return withFileLock(join(stateDir, LOCK), work);
}

async function carryOut(plan: EditPlan): Promise<EditPlan> {
  for (const { file, next } of plan.changes) {
    // No copy of what was there: a secret that was removed would stay in it.
    await withOwnHint(() => writeClientFile(file, next, undefined));
  }
  return plan;
}

/** Removed servers that the next file defines, too. */
function findRemaining({ servers }: EditPlan, options: DiscoveryOptions): ServerPlace[] {
  const removed = new Set(servers.filter(({ outcome }) => outcome === 'removed').map(({ name }) => name));
  return [...discoverServers(options).servers.values()]
    .filter(({ name }) => removed.has(name))
    .map(({ name, file }) => ({ name, file }));
}

/** A login is for a server at an address; when that is gone, no command could find it. */
async function forgetLogins({ servers, before }: EditPlan, settings: Settings): Promise<void> {
  const removed = new Set(servers.filter(({ outcome }) => outcome === 'removed').map(({ name }) => name));
  // Nothing is read, so there is nothing to report.
  const logins = createLoginStore(settings.stateDir, silentLogger);
  for (const definition of before) {
    // An address out of a file or a command is not looked up for this.
    if (removed.has(definition.name) && definition.url !== undefined && referenceKinds(definition).size === 0) {
      const key = { name: definition.name, url: definition.url };
      await logins.exclusively(key, () => logins.remove(key));
    }
  }
}
