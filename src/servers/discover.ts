/**
 * Finds the configured servers: in each source of `MCP_BRIDGE_CONFIG_SOURCES`, in its order. The state directory is its
 * `*.json`, sorted by name, then the file of `MCP_SERVERS_CONFIG`. The first definition of a name wins. Asked before every cell, so that changes are seen at
 * once; only files whose stat changed are read again.
 */
import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ConfigIssue, renderPath } from '../base/config-issue.ts';
import { messageOf } from '../base/errors.ts';
import { homeFolder } from '../base/home.ts';
import { parseForeignFile } from './foreign-file.ts';
import { parseServerFile, type ServerDefinition, type ServerFile, type ServerFileContext } from './server-file.ts';
import type { ClientSource } from './sources.ts';

export type { ServerDefinition } from './server-file.ts';

/** Larger files are no server files. Chosen: 1,000 entries take less than a tenth. */
export const MAX_SERVER_FILE_BYTES = 4 * 1024 * 1024;
/** Files in the state directory with another purpose. */
const RESERVED_FILES: ReadonlySet<string> = new Set(['policy.json']);

export interface DiscoveryOptions {
  /** Absolute; a folder that does not exist holds no servers. */
  readonly stateDir: string;
  /** The file of `MCP_SERVERS_CONFIG`, read first when the state directory is no source; one that does not exist is an issue. */
  readonly extraFile?: string | undefined;
  /** The state directory alone when left out. */
  readonly sources?: readonly ('mcps' | ClientSource)[] | undefined;
  /** Whether entries that would start this bridge again are kept; no when left out. */
  readonly allowsSelf?: boolean | undefined;
  /** `PATH` and the variables that server files name are read from it. */
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
 * A function that gives the servers of now; it gives the same object as long as nothing changed, so that callers can
 * compare by identity. It reads synchronously: 20 unchanged files cost 0.1 ms, much less than 20 trips to the thread pool.
 */
export function createServerDiscovery(options: DiscoveryOptions): () => DiscoveredServers {
  const context: ServerFileContext = {
    home: homeFolder(options.env),
    env: options.env,
    allowsSelf: options.allowsSelf,
  };
  let cache = new Map<string, CachedFile>();
  let known: DiscoveredServers = { servers: new Map(), issues: [] };
  let knownKey: string | undefined;

  return () => {
    const issues: ConfigIssue[] = [];
    const next = new Map<string, CachedFile>();
    for (const [file, source] of listServerFiles(options, issues)) {
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

/**
 * The files to read, in order, each with the source it was named by first; undefined for those of the state directory and
 * of `MCP_SERVERS_CONFIG`, which are ours.
 */
export function listServerFiles(
  options: DiscoveryOptions,
  issues: ConfigIssue[],
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
      [...listStateDir(options, issues), ...listExtraFile(options, issues)].forEach((file) => add(file, undefined));
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

function listStateDir(options: DiscoveryOptions, issues: ConfigIssue[]): string[] {
  const stateDir = resolve(options.stateDir);
  try {
    const names = readdirSync(stateDir).filter(isServerFileName);
    // By code unit, so that the order is the same in every locale.
    return names.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => join(stateDir, name));
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) {
      const hint = 'Fix its permissions, or set MCP_BRIDGE_STATE_DIR to a folder of yours.';
      issues.push({ level: 'error', file: stateDir, path: '', message: `cannot be listed: ${messageOf(error)}`, hint });
    }
    return [];
  }
}

function listExtraFile({ extraFile }: DiscoveryOptions, issues: ConfigIssue[]): string[] {
  if (extraFile === undefined || extraFile === '') {
    return [];
  }
  const file = resolve(extraFile);
  reportMissing(file, 'MCP_SERVERS_CONFIG', issues);
  return [file];
}

/** What a person named by path must be there. */
function reportMissing(file: string, variable: string, issues: ConfigIssue[]): void {
  const stat = statOf(file);
  if (stat?.isFile() !== true) {
    const fault = stat === undefined ? 'does not exist' : 'is no file';
    const hint = `Correct ${variable}, or put a file there.`;
    issues.push({ level: 'error', file, path: '', message: `named by ${variable}, ${fault}`, hint });
  }
}

function isServerFileName(name: string): boolean {
  return !name.startsWith('.') && name.toLowerCase().endsWith('.json') && !RESERVED_FILES.has(name.toLowerCase());
}

function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    // No permission on a folder above it, or a loop of links: reading it says so.
    return undefined;
  }
}

/** The content of `file`, from `cached` if its stat is the same; undefined if it is gone or no plain file. */
function readCached(
  { file, source }: { readonly file: string; readonly source: ClientSource | undefined },
  cached: CachedFile | undefined,
  context: ServerFileContext,
): CachedFile | undefined {
  const stat = statOf(file);
  if (stat !== undefined && !stat.isFile()) {
    return undefined;
  }
  const stamp = stat === undefined ? 'none' : `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`;
  if (cached?.stamp === stamp && stamp !== 'none') {
    return cached;
  }
  const failed = (message: string): CachedFile => {
    return { stamp, servers: [], issues: [{ level: 'error', file, path: '', message }], keys: [] };
  };
  if ((stat?.size ?? 0) > MAX_SERVER_FILE_BYTES) {
    return failed(`has ${stat?.size} bytes; a server file has at most ${MAX_SERVER_FILE_BYTES} bytes`);
  }
  try {
    const { text, distrust } = readServerFile(file);
    const own = { ...context, distrust };
    const read = source === undefined ? parseServerFile(file, text, own) : parseForeignFile(file, text, own, source);
    return { stamp, ...read };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      return isLink(file) ? failed('is a link to something that is not there') : undefined;
    }
    return failed(`cannot be read: ${messageOf(error)}`);
  }
}

function isLink(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** The text, and why commands in it are not run. Both of the same open file: it may be replaced at any time. */
function readServerFile(file: string): { readonly text: string; readonly distrust: string | undefined } {
  const descriptor = openSync(file, 'r');
  try {
    return { text: readFileSync(descriptor, 'utf8'), distrust: whyDistrusted(fstatSync(descriptor)) };
  } finally {
    closeSync(descriptor);
  }
}

/** Who can write a file whose commands are run can run commands as the user. Windows has no such owner and mode. */
export function whyDistrusted({ uid, mode }: Pick<Stats, 'uid' | 'mode'>): string | undefined {
  if (process.getuid === undefined) {
    return undefined;
  }
  if (uid !== process.getuid()) {
    return 'it belongs to another user';
  }
  return (mode & 0o022) === 0 ? undefined : 'others can write it (chmod go-w)';
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
  return loser.definitionHash === winner.definitionHash
    ? { level: 'debug', message: `is the same server as in ${winner.file}, and taken once` }
    : {
        level: 'warning',
        message: `was left out, because ${winner.file} defines that name first; rename one of them`,
      };
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
