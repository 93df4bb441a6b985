/** The lists of servers in a client's file: the one at its usual keys, and those that Claude Code keeps for single folders. */

import type { FileObject } from './file-format.ts';
import { entriesAt } from './format.ts';
import type { ClientDefinition } from './table.ts';

export interface ServerList {
  /** Keys from the root of the file to the servers by name. */
  readonly keys: readonly string[];
  /** The folder in which alone the client uses these servers, and runs them; undefined for the usual list. */
  readonly folder: string | undefined;
}

/** A server as the client wrote it, and the list in which it stands. */
export interface ListedServer extends ServerList {
  readonly name: string;
  readonly original: FileObject;
}

type Lists = Pick<ClientDefinition, 'keys' | 'foldersKey'>;

/** The list of one folder; without one, the usual list. */
export function serverList({ keys, foldersKey }: Lists, folder?: string): ServerList {
  const isApart = folder !== undefined && foldersKey !== undefined;
  return { keys: isApart ? [foldersKey, folder, ...keys] : keys, folder };
}

/** The usual list first, then those of folders as they stand in the file. */
export function serverLists(client: Lists, root: FileObject): ServerList[] {
  const { foldersKey } = client;
  const folders = foldersKey === undefined ? {} : (entriesAt(root, [foldersKey]) ?? {});
  return [serverList(client), ...Object.keys(folders).map((folder) => serverList(client, folder))];
}

/** `'notes'`, or `'notes' (/src/app)` for a server of one folder. */
export function quoteServers(servers: readonly Pick<ListedServer, 'name' | 'folder'>[]): string {
  return servers.map(({ name, folder }) => withFolder(`'${name}'`, folder)).join(', ');
}

/** The same without quotes. */
export function listServers(servers: readonly Pick<ListedServer, 'name' | 'folder'>[]): string[] {
  return servers.map(({ name, folder }) => withFolder(name, folder));
}

function withFolder(name: string, folder: string | undefined): string {
  return folder === undefined ? name : `${name} (${folder})`;
}
