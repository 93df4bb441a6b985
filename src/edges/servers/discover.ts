/**
 * Finds the configured servers in the sources of `MCP_BRIDGE_CONFIG_SOURCES`, in their order. The source `mcps` means the
 * `*.json` files of the state directory, sorted by name, then those of `~/MCPs` if the state directory is elsewhere, then the file
 * of `MCP_SERVERS_CONFIG`. The first definition of a name wins. Runs before every cell, so that changes take effect at once; only
 * files whose stat has changed are read again.
 */
import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ConfigIssue, renderPath } from '../../core/base/config-issue.ts';
import { messageOf } from '../../core/base/errors.ts';
import { homeFolder } from '../../core/base/home.ts';
import { isObject } from '../../core/base/is-object.ts';
import { parseJson } from '../../core/base/json-text.ts';
import { whyNotUtf8 } from '../../core/base/utf8-line.ts';
import { entriesAt } from '../clients/format.ts';
import { parseForeignFile } from './foreign-file.ts';
import { parseServerFile, type ServerDefinition, type ServerFile, type ServerFileContext } from './server-file.ts';
import type { ClientSource } from './sources.ts';

export type { ServerDefinition } from './server-file.ts';

/** The largest server file. Chosen: 1,000 entries need less than a tenth of it. */
export const MAX_SERVER_FILE_BYTES = 4 * 1024 * 1024;
/** Files in the state directory that are not server files. */
const POLICY_FILE = 'policy.json';
const RESERVED_FILES: ReadonlySet<string> = new Set([POLICY_FILE, 'languages.json', 'settings.json']);
const LIKE_POLICY_FILE = /^polic(?:y|ies)(?:\.(?:json|jsonc|json5|ya?ml|txt))*$/i;

export interface DiscoveryOptions {
  /** Absolute. A missing folder has no servers. */
  readonly stateDir: string;
  /** `~/MCPs`, whose servers are read too if it is not the state directory. */
  readonly usualDir?: string | undefined;
  /** The file of `MCP_SERVERS_CONFIG`. Read first if `mcps` is not a source. A missing file is an issue. */
  readonly extraFile?: string | undefined;
  /** Default: `mcps`. */
  readonly sources?: readonly ('mcps' | ClientSource)[] | undefined;
  /** Whether to keep entries that would start this bridge again. Default: false. */
  readonly allowsSelf?: boolean | undefined;
  /** Provides `PATH` and the variables that server files refer to. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface DiscoveredServers {
  /** By name, in the order of the files. */
  readonly servers: ReadonlyMap<string, ServerDefinition>;
  readonly issues: readonly ConfigIssue[];
}

interface CachedFile extends ServerFile {
  readonly stamp: string;
}

/**
 * A function that returns the current servers: the same object until something changes, so that callers can compare by
 * identity. It reads synchronously, because 20 unchanged files take 0.1 ms, much less than 20 trips to the thread pool.
 */
export function createServerDiscovery(options: DiscoveryOptions): () => DiscoveredServers {
  const context: ServerFileContext = {
    home: homeFolder(options.env),
    env: options.env,
    allowsSelf: options.allowsSelf,
  };
  let cache = new Map<string, CachedFile>();
  const list = createFolderReader();
  const onlyFolder = onlyFolderOf(options);
  let listed: readonly string[] | undefined;
  let known: DiscoveredServers = { servers: new Map(), issues: [] };
  let knownKey: string | undefined;

  /** Whether the usual folder and its files are as before, which every cell asks. */
  function isUnchanged(folder: string): boolean {
    const names = namesIn(folder, list);
    const isSame = names !== undefined && names === listed;
    listed = names;
    return isSame && [...cache].every(([file, { stamp }]) => stamp !== NO_FILE && stampOf(statOf(file)) === stamp);
  }

  return () => {
    if (onlyFolder !== undefined && isUnchanged(onlyFolder)) {
      return known;
    }
    const issues: ConfigIssue[] = [];
    const next = new Map<string, CachedFile>();
    for (const [file, source] of listServerFiles(options, issues, list)) {
      const read = readCached({ file, source }, cache.get(file), context);
      if (read !== undefined) {
        next.set(file, read);
      }
    }
    cache = next;
    const key = JSON.stringify([issues, [...next].map(([file, { stamp }]) => [file, stamp])]);
    if (key !== knownKey) {
      known = merge([...next.values()], issues);
      knownKey = key;
    }
    return known;
  };
}

