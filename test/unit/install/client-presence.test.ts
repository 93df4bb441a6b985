import { describe, expect, it } from 'vitest';
import { isClientHere } from '../../../src/app/install/client-presence.ts';
import { CLIENT_IDS, type ClientId } from '../../../src/edges/clients/client-ids.ts';
import { type ClientSystem, clientOf } from '../../../src/edges/clients/table.ts';

const LINUX: ClientSystem = { platform: 'linux', home: '/home/u', env: { PATH: '/usr/bin:/opt/bin' } };
const MAC: ClientSystem = { platform: 'darwin', home: '/Users/u', env: { PATH: '/usr/bin' } };
const WINDOWS: ClientSystem = {
  platform: 'win32',
  home: 'C:\\Users\\u',
  env: { Path: 'C:\\Windows;C:\\bin', APPDATA: 'C:\\Users\\u\\AppData\\Roaming' },
};

const isHere = (id: ClientId, system: ClientSystem, path: string) =>
  isClientHere(clientOf(id), system, (wanted) => wanted === path);

describe('a client is installed', () => {
  it.each<[string, ClientId, ClientSystem, string]>([
    ['its folder', 'cursor', LINUX, '/home/u/.cursor'],
    ['its file directly in the home folder', 'claude-code', LINUX, '/home/u/.claude.json'],
    ['its program', 'zed', LINUX, '/opt/bin/zeditor'],
    ['its app', 'cursor', MAC, '/Applications/Cursor.app'],
    ['its app in the home folder', 'windsurf', MAC, '/Users/u/Applications/Windsurf.app'],
    ['its folder on Windows', 'vscode', WINDOWS, 'C:\\Users\\u\\AppData\\Roaming\\Code\\User'],
    ['its program on Windows, with another case of PATH', 'gemini', WINDOWS, 'C:\\bin\\gemini.cmd'],
  ])('when there is %s', (_what, id, system, path) => {
    expect(isHere(id, system, path)).toBe(true);
  });

  it.each(CLIENT_IDS)('but not just because the home folder exists: %s', (id) => {
    for (const system of [LINUX, MAC, WINDOWS]) {
      expect(isHere(id, system, system.home)).toBe(false);
    }
  });
});
