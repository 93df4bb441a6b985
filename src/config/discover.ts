/**
 * Finds the configured servers: `*.json` in the state directory, sorted by name, then the file of
 * `MCP_SERVERS_CONFIG`. The first definition of a name wins. Asked before every cell, so that changes are seen at
 * once; only files whose stat changed are read again.
 */
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { messageOf } from '../errors.ts';
import { type ConfigIssue, renderPath } from './explain.ts';
import { parseServerFile, type ServerDefinition, type ServerFile, type ServerFileContext } from './server-file.ts';

export type { ServerDefinition } from './server-file.ts';

/** Larger files are no server files. Chosen: 1,000 entries take less than a tenth. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Files in the state directory with another purpose. */
const RESERVED_FILES: ReadonlySet<string> = new Set(['policy.json']);

export interface DiscoveryOptions {
  /** Absolute; a folder that does not exist holds no servers. */
  readonly stateDir: string;
  /** The file of `MCP_SERVERS_CONFIG`; one that does not exist is an issue. */
  readonly extraFile?: string | undefined;
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
  const context: ServerFileContext = { home: homedir(), env: options.env, allowsSelf: options.allowsSelf };
  let cache = new Map<string, CachedFile>();
  let known: DiscoveredServers = { servers: new Map(), issues: [] };
  let knownKey: string | undefined;

  return () => {
    const issues: ConfigIssue[] = [];
    const next = new Map<string, CachedFile>();
    for (const file of listFiles(options, issues)) {
      const read = readCached(file, cache.get(file), context);
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

function listFiles(options: DiscoveryOptions, issues: ConfigIssue[]): string[] {
  const stateDir = resolve(options.stateDir);
  const files = new Set<string>();
  try {
    const names = readdirSync(stateDir).filter(isServerFileName);
    // By code unit, so that the order is the same in every locale.
    for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
      files.add(join(stateDir, name));
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) {
      issues.push({ level: 'error', file: stateDir, path: '', message: `cannot be listed: ${messageOf(error)}` });
    }
  }
  if (options.extraFile !== undefined && options.extraFile !== '') {
    const extraFile = resolve(options.extraFile);
    files.add(extraFile);
    if (statOf(extraFile) === undefined) {
      issues.push({
        level: 'error',
        file: extraFile,
        path: '',
        message: 'named by MCP_SERVERS_CONFIG, does not exist',
      });
    }
  }
  return [...files];
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
function readCached(file: string, cached: CachedFile | undefined, context: ServerFileContext): CachedFile | undefined {
  const stat = statOf(file);
  if (stat !== undefined && !stat.isFile()) {
    return undefined;
  }
  const stamp = stat === undefined ? 'none' : `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`;
  if (cached?.stamp === stamp && stamp !== 'none') {
    return cached;
  }
  const failed = (message: string): CachedFile => {
    return { stamp, servers: [], issues: [{ level: 'error', file, path: '', message }] };
  };
  if ((stat?.size ?? 0) > MAX_FILE_BYTES) {
    return failed(`has ${stat?.size} bytes; a server file has at most ${MAX_FILE_BYTES} bytes`);
  }
  try {
    return { stamp, ...parseServerFile(file, readFileSync(file, 'utf8'), context) };
  } catch (error) {
    return hasCode(error, 'ENOENT') ? undefined : failed(`cannot be read: ${messageOf(error)}`);
  }
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
        const path = renderPath(['mcpServers', definition.name]);
        const message = `was left out, because ${winner.file} defines that name first; rename one of them`;
        all.push({ level: 'warning', file: definition.file, path, message });
      }
    }
  }
  return { servers, issues: all };
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