/** The configured servers, read once. */
export function discoverServers(options: DiscoveryOptions): DiscoveredServers {
  return createServerDiscovery(options)();
}

/** One definition of a server in a file, even if the entry is invalid or another file takes precedence. */
export interface DefinedServer {
  readonly name: string;
  readonly file: string;
  /** Whether the file is a server file of the bridge. The bridge does not change files of other clients, nor copies of them. */
  readonly isOurs: boolean;
  /** The entry as written; only for files of the bridge. */
  readonly entry?: unknown;
}

/**
 * Which file defines which server, in the order of precedence. A name may occur in several files of the bridge. From files of
 * other clients, only the definitions that take effect are included.
 */
export function findDefinedServers(options: DiscoveryOptions): DefinedServer[] {
  const files = listServerFiles(options, [], readdirSync);
  const others = [...discoverServers(options).servers.values()];
  return [...files].flatMap(([file, source]): DefinedServer[] => {
    const entries = source === undefined ? entriesIn(file) : undefined;
    return entries === undefined
      ? others.filter((server) => server.file === file).map(({ name }) => ({ name, file, isOurs: false }))
      : Object.entries(entries).map(([name, entry]) => ({ name, file, isOurs: true, entry }));
  });
}

/** Undefined for a copy of another client's file. Empty for a file that cannot be read; discovery reports it. */
function entriesIn(file: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const stat = statSync(file);
    // Reading a pipe or a device might never end.
    if (!stat.isFile() || stat.size > MAX_SERVER_FILE_BYTES) {
      return {};
    }
    const parsed = parseJson(readFileSync(file, 'utf8'));
    return 'value' in parsed && isObject(parsed.value) ? entriesAt(parsed.value, ['mcpServers']) : {};
  } catch {
    return {};
  }
}

/**
 * The files to read, in order, each with the first source that names it; undefined for files of the bridge, which are those of
 * the state directory and of `MCP_SERVERS_CONFIG`.
 */
function listServerFiles(
  options: DiscoveryOptions,
  issues: ConfigIssue[],
  list: ListNames,
): Map<string, ClientSource | undefined> {
  const { sources = ['mcps'] } = options;
  const files = new Map<string, ClientSource | undefined>();
  const add = (file: string, source: ClientSource | undefined): void => {
    if (!files.has(file)) {
      files.set(file, source);
    }
  };
  if (!sources.includes('mcps')) {
    listExtraFile(options, issues).forEach((file) => add(file, undefined));
  }
  for (const source of sources) {
    if (source === 'mcps') {
      const ours = [
        ...listFolder(resolve(options.stateDir), issues, list),
        ...listUsualDir(options, issues, list),
        ...listExtraFile(options, issues),
      ];
      ours.forEach((file) => add(file, undefined));
    } else {
      const file = source.files.find((candidate) => statOf(candidate) !== undefined);
      if (source.isRequired) {
        reportMissing(source.files[0] ?? '', 'MCP_BRIDGE_CONFIG_SOURCES', issues);
      }
      if (file !== undefined) {
        add(resolve(file), source);
      }
    }
  }
  return files;
}

/** The server files of `~/MCPs`. A policy there does not apply, and its servers must not be callable without it. */
function listUsualDir({ usualDir, stateDir }: DiscoveryOptions, issues: ConfigIssue[], list: ListNames): string[] {
  if (usualDir === undefined || resolve(usualDir) === resolve(stateDir)) {
    return [];
  }
  const found: ConfigIssue[] = [];
  const files = listFolder(usualDir, found, list);
  // That it cannot be used may be why the state directory is elsewhere.
  issues.push(...found.filter(({ level }) => level !== 'error'));
  const policy = join(usualDir, POLICY_FILE);
  if (files.length === 0 || lstatSync(policy, { throwIfNoEntry: false }) === undefined) {
    return files;
  }
  issues.push({
    level: 'warning',
    file: policy,
    path: '',
    message: `is not read, because the state directory is ${stateDir}; so the servers in ${usualDir} were left out`,
    hint: `Move the policy to ${stateDir}, or remove MCP_BRIDGE_STATE_DIR.`,
  });
  return [];
}

