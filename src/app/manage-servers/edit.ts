/** `servers add`, `remove`, `enable` and `disable`: edits the user's server files. Needs no engine and starts no server. */

import { join } from 'node:path';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { workingFolder } from '../../core/base/home.ts';
import { escapeControls, escapeInLines, renderJson, silentLogger } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import { withFileLock } from '../../core/state/file-lock.ts';
import { makeFolders } from '../../core/state/file-system.ts';
import { stateFolders } from '../../core/state/principals.ts';
import type { FileObject } from '../../edges/clients/file-format.ts';
import { NewServers } from '../../edges/registries/find.ts';
import { writeClientFile } from '../../edges/servers/client-file.ts';
import { type DiscoveryOptions, discoverServers, type ServerDefinition } from '../../edges/servers/discover.ts';
import { referenceKinds } from '../../edges/servers/expand.ts';
import { discoveryOptionsOf } from '../../edges/settings/discovery-options.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { colorChange, renderChange } from '../../edges/terminal/file-change.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import { createLoginStore } from '../../edges/upstream/oauth/login-store.ts';
import { createMask } from '../../edges/upstream/secrets.ts';
import type { EditServersCommand } from './command.ts';
import { type EditedServer, type EditPlan, planAdditions, planEdit } from './edit-plan.ts';
import { withOwnHint } from './edited-files.ts';
import { type Example, type NewEntries, readExamples } from './examples.ts';
import { createEntries } from './new-entries.ts';

export interface EditServersOptions {
  readonly settings: Settings;
  /** The folder that relative paths refer to. Default: the working directory. */
  readonly cwd?: string;
  /** Standard input, for `--json-entry -`. */
  readonly input: NodeJS.ReadableStream;
  /** Whether to color diffs. */
  readonly hasColors?: boolean;
  readonly writeOut: (text: string) => void;
}

interface ServerPlace {
  readonly name: string;
  readonly file: string;
}

/** The outcome of a command; also the JSON output. */
interface EditReport {
  readonly action: EditServersCommand['action'];
  readonly servers: readonly EditedServer[];
  readonly changes: readonly {
    readonly path: string;
    readonly action: 'create' | 'change' | 'remove';
    /** Unified; secrets are `***`. */
    readonly diff: string;
  }[];
  /** What an example or an API needs to run, as a sentence; otherwise null. */
  readonly needs: string | null;
  /** What else is to be known about new servers, a sentence each. */
  readonly notes: readonly string[];
  /** Variables that new entries refer to and that are not set in this shell. */
  readonly missingVariables: readonly string[];
  /** Removed servers that another file also defines: that definition is now in effect. */
  readonly remaining: readonly ServerPlace[];
  /** The command to run next, if any. */
  readonly next: string | null;
  readonly isWritten: boolean;
}

/** Lock file in the state directory, held while a command reads and writes server files. */
const LOCK = '.servers.lock';
const STATE_DIR_MODE = 0o700;

/** Resolves with 0. Rejects before anything is written if one of several names is refused. */
export async function editServers(command: EditServersCommand, options: EditServersOptions): Promise<number> {
  const { settings, writeOut } = options;
  const print = (json: unknown, text: () => string): void => writeOut(command.isJson ? renderJson(json) : text());
  if (command.action === 'add' && command.example === true) {
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
    : await exclusively(command.action, settings, async () => carryOut(await plan()));
  if (!command.isDryRun) {
    await forgetLogins(planned, settings);
  }
  const remaining = command.isDryRun ? [] : findRemaining(planned, discovery);
  const report = reportEdit(command, { ...planned, remaining }, additions);
  print(report, () => renderEdit(report, options.hasColors === true));
  return 0;
}

/**
 * Adds a server without a command line, as `servers add` does. Resolves with the file. Rejects with `CONFIG_INVALID`, also if the
 * name is taken, and with `STATE_WRITE_FAILED`.
 */
export async function addEntry(name: string, entry: FileObject, settings: Settings): Promise<string> {
  const { servers } = await writeEntries({ entries: [[name, entry]] }, false, settings);
  return servers[0]?.file ?? '';
}

/** Writes entries; with `isForced`, in the place of those with the same names. Rejects as `addEntry` does. */
export async function writeEntries(added: NewEntries, isForced: boolean, settings: Settings): Promise<EditPlan> {
  const discovery = await discoveryOptionsOf(settings);
  return exclusively('add', settings, async () => carryOut(await planAdditions(added, isForced, discovery)));
}

async function additionsOf(
  command: EditServersCommand,
  { cwd, input, settings }: EditServersOptions,
): Promise<NewEntries> {
  const newServers = new NewServers(settings, process.env);
  return command.action === 'add'
    ? createEntries(command, { cwd: cwd ?? workingFolder(), input, newServers })
    : { entries: [] };
}

/** Runs `work` under a lock: two concurrent commands would overwrite each other's entries. */
async function exclusively<Value>(
  action: EditServersCommand['action'],
  { stateDir }: Settings,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    if (action === 'add') {
      await makeFolders(stateDir, STATE_DIR_MODE);
    }
  } catch (error) {
    throw new BridgeError('STATE_WRITE_FAILED', `could not create ${stateDir}: ${messageOf(error)}`, {
      hint: 'Set MCP_BRIDGE_STATE_DIR to a folder that you own.',
      cause: error,
    });
  }
  return withFileLock(join(stateDir, LOCK), work);
}

