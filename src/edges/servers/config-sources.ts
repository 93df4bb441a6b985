/** The value of `MCP_BRIDGE_CONFIG_SOURCES`. */
import { CLIENT_IDS, type ClientId } from '../clients/client-ids.ts';

/** A source in `MCP_BRIDGE_CONFIG_SOURCES`; `mcps` is the state directory and the file of `MCP_SERVERS_CONFIG`. */
export type ConfigSource =
  | { readonly kind: 'mcps' }
  | { readonly kind: 'client'; readonly id: ClientId }
  | { readonly kind: 'file'; readonly path: string };

const CLAUDE: readonly ClientId[] = ['claude-code', 'claude-desktop'];

/** The sources in a list such as `mcps,claude,/path/file`, without duplicates. Throws an Error for the first invalid word. */
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
    throw new Error(`'${word}' is neither a client nor a path with a slash`);
  }
  return clients(found);
}