function listFolder(stateDir: string, issues: ConfigIssue[], list: ListNames): string[] {
  try {
    const all = list(stateDir);
    issues.push(...misnamedPolicies(stateDir, all));
    const names = all.filter(isServerFileName);
    // By code unit, so that the order is the same in every locale.
    return names.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => join(stateDir, name));
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) {
      const hint = 'Fix its permissions, or set MCP_BRIDGE_STATE_DIR to a folder that you own.';
      issues.push({ level: 'error', file: stateDir, path: '', message: `cannot be listed: ${messageOf(error)}`, hint });
    }
    return [];
  }
}

/** Throws if the folder cannot be listed. The same list until the folder changes. */
type ListNames = (folder: string) => readonly string[];

/** The folder of server files, if it is the only place where they are looked for. */
function onlyFolderOf({
  extraFile = '',
  sources = ['mcps'],
  stateDir,
  usualDir,
}: DiscoveryOptions): string | undefined {
  const folder = resolve(stateDir);
  const isOnly = sources.every((source) => source === 'mcps') && sources.length > 0 && extraFile === '';
  return isOnly && (usualDir === undefined || resolve(usualDir) === folder) ? folder : undefined;
}

/** Undefined if the folder cannot be listed. */
function namesIn(folder: string, list: ListNames): readonly string[] | undefined {
  try {
    return list(folder);
  } catch {
    // Whoever lists it next reports the reason.
    return undefined;
  }
}

const NO_NAMES: readonly string[] = [];

/**
 * Lists a folder again only if it has changed, because this takes 40 µs before every cell, and the error that a folder is missing 50 µs.
 * A change within the resolution of the file system's clock leaves no mark, so a list is kept only if the folder had not changed for a
 * while when it was made.
 */
function createFolderReader(): ListNames {
  const lists = new Map<string, { readonly stamp: string; readonly names: readonly string[] }>();
  return (folder) => {
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (stat === undefined) {
      return NO_NAMES;
    }
    const stamp = [stat.dev, stat.ino, stat.mode, stat.mtimeMs, stat.ctimeMs].join(' ');
    const known = lists.get(folder);
    if (known?.stamp === stamp) {
      return known.names;
    }
    const now = Date.now();
    const names = readdirSync(folder);
    if (now - Math.max(stat.mtimeMs, stat.ctimeMs) > COARSEST_CLOCK_MS) {
      lists.set(folder, { stamp, names });
    }
    return names;
  };
}

/** FAT counts in steps of two seconds. */
const COARSEST_CLOCK_MS = 2_000;

/** Files whose name looks like that of the policy. Without a warning, someone would rely on one that is never read. */
function misnamedPolicies(stateDir: string, names: readonly string[]): ConfigIssue[] {
  // On a file system that ignores case, Policy.json is policy.json.
  const isRead = (name: string): boolean =>
    name === POLICY_FILE || (!names.includes(POLICY_FILE) && isSameFile(stateDir, name));
  return names
    .filter((name) => LIKE_POLICY_FILE.test(name) && !isServerFileName(name) && !isRead(name))
    .map((name) => ({
      level: 'warning',
      file: join(stateDir, name),
      path: '',
      message: `is not read: the policy for all servers must be named ${POLICY_FILE}`,
    }));
}

function isSameFile(stateDir: string, name: string): boolean {
  return name.toLowerCase() === POLICY_FILE && statOf(join(stateDir, POLICY_FILE)) !== undefined;
}

function listExtraFile({ extraFile }: DiscoveryOptions, issues: ConfigIssue[]): string[] {
  if (extraFile === undefined || extraFile === '') {
    return [];
  }
  const file = resolve(extraFile);
  reportMissing(file, 'MCP_SERVERS_CONFIG', issues);
  return [file];
}

/** A file that the user named by path must exist. */
function reportMissing(file: string, variable: string, issues: ConfigIssue[]): void {
  const stat = statOf(file);
  if (stat?.isFile() !== true) {
    const fault = stat === undefined ? 'does not exist' : 'is not a file';
    const hint = `Correct ${variable}, or create the file.`;
    issues.push({ level: 'error', file, path: '', message: `is named in ${variable} but ${fault}`, hint });
  }
}

