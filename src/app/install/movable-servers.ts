/** Decides which servers of a client's file can move to the state directory and still work the same. */
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { homeFolder } from '../../core/base/home.ts';
import { isObject } from '../../core/base/is-object.ts';
import { toServerEntry } from '../../edges/clients/entry.ts';
import type { FileFormat, FileObject } from '../../edges/clients/file-format.ts';
import { entriesAt } from '../../edges/clients/format.ts';
import type { RegistrationOptions } from '../../edges/clients/registration.ts';
import { type ListedServer, type ServerList, serverList, serverLists } from '../../edges/clients/server-lists.ts';
import type { ClientDefinition } from '../../edges/clients/table.ts';
import type { ClientFile } from '../../edges/servers/client-file.ts';
import { discoverServers, type ServerDefinition } from '../../edges/servers/discover.ts';
import type { MovedServer } from '../../edges/servers/imported-servers.ts';
import { parseServerFile } from '../../edges/servers/server-file.ts';

export interface MovableOptions {
  readonly client: ClientDefinition;
  readonly file: ClientFile;
  readonly format: FileFormat;
  readonly registration: RegistrationOptions;
  readonly scope: Scope;
  readonly cwd: string;
  readonly stateDir: string;
  readonly system: { readonly env: Readonly<Record<string, string | undefined>> };
  /** The servers of other clients that move at the same time. */
  readonly taken?: Movable['definitions'] | undefined;
}

export interface Movable {
  readonly moved: readonly MovedServer[];
  readonly staying: readonly (Pick<ListedServer, 'name' | 'folder'> & { readonly reason: string })[];
  /** By name, those that move. */
  readonly definitions: ReadonlyMap<string, Known>;
}

/** The definition that already uses a name, and its file or folder. */
interface Known extends Pick<ServerDefinition, 'definitionHash' | 'policy'> {
  readonly place: string;
}

/**
 * Splits the servers of the file, except entries of the bridge itself, into those that can move and those that stay. Nothing in the
 * state directory is overwritten. Of several definitions with the same name, the first one moves.
 */
export async function chooseMovable(options: MovableOptions): Promise<Movable> {
  const { client, file, format, registration, scope } = options;
  const root = format.parse(file.text ?? '');
  const { servers } = discoverServers({ stateDir: options.stateDir, env: options.system.env });
  const known = new Map<string, Known>(options.taken);
  for (const [name, { definitionHash, file: place, policy }] of servers) {
    known.set(name, { definitionHash, place, policy });
  }
  const definitions = new Map<string, Known>();
  const moved: MovedServer[] = [];
  const staying: Movable['staying'][number][] = [];
  for (const list of scope === 'user' ? serverLists(client, root) : [serverList(client)]) {
    for (const [name, original] of Object.entries(entriesAt(root, list.keys) ?? {})) {
      if (registration.isOwn(name, original)) {
        continue;
      }
      const found = chooseOne({ ...list, name, original }, options, known.get(name));
      if ('reason' in found) {
        staying.push({ name, folder: list.folder, reason: found.reason });
      } else {
        moved.push(found.server);
        const { definitionHash, policy } = found;
        const definition = known.get(name) ?? { definitionHash, policy, place: list.folder ?? file.path };
        known.set(name, definition);
        definitions.set(name, definition);
      }
    }
  }
  return { moved, staying, definitions };
}

interface Chosen extends Pick<ServerDefinition, 'definitionHash' | 'policy'> {
  readonly server: MovedServer;
}

function chooseOne(
  candidate: ServerList & { readonly name: string; readonly original: unknown },
  options: MovableOptions,
  same: Known | undefined,
): Chosen | { readonly reason: string } {
  const { folder, keys, name, original } = candidate;
  const found = toServerEntry(original, options.client.timeoutUnit);
  if ('reason' in found) {
    return found;
  }
  if (!isObject(original) || !isObject(found.entry)) {
    return { reason: 'is not an object' };
  }
  const entry = inFolder(found.entry, folder ?? (options.scope === 'project' ? options.cwd : undefined));
  const { command } = entry;
  if (typeof command === 'string' && /^\.{1,2}[\\/]/.test(command) && entry['cwd'] === undefined) {
    return { reason: "starts a program by a path relative to the client's working folder" };
  }
  const storePath = join(options.stateDir, 'imported.json');
  const context = { home: homeFolder(options.system.env), env: options.system.env };
  const read = parseServerFile(storePath, JSON.stringify({ mcpServers: { [name]: entry } }), context);
  const [definition] = read.servers;
  if (definition === undefined) {
    return { reason: read.issues[0]?.message ?? 'cannot be started by the bridge' };
  }
  if (folder !== undefined && definition.cwd !== undefined && !existsSync(definition.cwd)) {
    return { reason: 'runs in a folder that does not exist' };
  }
  const { definitionHash, policy } = definition;
  if (same !== undefined && same.definitionHash !== definitionHash) {
    return { reason: `has the same name as a different server in ${same.place}; rename one of them` };
  }
  if (same !== undefined && policy !== undefined && !isDeepStrictEqual(policy.value, same.policy?.value)) {
    return { reason: `is the same server as in ${same.place}, which allows other tools` };
  }
  return { server: { keys, folder, name, original, entry }, definitionHash, policy };
}

/** The entry with the folder it runs in: a client starts servers of a project in that project, the bridge would not. */
function inFolder(entry: FileObject, folder: string | undefined): FileObject {
  const own = entry['cwd'];
  if (folder === undefined || entry['url'] !== undefined || (typeof own === 'string' && isAbsolute(own))) {
    return entry;
  }
  return { ...entry, cwd: typeof own === 'string' ? join(folder, own) : folder };
}

export type Scope = 'user' | 'project';
