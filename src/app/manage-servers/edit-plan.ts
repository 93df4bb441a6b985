/** Plans the changes of `servers add`, `remove`, `enable` and `disable`. Writes nothing. */
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { renderIssue } from '../../core/base/config-issue.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import { assignServerAliases, resolveName } from '../../core/catalog/names.ts';
import { serverNotFound } from '../../core/directory/directory-errors.ts';
import type { FileObject } from '../../edges/clients/file-format.ts';
import {
  type DefinedServer,
  type DiscoveryOptions,
  discoverServers,
  findDefinedServers,
} from '../../edges/servers/discover.ts';
import { expandVariables } from '../../edges/servers/expand.ts';
import { API_POLICY } from '../../edges/servers/server-file.ts';
import { putEntry, removeEntry, setDisabled } from '../../edges/servers/server-file-edit.ts';
import type { EditServersCommand } from './command.ts';
import { EditedFiles, type FileEdits } from './edited-files.ts';
import type { NewEntries } from './examples.ts';

/** The file for new servers. */
const NEW_SERVERS_FILE = 'servers.json';
/** Keys that survive a replacement, because they hold a person's decisions about the calls of the server. */
const KEPT_KEYS = ['policy', 'pin'];

/** Keys of an entry whose values may contain variables. */
const EXPANDED_KEYS = ['command', 'args', 'env', 'cwd', 'url', 'headers', 'oauth', 'openapi', 'graphql', 'egress'];
/** What a server is started with. */
const STARTING_KEYS = [...EXPANDED_KEYS, 'type', 'disabled', 'extends'];

/** `present`: another `add` for it, which has nothing to do. */
export type EditOutcome = 'added' | 'present' | 'replaced' | 'removed' | 'enabled' | 'disabled' | 'unchanged';

export interface EditedServer {
  readonly name: string;
  readonly file: string;
  readonly outcome: EditOutcome;
  /** Keys taken over from the replaced entry. */
  readonly kept: readonly string[];
}

export interface EditPlan extends FileEdits {
  readonly servers: readonly EditedServer[];
  /** Variables that new entries refer to and that are not set in this shell, sorted. */
  readonly missingVariables: readonly string[];
}

/** Plans the changes of a command. Rejects with `CONFIG_INVALID`, `USAGE_INVALID` or `SERVER_UNKNOWN`. */
export async function planEdit(
  command: EditServersCommand,
  { entries }: NewEntries,
  options: DiscoveryOptions,
): Promise<EditPlan> {
  if (command.action === 'add') {
    return planAdditions({ entries }, command.isForced, options);
  }
  const standing = findDefinedServers(options);
  const files = new EditedFiles(options);
  const { action, names } = command;
  const wanted: DefinedServer[] = [];
  for (const name of new Set(names)) {
    wanted.push(...(await findAll(name, action, standing, options)));
  }
  const servers: EditedServer[] = [];
  for (const { name, file } of wanted) {
    const hasChanged = await files.edit(file, (text) =>
      action === 'remove' ? removeEntry(text, name) : setDisabled(text, name, action === 'disable'),
    );
    const outcome = hasChanged ? OUTCOMES[action] : 'unchanged';
    servers.push({ name, file, outcome, kept: [] });
  }
  return { ...(await files.finish()), servers, missingVariables: [] };
}

/** Plans to add entries; with `isForced`, they replace those with the same names. Rejects with `CONFIG_INVALID` or `USAGE_INVALID`. */
export async function planAdditions(
  { entries }: NewEntries,
  isForced: boolean,
  options: DiscoveryOptions,
): Promise<EditPlan> {
  const standing = findDefinedServers(options);
  const files = new EditedFiles(options);
  const servers: EditedServer[] = [];
  for (const [name, entry] of entries) {
    servers.push(await addOne(name, entry, { standing, files, isForced, options }));
  }
  return { ...(await files.finish()), servers, missingVariables: missingVariables(entries, options) };
}

const OUTCOMES = { remove: 'removed', enable: 'enabled', disable: 'disabled' } as const;

interface Addition {
  readonly standing: readonly DefinedServer[];
  readonly files: EditedFiles;
  readonly isForced: boolean;
  readonly options: DiscoveryOptions;
}

