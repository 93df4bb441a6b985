/** Servers in the files of every client, on three systems: each is found where its client keeps it, and nowhere else. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { CLIENT_IDS, type ClientId } from '../../../src/edges/clients/client-ids.ts';
import type * as table from '../../../src/edges/clients/table.ts';
import { type ClientSystem, clientOf } from '../../../src/edges/clients/table.ts';
import { parseSources } from '../../../src/edges/servers/config-sources.ts';
import { discoverServers } from '../../../src/edges/servers/discover.ts';
import { loadSources } from '../../../src/edges/servers/sources.ts';
import { existing, type Home, makeHome, PLATFORMS, placeHere, put, SECRET } from '../../support/client-homes.ts';

vi.mock('../../../src/edges/clients/table.ts', async (importOriginal) => {
  const real = await importOriginal<typeof table>();
  const mapped = (id: ClientId) => {
    const client = real.clientOf(id);
    return { ...client, userFiles: (system: ClientSystem) => client.userFiles(system).map(placeHere) };
  };
  return { ...real, clientOf: mapped };
});

async function discover({ stateDir, system }: Home, sources: string) {
  const { servers, issues } = discoverServers({
    stateDir,
    env: {},
    sources: await loadSources(parseSources(sources), system),
  });
  return { servers, issues: issues.filter(({ level }) => level !== 'debug').map(({ message }) => message) };
}

/** The text of the file with another name and command for the server. */
const renamed = (id: ClientId, name: string): string => existing(id).replaceAll('files', name);

describe.each(CLIENT_IDS.flatMap((id) => PLATFORMS.map((platform) => [id, platform] as const)))(
  '%s on %s',
  (id, platform) => {
    it('is read only if it is named, by client or by path', async () => {
      const home = makeHome(platform);
      const file = home.fileOf(id);
      put(file, existing(id));
      for (const sources of [id, id.toUpperCase(), 'all', `mcps,${file}`]) {
        const { servers, issues } = await discover(home, sources);
        expect(issues).toEqual([]);
        expect([...servers.keys()]).toEqual(['files']);
        expect(servers.get('files')).toMatchObject({
          command: 'files',
          args: ['xxxxx'],
          env: { API_KEY: SECRET },
          file,
        });
      }
      const others = CLIENT_IDS.filter((other) => other !== id).join(',');
      for (const sources of ['mcps', others]) {
        expect([...(await discover(home, sources)).servers.keys()]).toEqual([]);
      }
    });
  },
);

describe.each(PLATFORMS)('all clients on %s', (platform) => {
  it('are read in the order of the list, the state directory first', async () => {
    const home = makeHome(platform);
    put(join(home.stateDir, 'mine.json'), '{"mcpServers": {"files": {"command": "mine"}}}');
    for (const id of CLIENT_IDS) {
      put(home.fileOf(id), existing(id).replace('command": "files', `command": "${id}`));
    }
    const all = await discover(home, 'all');
    expect([...all.servers.keys()]).toEqual(['files']);
    expect(all.servers.get('files')?.command).toBe('mine');
    expect(all.issues.every((message) => message.includes('already defines that name'))).toBe(true);
    expect((await discover(home, 'zed,all')).servers.get('files')?.command).toBe('zed');
  });

  it('each have their own servers, and missing ones are not reported', async () => {
    const home = makeHome(platform);
    const installed: readonly ClientId[] = ['codex', 'cursor', 'goose', 'vscode'];
    installed.forEach((id) => put(home.fileOf(id), renamed(id, `of-${id}`)));
    const { servers, issues } = await discover(home, 'all');
    expect([...servers.keys()].toSorted()).toEqual(installed.map((id) => `of-${id}`));
    expect(issues).toEqual([]);
  });

  it('have project files, which are read only if named by path', async () => {
    const home = makeHome(platform);
    for (const id of CLIENT_IDS) {
      for (const file of clientOf(id).projectFiles ?? []) {
        const path = join(home.path, 'project', file);
        put(path, existing(id));
        expect([...(await discover(home, path)).servers.keys()]).toEqual(['files']);
      }
    }
    expect([...(await discover(home, 'all')).servers.keys()]).toEqual([]);
  });
});

it('reports a folder in the place of a named file as an error', async () => {
  const home = makeHome();
  const path = join(home.path, 'folder.json');
  mkdirSync(path);
  expect((await discover(home, path)).issues).toEqual(['is named in MCP_BRIDGE_CONFIG_SOURCES but is not a file']);
  const { issues } = discoverServers({ stateDir: home.stateDir, env: {}, extraFile: path });
  expect(issues.map(({ message }) => message)).toEqual(['is named in MCP_SERVERS_CONFIG but is not a file']);
});