function isServerFileName(name: string): boolean {
  return !name.startsWith('.') && name.toLowerCase().endsWith('.json') && !RESERVED_FILES.has(name.toLowerCase());
}

function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    // No permission for a parent folder, or a loop of links. Reading the file will report it.
    return undefined;
  }
}

/** The content of `file`: `cached` if its stat is unchanged; undefined if it does not exist or is not a regular file. */
function readCached(
  { file, source }: { readonly file: string; readonly source: ClientSource | undefined },
  cached: CachedFile | undefined,
  context: ServerFileContext,
): CachedFile | undefined {
  const stat = statOf(file);
  if (stat !== undefined && !stat.isFile()) {
    return undefined;
  }
  const stamp = stampOf(stat);
  if (cached?.stamp === stamp && stamp !== NO_FILE) {
    return cached;
  }
  const failed = (message: string): CachedFile => {
    return { stamp, servers: [], issues: [{ level: 'error', file, path: '', message }], keys: [] };
  };
  if ((stat?.size ?? 0) > MAX_SERVER_FILE_BYTES) {
    return failed(`has ${stat?.size} bytes; the limit for server files is ${MAX_SERVER_FILE_BYTES} bytes`);
  }
  try {
    const { bytes, distrust } = readServerFile(file);
    const fault = whyNotUtf8(bytes);
    if (fault !== undefined) {
      return failed(fault);
    }
    const text = bytes.toString('utf8');
    const own = { ...context, distrust };
    const read = source === undefined ? parseServerFile(file, text, own) : parseForeignFile(file, text, own, source);
    return { stamp, ...read };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      return isLink(file) ? failed('is a link whose target does not exist') : undefined;
    }
    return failed(`cannot be read: ${messageOf(error)}`);
  }
}

const NO_FILE = 'none';

function stampOf(stat: Stats | undefined): string {
  return stat === undefined ? NO_FILE : `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`;
}

function isLink(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** The content, and why its commands must not run. Both from the same open file, because it may be replaced at any time. */
function readServerFile(file: string): { readonly bytes: Buffer; readonly distrust: string | undefined } {
  const descriptor = openSync(file, 'r');
  try {
    return { bytes: readFileSync(descriptor), distrust: whyDistrusted(fstatSync(descriptor)) };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Why commands from a file must not run, in one clause; undefined if they may. Anyone who can write the file could run commands
 * as the user. Windows has no such owner and mode.
 */
export function whyDistrusted({ uid, mode }: Pick<Stats, 'uid' | 'mode'>): string | undefined {
  if (process.getuid === undefined) {
    return undefined;
  }
  if (uid !== process.getuid()) {
    return 'it belongs to another user';
  }
  return (mode & 0o022) === 0 ? undefined : 'others can write to it (chmod go-w)';
}

function merge(files: readonly ServerFile[], issues: readonly ConfigIssue[]): DiscoveredServers {
  const servers = new Map<string, ServerDefinition>();
  const all: ConfigIssue[] = [...issues];
  for (const file of files) {
    all.push(...file.issues);
    for (const definition of file.servers) {
      const winner = servers.get(definition.name);
      if (winner === undefined) {
        servers.set(definition.name, definition);
      } else {
        const path = renderPath([...file.keys, definition.name]);
        all.push({ file: definition.file, path, ...explainLoser(definition, winner) });
      }
    }
  }
  return { servers, issues: all };
}

function explainLoser(loser: ServerDefinition, winner: ServerDefinition): Pick<ConfigIssue, 'level' | 'message'> {
  if (loser.definitionHash === winner.definitionHash && hasOtherPolicy(loser, winner)) {
    const message = `is the same server as in ${winner.file}, and its policy here does not apply: move it there`;
    return { level: 'warning', message };
  }
  return loser.definitionHash === winner.definitionHash
    ? { level: 'debug', message: `is the same server as in ${winner.file}` }
    : {
        level: 'warning',
        message: `was left out, because ${winner.file} already defines that name; rename one of them`,
      };
}

function hasOtherPolicy(loser: ServerDefinition, winner: ServerDefinition): boolean {
  return loser.policy !== undefined && JSON.stringify(loser.policy.value) !== JSON.stringify(winner.policy?.value);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
