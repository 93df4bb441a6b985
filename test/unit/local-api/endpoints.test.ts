/** Where bridges listen: modes, lengths of paths, and what is left of bridges that are gone. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { currentOwner } from '../../../src/core/base/owner.ts';
import { createEndpoint, findEndpoints } from '../../../src/record/local-api/endpoints.ts';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'live-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function listen(socket: string): Promise<Server> {
  const server = createServer();
  onTestFinished(() => void server.close());
  return new Promise((resolve) => {
    server.listen(socket, () => resolve(server));
  });
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('a new endpoint', () => {
  it('is found once it is published, only by the user, and leaves nothing', async () => {
    const stateDir = newFolder();
    const endpoint = await createEndpoint({ stateDir, hasMounts: false });
    await listen(endpoint.socket);
    expect(await findEndpoints(stateDir)).toEqual([]);
    await endpoint.publish();
    expect(await findEndpoints(stateDir)).toEqual([
      { ...currentOwner(), socket: endpoint.socket, id: basename(endpoint.socket, '.sock') },
    ]);
    const folder = join(stateDir, '.live');
    expect([modeOf(folder), ...readdirSync(folder).map((name) => modeOf(join(folder, name)))]).toEqual([
      0o700, 0o600, 0o600,
    ]);
    await endpoint.remove();
    expect(readdirSync(stateDir)).toEqual([]);
  });

  it('closes a folder that others could enter', async () => {
    const stateDir = newFolder();
    mkdirSync(join(stateDir, '.live'));
    chmodSync(join(stateDir, '.live'), 0o755);
    await createEndpoint({ stateDir, hasMounts: false });
    expect(modeOf(join(stateDir, '.live'))).toBe(0o700);
  });

  it('does not follow a link', async () => {
    const stateDir = newFolder();
    symlinkSync(newFolder(), join(stateDir, '.live'));
    await expect(createEndpoint({ stateDir, hasMounts: false })).rejects.toThrow('is a link');
  });

  describe('of a state directory with a long path', () => {
    const long = (): string => join(newFolder(), 'x'.repeat(100));

    it('is in the runtime directory of the user', async () => {
      const runtime = newFolder();
      const { socket } = await createEndpoint({ stateDir: long(), hasMounts: true, env: { XDG_RUNTIME_DIR: runtime } });
      expect(socket.startsWith(join(runtime, 'mcp-bridge-'))).toBe(true);
      expect(modeOf(join(socket, '..'))).toBe(0o700);
      await listen(socket);
    });

    it('is in the temporary directory if there is no other, and no sandbox could see it', async () => {
      const { socket } = await createEndpoint({ stateDir: long(), hasMounts: false, env: {} });
      expect(socket.startsWith(join(tmpdir(), 'mcp-bridge-'))).toBe(true);
      await expect(createEndpoint({ stateDir: long(), hasMounts: true, env: {} })).rejects.toThrow('too long');
    });

    it('is not in a folder that someone else could have put there', async () => {
      const runtime = newFolder();
      symlinkSync(newFolder(), join(runtime, `mcp-bridge-${process.getuid?.() ?? 0}`));
      const given = { stateDir: long(), hasMounts: true, env: { XDG_RUNTIME_DIR: runtime } };
      await expect(createEndpoint(given)).rejects.toThrow('there is no other folder');
    });
  });

  it('is a pipe with a name that no one can guess on Windows', async () => {
    const given = { stateDir: newFolder(), hasMounts: false, platform: 'win32' } as const;
    const { socket } = await createEndpoint(given);
    expect(socket).toMatch(/^\\\\\.\\pipe\\mcp-bridge-[0-9a-f]{32}$/);
  });
});

describe('what bridges have left', () => {
  const GONE = { ...currentOwner(), pid: 2 ** 22 + 1 };

  /** A state directory with such files, the sockets among them real. */
  async function withFiles(files: Readonly<Record<string, unknown>>): Promise<string> {
    const stateDir = newFolder();
    mkdirSync(join(stateDir, '.live'));
    for (const [name, content] of Object.entries(files)) {
      const path = join(stateDir, '.live', name);
      await (name.endsWith('.sock') ? listen(path) : writeFileSync(path, JSON.stringify(content)));
    }
    return stateDir;
  }

  it('is removed when someone looks', async () => {
    const stateDir = await withFiles({ 'aa.sock': '' });
    const socket = join(stateDir, '.live', 'aa.sock');
    writeFileSync(join(stateDir, '.live', 'aa.json'), JSON.stringify({ ...GONE, socket }));
    expect(await findEndpoints(stateDir)).toEqual([]);
    expect(readdirSync(join(stateDir, '.live'))).toEqual([]);
  });

  it('removes nothing that a file only points at', async () => {
    const elsewhere = newFolder();
    const [socket, plain] = [join(elsewhere, 'bb.sock'), join(elsewhere, 'aa.sock')];
    await listen(socket);
    writeFileSync(plain, 'mine');
    const stateDir = await withFiles({ 'aa.json': { ...GONE, socket: plain }, 'cc.json': { ...GONE, socket } });
    expect(await findEndpoints(stateDir)).toEqual([]);
    expect([existsSync(socket), existsSync(plain), readdirSync(join(stateDir, '.live'))]).toEqual([true, true, []]);
  });

  it('on other machines is neither shown nor removed', async () => {
    const stateDir = await withFiles({ 'aa.json': { ...GONE, host: 'elsewhere:1', socket: '/x/aa.sock' } });
    expect(await findEndpoints(stateDir)).toEqual([]);
    expect(readdirSync(join(stateDir, '.live'))).toEqual(['aa.json']);
  });

  it('without a file goes after a minute, because a bridge may be starting', async () => {
    const stateDir = await withFiles({ 'new.sock': '', 'old.sock': '', 'bad.json': 'nothing' });
    const minutesAgo = Date.now() / 1000 - 120;
    utimesSync(join(stateDir, '.live', 'old.sock'), minutesAgo, minutesAgo);
    expect(await findEndpoints(stateDir)).toEqual([]);
    expect(readdirSync(join(stateDir, '.live')).toSorted()).toEqual(['bad.json', 'new.sock']);
  });
});
