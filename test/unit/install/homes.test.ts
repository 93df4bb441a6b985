/** `install` and `uninstall` with real files, for every client on three operating systems: other content stays, byte for byte. */
import { chmodSync, existsSync, lstatSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { examineClients } from '../../../src/app/install/doctor-check.ts';
import { messageOf } from '../../../src/core/base/errors.ts';
import { CLIENT_IDS, type ClientId } from '../../../src/edges/clients/client-ids.ts';
import type * as table from '../../../src/edges/clients/table.ts';
import { type ClientSystem, clientOf } from '../../../src/edges/clients/table.ts';
import { discoverServers } from '../../../src/edges/servers/discover.ts';
import { loadSources } from '../../../src/edges/servers/sources.ts';
import { existing, type Home, makeHome, PLATFORMS, placeHere, put, read, SECRET } from '../../support/client-homes.ts';

vi.mock('../../../src/edges/clients/table.ts', async (importOriginal) => {
  const real = await importOriginal<typeof table>();
  const mapped = (id: ClientId) => {
    const client = real.clientOf(id);
    return { ...client, userFiles: (system: ClientSystem) => client.userFiles(system).map(placeHere) };
  };
  return {
    ...real,
    clientOf: mapped,
    usualFileOf: (id: ClientId, system: ClientSystem) => placeHere(real.usualFileOf(id, system)),
  };
});

const everywhere = CLIENT_IDS.flatMap((id) => PLATFORMS.map((platform) => [id, platform] as const));

/** The servers that the bridge reads from the client's own file. */
async function serversOf(id: ClientId, { stateDir, system }: Home): Promise<string[]> {
  const sources = await loadSources([{ kind: 'client', id }], system);
  return [...discoverServers({ stateDir, sources, env: {} }).servers.keys()];
}

/** Whether `lines` contains all of `part`, in that order. */
function isPartOf(part: readonly string[], lines: readonly string[]): boolean {
  let next = 0;
  for (const line of lines) {
    next += line === part[next] ? 1 : 0;
  }
  return next === part.length;
}

/** Variants of files as they occur, each as a change of a tidy one. */
const VARIANTS: Readonly<Record<string, (text: string, id: ClientId) => string>> = {
  'as it is usually': (text) => text,
  'with the line ends of Windows': (text) => text.replaceAll('\n', '\r\n'),
  'with a byte order mark': (text) => `\uFEFF${text}`,
  'without a line end at its end': (text) => text.trimEnd(),
  'with odd indentation': (text, id) =>
    clientOf(id).format === 'yaml' ? text.replaceAll(/^( +)/gm, '$1$1$1') : text.replaceAll(/^(?=\S)/gm, '   '),
  'with nothing in it': () => '',
  'with line ends alone': () => '\n\n',
  'without servers': (_text, id) =>
    ({ json: '{}', toml: 'model = "x"\n', yaml: 'GOOSE_MODEL: x\n' })[clientOf(id).format],
};

describe.each(everywhere)('%s on %s', (id, platform) => {
  it.each(Object.entries(VARIANTS))('is added to a file %s, and removed without a trace', async (_variant, change) => {
    const home = makeHome(platform);
    const path = home.fileOf(id);
    const before = put(path, change(existing(id), id), 0o640);
    const shown = await home.run(id, { isDryRun: true });
    expect(read(path)).toBe(before);
    expect(await home.run(id)).toContain(shown.split('\n')[1]);
    const after = read(path);
    expect(after).toContain('mcp-server-code-execution-mode');
    expect(after.split('\n').map((line) => line.replace(/,?\r?$/, ''))).toSatisfy((lines: string[]) => {
      return (
        /^(?:\s*|\{\})$/.test(before) ||
        isPartOf(
          before.split('\n').map((line) => line.replace(/,?\r?$/, '')),
          lines,
        )
      );
    });
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(home.backupsOf(path).map((name) => read(join(dirname(path), name)))).toEqual([before]);

    expect(await home.run(id)).toContain('nothing to change');
    expect(read(path)).toBe(after);
    expect(home.backupsOf(path)).toHaveLength(1);
    expect(await examineClients(home)).toEqual([
      {
        section: 'clients',
        level: 'ok',
        text: `${clientOf(id).title}: registered in ${path}; npx contacts the registry at every start, and waits more than a minute without a network`,
        hint: `For a start that needs no network, run: mcp-server-code-execution-mode install ${id} --global`,
      },
    ]);
    expect(await serversOf(id, home)).toEqual(before.includes('files') ? ['files'] : []);

    await home.run(id, { command: 'uninstall' });
    expect(read(path)).toBe(before);
    expect(await home.run(id, { command: 'uninstall' })).toContain('is not registered');
  });

  it('creates a missing file and folder, readable only by the user, and removes the file again', async () => {
    const home = makeHome(platform);
    const path = home.fileOf(id);
    await home.run(id);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await home.run(id, { command: 'uninstall' });
    expect(existsSync(path)).toBe(false);
    expect(home.backupsOf(path)).toHaveLength(1);
  });

  const withServers = Object.entries(VARIANTS).filter(([, change]) => change(existing(id), id).includes('files'));
  it.each(withServers)('moves the servers out of a file %s, and back', async (_variant, change) => {
    const home = makeHome(platform);
    const path = home.fileOf(id);
    const before = put(path, change(existing(id), id));
    const out = await home.run(id, { isImport: true });
    expect(out).toContain('***');
    expect(out).not.toContain(SECRET);
    expect(read(path)).not.toContain(SECRET);
    const store = join(home.stateDir, `${id}.json`);
    expect(JSON.parse(read(store))).toMatchObject({
      mcpServers: { files: { command: 'files', args: ['xxxxx'], env: { API_KEY: SECRET } } },
    });
    expect(statSync(store).mode & 0o777).toBe(0o600);
    expect(await serversOf(id, home)).toEqual([]);
    expect(await home.run(id, { isImport: true })).toContain('nothing to change');
    await home.run(id, { command: 'uninstall' });
    expect(read(path)).toBe(before);
    expect(existsSync(store)).toBe(false);
  });

  it('follows the symbolic link of a dotfiles manager, and keeps it', async () => {
    const home = makeHome(platform);
    const path = home.fileOf(id);
    const real = join(home.path, 'dotfiles', 'file');
    const before = put(real, existing(id));
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(real, path);
    await home.run(id);
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(read(real)).toContain('mcp-server-code-execution-mode');
    await home.run(id, { command: 'uninstall' });
    expect(read(real)).toBe(before);
  });

  it('does not touch a read-only file, or one with other content', async () => {
    const home = makeHome(platform);
    const path = home.fileOf(id);
    put(path, existing(id), 0o444);
    expect(await home.run(id).catch(messageOf)).toContain('is read-only');
    expect(statSync(path).mode & 0o777).toBe(0o444);
    // Only root could write to it now.
    chmodSync(path, 0o644);
    const [key] = clientOf(id).keys;
    for (const value of ['[1]', '"text"', '7']) {
      const text = { json: `{"${key}": ${value}}`, toml: `${key} = ${value}\n`, yaml: `${key}: ${value}\n` };
      const before = put(path, text[clientOf(id).format], 0o644);
      expect(await home.run(id).catch(messageOf)).toContain(`"${key}" is not an object of servers`);
      expect(read(path)).toBe(before);
    }
    expect(home.backupsOf(path)).toEqual([]);
  });

  it('does not touch a file that is nested too deeply', async () => {
    const home = makeHome(platform);
    const path = home.fileOf(id);
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const text = { json: `{"a": ${deep}}`, toml: `a = ${deep}\n`, yaml: `a: ${deep}\n` };
    const before = put(path, text[clientOf(id).format]);
    expect(await home.run(id).catch(messageOf)).toMatch(/ is nested too deeply|is not YAML: Maximum call stack/);
    expect(read(path)).toBe(before);
  });
});

describe.each(CLIENT_IDS.filter((id) => clientOf(id).projectFiles !== undefined))('%s in a project', (id) => {
  it('is registered there, and removed without a trace', async () => {
    const home = makeHome();
    const path = join(home.path, 'project', clientOf(id).projectFiles?.[0] ?? '');
    await home.run(id, { scope: 'project' });
    expect(read(path)).toContain('mcp-server-code-execution-mode');
    expect(existsSync(home.fileOf(id))).toBe(false);
    await home.run(id, { scope: 'project', command: 'uninstall' });
    expect(existsSync(path)).toBe(false);
    const before = put(path, existing(id));
    await home.run(id, { scope: 'project', isImport: true });
    await home.run(id, { scope: 'project', command: 'uninstall' });
    expect(read(path)).toBe(before);
  });
});

describe('a client with several possible files', () => {
  it('is registered in the package folder from which Claude Desktop for Windows reads', async () => {
    const home = makeHome('win32');
    const [inPackage = '', usual = ''] = clientOf('claude-desktop').userFiles(home.system);
    mkdirSync(dirname(inPackage), { recursive: true });
    await home.run('claude-desktop');
    expect([existsSync(inPackage), existsSync(usual)]).toEqual([true, false]);
    put(usual, '{}');
    expect(await home.run('claude-desktop')).toContain(`already registered in ${inPackage}`);
  });

  it('is registered in the older file of Cline if only its folder exists', async () => {
    const home = makeHome();
    const [shared = '', older = ''] = clientOf('cline').userFiles(home.system);
    mkdirSync(dirname(older), { recursive: true });
    await home.run('cline');
    expect([existsSync(shared), existsSync(older)]).toEqual([false, true]);
  });
});

describe('a file of 10 MB', () => {
  it('is accepted as JSON, because clients keep histories there, and refused in slower formats', async () => {
    const home = makeHome();
    const history = JSON.stringify({
      history: Array.from({ length: 10_000 }, (_, index) => `${'x'.repeat(990)} ${index}`),
    });
    const before = put(home.fileOf('claude-code'), history);
    await home.run('claude-code');
    await home.run('claude-code', { command: 'uninstall' });
    expect(read(home.fileOf('claude-code'))).toBe(before);
    for (const id of ['codex', 'goose'] as const) {
      put(home.fileOf(id), `# ${'x'.repeat(10_000_000)}\n`);
      expect(await home.run(id).catch(messageOf)).toContain('has 10000003 characters; the limit is 1048576');
    }
  }, 60_000);
});