async function addOne(
  name: string,
  entry: FileObject,
  { standing, files, isForced, options }: Addition,
): Promise<EditedServer> {
  if (name !== name.trim()) {
    throw refusal('USAGE_INVALID', `the name '${name}' begins or ends with a space`, 'Remove the space.');
  }
  if (name.startsWith('-')) {
    throw refusal('USAGE_INVALID', `the name '${name}' begins with -, like an option`, 'Choose another name.');
  }
  const same = standing.filter((server) => server.name === name);
  const old = same[0];
  const foreign = same.find(({ isOurs }) => !isOurs);
  if (foreign !== undefined) {
    throw refusal(
      'CONFIG_INVALID',
      `server '${name}' already exists in ${foreign.file}; nothing was changed`,
      'That file belongs to another program (see MCP_BRIDGE_CONFIG_SOURCES). Choose another name, or change the server there.',
    );
  }
  if (old !== undefined && !isForced && isSameStart(old.entry, entry)) {
    await files.edit(old.file, (text) => text);
    await files.expectServer(old.file, name, missingVariables([[name, entry]], options));
    return { name, file: old.file, outcome: 'present', kept: [] };
  }
  if (old !== undefined && !isForced) {
    throw refusal(
      'CONFIG_INVALID',
      `server '${name}' already exists in ${old.file}; nothing was changed`,
      `Choose another name, add --force to replace it, or remove it first: ${COMMAND} servers remove ${quoteShellWord(name)}`,
    );
  }
  if (old === undefined && options.sources?.includes('mcps') === false) {
    throw refusal(
      'CONFIG_INVALID',
      `the bridge does not read servers in ${options.stateDir}, because MCP_BRIDGE_CONFIG_SOURCES does not contain mcps; nothing was changed`,
      'Add mcps to MCP_BRIDGE_CONFIG_SOURCES, or unset it.',
    );
  }
  const before = isObject(old?.entry) ? old.entry : {};
  const isOpen = (key: string): boolean => entry[key] === undefined || isDeepStrictEqual(entry[key], API_POLICY);
  const kept = KEPT_KEYS.filter((key) => before[key] !== undefined && isOpen(key));
  const next = { ...entry, ...Object.fromEntries(kept.map((key) => [key, before[key]])) };
  const file = old?.file ?? resolve(options.stateDir, NEW_SERVERS_FILE);
  await files.edit(file, (text) => putEntry(text, name, next));
  await files.expectServer(file, name, missingVariables([[name, entry]], options));
  return { name, file, outcome: old === undefined ? 'added' : 'replaced', kept };
}

/** Whether the old entry starts the same server, with all that the new one asks for. */
function isSameStart(old: unknown, entry: FileObject): boolean {
  const before = isObject(old) ? old : {};
  const keys = new Set([...STARTING_KEYS, ...Object.keys(entry)]);
  return [...keys].every((key) => isDeepStrictEqual(meant(before[key]), meant(entry[key])));
}

/** Undefined for what is the same as if it were missing. */
function meant(value: unknown): unknown {
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return isEmpty || value === false || value === 'stdio' ? undefined : value;
}

/** The entries with a name: all of them for `remove`, because a shadowed one would take effect; otherwise the one in effect. */
async function findAll(
  wanted: string,
  action: EditServersCommand['action'],
  standing: readonly DefinedServer[],
  options: DiscoveryOptions,
): Promise<DefinedServer[]> {
  const names = [...new Set(standing.map(({ name }) => name))];
  const aliases = assignServerAliases(names);
  const known = names.map((name, index) => ({ name, alias: aliases[index] ?? name, description: '' }));
  const name = names.includes(wanted) ? wanted : resolveName(known, wanted)?.name;
  const found = standing.filter((server) => server.name === name);
  if (found.length === 0) {
    throw await notFound(wanted, known, options);
  }
  const foreign = found.find(({ isOurs }) => !isOurs);
  if (foreign !== undefined && (action === 'remove' || foreign === found[0])) {
    throw refusal(
      'CONFIG_INVALID',
      `server '${name}' is defined in ${foreign.file}, which belongs to another program; nothing was changed`,
      'Change it there, or remove that file from MCP_BRIDGE_CONFIG_SOURCES.',
    );
  }
  return action === 'remove' ? found : found.slice(0, 1);
}

/** The error for an unknown server, which mentions a file that could not be read and may define it. */
async function notFound(
  wanted: string,
  known: Parameters<typeof serverNotFound>[1],
  options: DiscoveryOptions,
): Promise<BridgeError> {
  const error = await serverNotFound(wanted, known);
  const fault = discoverServers(options).issues.find(({ level, server }) => level === 'error' && server === undefined);
  return fault === undefined
    ? error
    : new BridgeError(error.code, `${error.message}; ${renderIssue(fault)}`, {
        hint: `That file may define it: fix the file first. ${known.length > 0 ? error.hint : ''}`.trim(),
      });
}

function missingVariables(entries: NewEntries['entries'], { env }: DiscoveryOptions): string[] {
  const missing = new Set<string>();
  for (const [, entry] of entries) {
    for (const text of EXPANDED_KEYS.flatMap((key) => textsIn(entry[key]))) {
      expandVariables(text, { home: '', env }, (variable) => missing.add(variable));
    }
  }
  return [...missing].toSorted();
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    return [value];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function refusal(code: 'CONFIG_INVALID' | 'USAGE_INVALID', message: string, hint: string): BridgeError {
  return new BridgeError(code, message, { hint });
}
