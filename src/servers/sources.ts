/**
 * Where servers are looked for besides the state directory: files of other clients, and files named by path. Files of
 * projects may come from strangers, and what they define is started: they are read only when they are named by path.
 */
import { extname } from 'node:path';
import { homeFolder } from '../base/home.ts';
import type { FileFormat, FileObject } from '../clients/file-format.ts';
import { entriesAt, loadFormat } from '../clients/format.ts';
import { CLIENT_IDS, type ClientId, type ClientSystem, clientOf, type FileFormatName } from '../clients/table.ts';

/** What `MCP_BRIDGE_CONFIG_SOURCES` names; `mcps` is the state directory. */
export type ConfigSource =
  | { readonly kind: 'mcps' }
  | { readonly kind: 'client'; readonly id: ClientId }
  | { readonly kind: 'file'; readonly path: string };

/** A source that can be read. */
export interface ClientSource {
  /** The first that exists is read. */
  readonly files: readonly string[];
  readonly format: FileFormat;
  /** Where servers may stand; the first place that holds an object is taken. */
  readonly keys: readonly (readonly string[])[];
  readonly timeoutUnit: 's' | 'ms' | undefined;
  /** Whether it is an error that there is no such file. */
  readonly isRequired: boolean;
}

const CLAUDE: readonly ClientId[] = ['claude-code', 'claude-desktop'];
/** Keys under which some client keeps its servers, for files named by path; the most telling first. */
const ALL_KEYS: readonly (readonly string[])[] = [
  ['mcpServers'],
  ['mcp_servers'],
  ['context_servers'],
  ['servers'],
  ['mcp', 'servers'],
  ['mcp.servers'],
  ['mcp'],
  ['extensions'],
];
const FORMATS: Readonly<Record<string, FileFormatName>> = { '.toml': 'toml', '.yaml': 'yaml', '.yml': 'yaml' };

/** The sources in a list such as `mcps,claude,/path/file`, each once. Throws with the first word that is none. */
export function parseSources(text: string): ConfigSource[] {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const sources = words.flatMap(parseSource);
  return [...new Map(sources.map((source) => [JSON.stringify(source), source])).values()];
}

function parseSource(word: string): ConfigSource[] {
  const name = word.toLowerCase();
  const clients = (ids: readonly ClientId[]) => ids.map((id): ConfigSource => ({ kind: 'client', id }));
  if (name === 'mcps') {
    return [{ kind: 'mcps' }];
  }
  if (name === 'all') {
    return [{ kind: 'mcps' }, ...clients(CLIENT_IDS)];
  }
  if (/[\\/]/.test(word)) {
    return [{ kind: 'file', path: word }];
  }
  const found = name === 'claude' ? CLAUDE : CLIENT_IDS.filter((id) => id === name);
  if (found.length === 0) {
    throw new Error(`'${word}' is no client, and no path with a slash`);
  }
  return clients(found);
}

/** The sources with what reads them; the parsers are loaded for those that are named. */
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

/** Where the servers of a file stand; undefined when it has none. */
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

/** The machine we are on. */
export function thisSystem(env: Readonly<Record<string, string | undefined>>): ClientSystem {
  const { platform } = process;
  const known = platform === 'win32' || platform === 'darwin' ? platform : 'linux';
  return { platform: known, home: homeFolder(env), env };
}
