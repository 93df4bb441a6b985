/**
 * Reads catalogs that are on this machine (`MCP_BRIDGE_CATALOGS`): a Docker MCP catalog, a saved answer of a registry, or a folder with
 * `server.json` and `server.yaml` files, such as a checkout of a registry. Read once for each state of the file.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CappedMap } from '../../core/base/capped-map.ts';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { createPause } from '../../core/base/slices.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { readBounded } from '../../core/state/state-files.ts';
import { readTile } from './docker-catalog.ts';
import type { NewServer } from './new-server.ts';
import type { Listing } from './registry.ts';
import { readServer } from './server-json.ts';

/** Docker's own catalog has 1 MB. YAML takes about 1 s per MB to parse, and expands what it refers to. */
const MAX_YAML_BYTES = 4 * 1024 * 1024;
const MAX_JSON_BYTES = 32 * 1024 * 1024;
const MAX_FILES = 5_000;
const MAX_DEPTH = 5;
const MAX_SERVERS = 10_000;
const MAX_CATALOGS = 50;
/** A folder is read again after this time at the latest. Chosen. */
const FOLDER_MS = 60_000;

/** What each catalog had, with the state in which it was read. */
const known = new CappedMap<string, { readonly state: string; readonly listing: Listing }>(MAX_CATALOGS);

/** Never rejects: `problem` says why a catalog, or a part of it, could not be read. */
export async function readCatalog(path: string): Promise<Listing> {
  try {
    const stats = await stat(path);
    const { mtimeMs, size } = stats;
    // Files in a folder change without it.
    const state = stats.isDirectory() ? `${Math.floor(Date.now() / FOLDER_MS)}` : `${mtimeMs}:${size}`;
    const before = known.get(path);
    if (before?.state === state) {
      return before.listing;
    }
    const files = await filesOf(path);
    const listing = { ...(await readFiles(files, path)), atMs: mtimeMs };
    known.set(path, { state, listing });
    return listing;
  } catch (error) {
    return { servers: [], atMs: undefined, problem: `${path} could not be read: ${messageOf(error)}` };
  }
}

async function filesOf(path: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const place = join(folder, entry.name);
      if (entry.isDirectory() && depth < MAX_DEPTH && !entry.name.startsWith('.') && entry.name !== 'node_modules') {
        await visit(place, depth + 1);
      } else if (entry.isFile() && /^server\.(?:json|ya?ml)$/.test(entry.name) && found.length < MAX_FILES) {
        found.push(place);
      }
    }
  };
  if ((await stat(path)).isDirectory()) {
    await visit(path, 0);
    return found;
  }
  return [path];
}

async function readFiles(files: readonly string[], origin: string): Promise<Omit<Listing, 'atMs'>> {
  const pause = createPause();
  const servers: NewServer[] = [];
  let problem: string | undefined;
  for (const file of files) {
    await pause();
    try {
      servers.push(...(await readFile(file, origin)));
    } catch (error) {
      problem ??= `${file} could not be read: ${messageOf(error)}`;
    }
  }
  return { servers: servers.slice(0, MAX_SERVERS), problem };
}

async function readFile(file: string, origin: string): Promise<NewServer[]> {
  // The person has named it.
  const place = { origin, isLocal: true };
  if (/\.json$/i.test(file)) {
    const read = readUntrusted(await readBounded(file, MAX_JSON_BYTES), JSON_BOUNDS.publication);
    if (!read.ok) {
      throw new BridgeError('CONFIG_INVALID', `it is ${read.reason}`);
    }
    const listed = isObject(read.value) ? (read.value['servers'] ?? [read.value]) : read.value;
    return Array.isArray(listed) ? listed.flatMap((item) => readServer(item, place) ?? []) : [];
  }
  const { yamlFormat } = await import('../clients/yaml-format.ts');
  const root = yamlFormat.parse((await readBounded(file, MAX_YAML_BYTES)).toString('utf8'));
  const { registry } = root;
  const tiles: [string, unknown][] = isObject(registry)
    ? Object.entries(registry)
    : [[typeof root['name'] === 'string' ? root['name'] : basename(dirname(file)), root]];
  return tiles.flatMap(([name, tile]) => readTile(name, tile, place) ?? []);
}
