/**
 * Where to look for servers besides the state directory: in files of other clients, and in files named by path. A project's
 * files may come from a stranger and define programs to start, so they are read only if named by path.
 */
import { extname } from 'node:path';
import { homeFolder } from '../../core/base/home.ts';
import type { FileFormat, FileObject } from '../clients/file-format.ts';
import { entriesAt, loadFormat } from '../clients/format.ts';
import { type ClientSystem, clientOf, type FileFormatName } from '../clients/table.ts';
import type { ConfigSource } from './config-sources.ts';

/** A source that can be read. */
export interface ClientSource {
  /** The first one that exists is read. */
  readonly files: readonly string[];
  readonly format: FileFormat;
  /** The keys under which servers may be; the first that lead to an object are used. */
  readonly keys: readonly (readonly string[])[];
  readonly timeoutUnit: 's' | 'ms' | undefined;
  /** Whether a missing file is an error. */
  readonly isRequired: boolean;
}

/** The keys of clients that do not use `mcpServers`; the least ambiguous first. */
export const OTHER_KEYS: readonly (readonly string[])[] = [
  ['mcp_servers'],
  ['context_servers'],
  ['servers'],
  ['mcp', 'servers'],
  ['mcp.servers'],
  ['mcp'],
  ['extensions'],
];
/** For files named by path. */
const ALL_KEYS: readonly (readonly string[])[] = [['mcpServers'], ...OTHER_KEYS];
const FORMATS: Readonly<Record<string, FileFormatName>> = { '.toml': 'toml', '.yaml': 'yaml', '.yml': 'yaml' };

/** The sources, ready to be read. Loads only the parsers that they need. */
export async function loadSources(
  sources: readonly ConfigSource[],
  system: ClientSystem,
): Promise<('mcps' | ClientSource)[]> {
  return Promise.all(
    sources.map(async (source) => {
      if (source.kind === 'mcps') {
        return 'mcps' as const;
      }
      if (source.kind === 'file') {
        const format = await loadFormat(FORMATS[extname(source.path).toLowerCase()] ?? 'json');
        return { files: [source.path], format, keys: ALL_KEYS, timeoutUnit: undefined, isRequired: true };
      }
      const client = clientOf(source.id);
      return {
        files: client.userFiles(system),
        format: await loadFormat(client.format),
        keys: [client.keys],
        timeoutUnit: client.timeoutUnit,
        isRequired: false,
      };
    }),
  );
}

/** The servers of a file and the keys that lead to them; undefined if it has none. */
export function findServers(
  root: FileObject,
  keys: ClientSource['keys'],
): { readonly keys: readonly string[]; readonly entries: FileObject } | undefined {
  for (const path of keys) {
    const entries = entriesAt(root, path);
    if (entries !== undefined) {
      return { keys: path, entries };
    }
  }
  return undefined;
}

/** The system that this process runs on. */
export function thisSystem(env: Readonly<Record<string, string | undefined>>): ClientSystem {
  const { platform } = process;
  const known = platform === 'win32' || platform === 'darwin' ? platform : 'linux';
  return { platform: known, home: homeFolder(env), env };
}