async function carryOut(plan: EditPlan): Promise<EditPlan> {
  for (const { file, next } of plan.changes) {
    // No backup: it would keep a secret that was removed.
    await withOwnHint(() => writeClientFile(file, next, undefined));
  }
  return plan;
}

/** Removed servers that another file also defines. */
function findRemaining({ servers }: EditPlan, options: DiscoveryOptions): ServerPlace[] {
  const removed = new Set(servers.filter(({ outcome }) => outcome === 'removed').map(({ name }) => name));
  return [...discoverServers(options).servers.values()]
    .filter(({ name }) => removed.has(name))
    .map(({ name, file }) => ({ name, file }));
}

/** Deletes the logins of removed servers, which no command could find any more. */
async function forgetLogins({ servers, before }: EditPlan, settings: Settings): Promise<void> {
  const removed = new Set(servers.filter(({ outcome }) => outcome === 'removed').map(({ name }) => name));
  // Nothing is read, so there is nothing to log.
  const logins = createLoginStore(settings.stateDir, silentLogger);
  // Profiles have none of their own.
  const folders = (await stateFolders(settings.stateDir)).filter(({ profile }) => profile === undefined);
  for (const definition of before) {
    // An address that comes from a file or a command is not resolved just for this.
    if (removed.has(definition.name) && definition.url !== undefined && referenceKinds(definition).size === 0) {
      for (const { path: folder } of folders) {
        const key = { name: definition.name, url: definition.url, folder };
        await logins.exclusively(key, () => logins.remove(key));
      }
    }
  }
}

function reportEdit(
  { action, isDryRun }: EditServersCommand,
  { after, before, changes, missingVariables, remaining, servers }: EditPlan & Pick<EditReport, 'remaining'>,
  { needs, notes = [] }: NewEntries,
): EditReport {
  const masks = [...before, ...after].map(createMask);
  const masked = (text: string): string => masks.reduce((rest, mask) => mask(rest), text);
  return {
    action,
    servers,
    changes: changes.map((change) => {
      const { file, next } = change;
      const kind = next === undefined ? 'remove' : file.text === undefined ? 'create' : 'change';
      return { path: file.path, action: kind, diff: masked(renderChange(change)) };
    }),
    needs: needs === undefined || needs === 'Nothing.' ? null : needs,
    notes,
    missingVariables,
    remaining,
    next: action === 'add' && !isDryRun ? nextStep(after, servers) : null,
    isWritten: !isDryRun && changes.length > 0,
  };
}

/** The command that tests the new servers, without disabled ones. */
function nextStep(definitions: readonly ServerDefinition[], servers: readonly EditedServer[]): string | null {
  const added = servers.filter(({ outcome }) => outcome !== 'present');
  const startable = added.filter((server) => definitions.some((one) => one.name === server.name && !one.disabled));
  const names = startable.map(({ name }) => quoteShellWord(name)).join(' ');
  return names === '' ? null : `${COMMAND} servers test ${names}`;
}

/** One line for each server, what is still missing, and the next step; for a dry run, the diff. */
function renderEdit(report: EditReport, hasColors: boolean): string {
  const { changes, isWritten, missingVariables, needs, next, notes, remaining, servers } = report;
  const isDryRun = !isWritten && changes.length > 0;
  const diffs = changes.map(({ diff }) => {
    const shown = escapeInLines(diff.replaceAll('\r\n', '\n'));
    return hasColors ? colorChange(shown) : shown;
  });
  const lines = [
    ...(isDryRun ? ['Nothing was written (--dry-run).'] : servers.map(lineOf)),
    ...remaining.map(({ name, file }) => `Server '${name}' still exists: ${file} also defines it.`),
    ...notes,
    ...(needs === null ? [] : [`Requires: ${needs}`]),
    ...(missingVariables.length === 0 ? [] : [missing(missingVariables)]),
    ...(next === null ? [] : [`Next: ${next}`]),
  ];
  return `${isDryRun ? diffs.join('') : ''}${lines.map((line) => `${escapeControls(line)}\n`).join('')}`;
}

function lineOf({ name, file, outcome, kept }: EditedServer): string {
  const stayed = kept.length === 0 ? '' : `, keeping its ${kept.join(' and ')}`;
  switch (outcome) {
    case 'added':
      return `Added server '${name}' to ${file}.`;
    case 'removed':
      return `Removed server '${name}' from ${file}.`;
    case 'present':
      return `Server '${name}' is already there (in ${file}); nothing to do.`;
    case 'unchanged':
      return `Nothing to change for server '${name}' in ${file}.`;
    default:
      return `${outcome === 'replaced' ? 'Replaced' : outcome === 'enabled' ? 'Enabled' : 'Disabled'} server '${name}' in ${file}${stayed}.`;
  }
}

function missing(variables: readonly string[]): string {
  const are = variables.length === 1 ? 'is' : 'are';
  return `${variables.join(', ')} ${are} not set in this shell. Set ${variables.length === 1 ? 'it' : 'them'} for the bridge, in the "env" of its entry in your MCP client.`;
}

function renderExamples(examples: readonly Example[]): string {
  const rows = examples.map(({ name, needs }) => [name, needs]);
  const [first] = examples;
  return `${renderTable([['EXAMPLE', 'REQUIRES'], ...rows], '')}\nTo add one, run: ${COMMAND} servers add --example ${first?.name ?? 'NAME'}\n`;
}
