/** The lists of servers in a client's file: the main one, and those that Claude Code keeps for single folders. */

import type { FileObject } from './file-format.ts';
import { entriesAt } from './format.ts';
import type { ClientDefinition } from './table.ts';

export interface ServerList {
  /** The keys from the root of the file to the servers by name. */
  readonly keys: readonly string[];
  /** The only folder in which the client uses and runs these servers; undefined for the main list. */
  readonly folder: string | undefined;
}

/** A server as the client wrote it, and the list that contains it. */
export interface ListedServer extends ServerList {
  readonly name: string;
  readonly original: FileObject;
}

type Lists = Pick<ClientDefinition, 'keys' | 'foldersKey'>;

/** The list of a folder; without `folder`, the main list. */
export function serverList({ keys, foldersKey }: Lists, folder?: string): ServerList {
  const hasOwnList = folder !== undefined && foldersKey !== undefined;
  return { keys: hasOwnList ? [foldersKey, folder, ...keys] : keys, folder };
}

/** The main list first, then those of folders in the order of the file. */
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
