/** The paths of the clients' files on three systems, written out so that a change is noticed. */
import { describe, expect, it } from 'vitest';
import { CLIENT_IDS } from '../../../src/edges/clients/client-ids.ts';
import { type ClientSystem, clientOf, startCommand, usualFileOf } from '../../../src/edges/clients/table.ts';

const LINUX: ClientSystem = { platform: 'linux', home: '/home/u', env: {} };
const MAC: ClientSystem = { platform: 'darwin', home: '/Users/u', env: {} };
const WINDOWS: ClientSystem = {
  platform: 'win32',
  home: 'C:\\Users\\u',
  env: { APPDATA: 'C:\\Users\\u\\AppData\\Roaming' },
};

const PLACES = {
  'claude-code': ['~/.claude.json', '~/.claude.json', '~\\.claude.json'],
  'claude-desktop': [
    '~/.config/Claude/claude_desktop_config.json',
    '~/Library/Application Support/Claude/claude_desktop_config.json',
    '~\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
  ],
  cursor: ['~/.cursor/mcp.json', '~/.cursor/mcp.json', '~\\.cursor\\mcp.json'],
  vscode: [
    '~/.config/Code/User/mcp.json',
    '~/Library/Application Support/Code/User/mcp.json',
    '~\\AppData\\Roaming\\Code\\User\\mcp.json',
  ],
  windsurf: [
    '~/.codeium/windsurf/mcp_config.json',
    '~/.codeium/windsurf/mcp_config.json',
    '~\\.codeium\\windsurf\\mcp_config.json',
  ],
  codex: ['~/.codex/config.toml', '~/.codex/config.toml', '~\\.codex\\config.toml'],
  gemini: ['~/.gemini/settings.json', '~/.gemini/settings.json', '~\\.gemini\\settings.json'],
  opencode: [
    '~/.config/opencode/opencode.json',
    '~/.config/opencode/opencode.json',
    '~\\.config\\opencode\\opencode.json',
  ],
  zed: ['~/.config/zed/settings.json', '~/.config/zed/settings.json', '~\\AppData\\Roaming\\Zed\\settings.json'],
  cline: [
    '~/.cline/data/settings/cline_mcp_settings.json',
    '~/.cline/data/settings/cline_mcp_settings.json',
    '~\\.cline\\data\\settings\\cline_mcp_settings.json',
  ],
  goose: [
    '~/.config/goose/config.yaml',
    '~/.config/goose/config.yaml',
    '~\\AppData\\Roaming\\Block\\goose\\config\\config.yaml',
  ],
} satisfies Record<(typeof CLIENT_IDS)[number], readonly [string, string, string]>;

describe('the paths', () => {
  it.each(CLIENT_IDS)('of %s', (id) => {
    const found = [LINUX, MAC, WINDOWS].map((system) => usualFileOf(id, system).replace(system.home, '~'));
    expect(found).toEqual(PLACES[id]);
  });

  it('follow the variables of the clients', () => {
    const first = (id: (typeof CLIENT_IDS)[number], env: Record<string, string>, system = LINUX) =>
      clientOf(id).userFiles({ ...system, env })[0];
    expect(first('claude-code', { CLAUDE_CONFIG_DIR: '/c' })).toBe('/c/.claude.json');
    expect(first('codex', { CODEX_HOME: '/c' })).toBe('/c/config.toml');
    expect(first('cline', { CLINE_DIR: '/c' })).toBe('/c/data/settings/cline_mcp_settings.json');
    expect(first('cline', { CLINE_MCP_SETTINGS_PATH: '/c.json' })).toBe('/c.json');
    expect(first('vscode', { XDG_CONFIG_HOME: '/x' })).toBe('/x/Code/User/mcp.json');
    expect(first('vscode', { XDG_CONFIG_HOME: 'relative' })).toBe('/home/u/.config/Code/User/mcp.json');
    expect(first('zed', { FLATPAK_XDG_CONFIG_HOME: '/f', XDG_CONFIG_HOME: '/x' })).toBe('/f/zed/settings.json');
    expect(first('claude-desktop', { LOCALAPPDATA: 'D:\\Local' }, WINDOWS)).toBe(
      'D:\\Local\\Packages\\Claude_pzs8sxrjxfjjc\\LocalCache\\Roaming\\Claude\\claude_desktop_config.json',
    );
    expect(first('goose', {}, WINDOWS)).toBe('C:\\Users\\u\\AppData\\Roaming\\Block\\goose\\config\\config.yaml');
  });
});

describe('the registered entry', () => {
  const args = ['-y', 'mcp-server-code-execution-mode'];
  const shown = (platform: ClientSystem['platform'], id: (typeof CLIENT_IDS)[number], words = ['npx', ...args]) => {
    const client = clientOf(id);
    return client.entry(startCommand(client, words, platform), 'code');
  };
  it('has the format of the client', () => {
    expect(shown('linux', 'cursor')).toEqual({ command: 'npx', args });
    expect(shown('linux', 'vscode')).toEqual({ type: 'stdio', command: 'npx', args });
    expect(shown('linux', 'opencode')).toEqual({ type: 'local', command: ['npx', ...args], enabled: true });
    expect(shown('linux', 'zed')).toEqual({ command: 'npx', args });
    expect(shown('linux', 'goose')).toMatchObject({ type: 'stdio', name: 'code', cmd: 'npx', args, enabled: true });
  });
  it('uses cmd on Windows if the client does not do so itself', () => {
    expect(shown('win32', 'claude-code')).toEqual({ type: 'stdio', command: 'cmd', args: ['/c', 'npx', ...args] });
    expect(shown('win32', 'vscode')).toEqual({ type: 'stdio', command: 'npx', args });
    const node = ['C:\\Program Files\\nodejs\\node.exe', 'C:\\bridge\\dist\\cli.js'];
    expect(shown('win32', 'cursor', node)).toEqual({ command: node[0], args: [node[1]] });
    const script = shown('win32', 'cursor', ['C:\\tools\\bridge.cmd', 'run']);
    expect(script).toEqual({ command: 'cmd', args: ['/c', 'C:\\tools\\bridge.cmd', 'run'] });
  });
});
