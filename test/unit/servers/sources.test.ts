/** Servers in the files of other clients: which files are read, in which order, and what is used from them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { renderIssue } from '../../../src/core/base/config-issue.ts';
import { CLIENT_IDS } from '../../../src/edges/clients/client-ids.ts';
import { clientOf } from '../../../src/edges/clients/table.ts';
import { parseSources } from '../../../src/edges/servers/config-sources.ts';
import { discoverServers } from '../../../src/edges/servers/discover.ts';
import { loadSources } from '../../../src/edges/servers/sources.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';

let home = '';

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sources-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

function put(path: string, content: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

async function discover(
  text: string,
  more: { readonly extraFile?: string; readonly env?: Record<string, string> } = {},
) {
  const sources = await loadSources(parseSources(text), { platform: 'linux', home, env: {} });
  const found = discoverServers({ stateDir: join(home, 'MCPs'), env: {}, sources, ...more });
  const issues = found.issues.map((issue) => `${issue.level} ${renderIssue(issue).replaceAll(`${home}/`, '')}`);
  return { names: [...found.servers.keys()], server: (name: string) => found.servers.get(name), issues };
}

describe('the setting', () => {
  const kinds = (text: string) => parseSources(text).map((source) => ('id' in source ? source.id : source.kind));
  it('is a list without duplicates', () => {
    expect(kinds('mcps, claude,CODEX,/a/b.json,claude-code')).toEqual([
      'mcps',
      'claude-code',
      'claude-desktop',
      'codex',
      'file',
    ]);
    expect(kinds('all')).toEqual(['mcps', ...CLIENT_IDS]);
  });
  it('defaults to the state directory, and refuses unknown words', () => {
    expect(loadSettings({}).configSources).toEqual([{ kind: 'mcps' }]);
    expect(loadSettings({ HOME: '/h', MCP_BRIDGE_CONFIG_SOURCES: '~/x.json' }).configSources).toEqual([
      { kind: 'file', path: '/h/x.json' },
    ]);
    expect(() => loadSettings({ MCP_BRIDGE_CONFIG_SOURCES: 'mcps,emacs' })).toThrow(
      /MCP_BRIDGE_CONFIG_SOURCES is 'mcps,emacs' \('emacs' is neither a client nor a path with a slash\); allowed: a comma-separated list of mcps/,
    );
  });
});

describe('the formats of the clients', () => {
  it.each([
    ['claude-code', '{"mcpServers": {"s": {"type": "stdio", "command": "run", "args": ["x"], "env": {"A": "1"}}}}'],
    ['vscode', '// mine\n{"servers": {"s": {"command": "run", "args": ["x"], "env": {"A": "1"},},},}'],
    ['codex', '[mcp_servers.s]\ncommand = "run"\nargs = ["x"]\ntool_timeout_sec = 7\n[mcp_servers.s.env]\nA = "1"\n'],
    ['gemini', '{"mcpServers": {"s": {"command": "run", "args": ["x"], "env": {"A": "1"}, "timeout": 7000}}}'],
    ['opencode', '{"mcp": {"s": {"type": "local", "command": ["run", "x"], "environment": {"A": "1"}}}}'],
    ['zed', '{"context_servers": {"s": {"command": {"path": "run", "args": ["x"], "env": {"A": "1"}}}}}'],
    [
      'goose',
      'extensions:\n  s: {type: stdio, cmd: run, args: [x], envs: {A: "1"}, timeout: 7}\n  d: {type: builtin}\n',
    ],
  ] as const)('%s', async (id, text) => {
    const [path = ''] = clientOf(id).userFiles({ platform: 'linux', home: '', env: {} });
    put(path, text);
    const found = await discover(id);
    expect(found.names).toEqual(['s']);
    expect(found.server('s')).toMatchObject({ command: 'run', args: ['x'], env: { A: '1' }, file: join(home, path) });
    expect([undefined, 7000]).toContain(found.server('s')?.timeoutMs);
    expect(found.issues.filter((issue) => !issue.startsWith('debug'))).toEqual([]);
  });

  it.each([
    ['{"mcp": {"servers": {"s": {"command": "run"}}}, "editor": 1}'],
    ['{"mcp.servers": {"s": {"command": "run"}}}'],
    ['{"mcp_servers": {"s": {"command": "run"}}}'],
  ])('also in a file named by path: %s', async (text) => {
    expect((await discover(put('project/settings.json', text))).names).toEqual(['s']);
  });

  it('passes on the variables that Codex lists', async () => {
    put('.codex/config.toml', '[mcp_servers.s]\ncommand = "run"\nenv_vars = ["TOKEN", "NONE"]\n');
    const found = await discover('codex', { env: { TOKEN: 'x' } });
    expect(found.server('s')?.env).toEqual({ TOKEN: 'x', NONE: '' });
  });
});

describe('precedence', () => {
  it('is the order of the list, and equal definitions count once', async () => {
    put('MCPs/a.json', '{"mcpServers": {"both": {"command": "mine"}}}');
    put('.cursor/mcp.json', '{"mcpServers": {"both": {"command": "theirs"}, "same": {"command": "x"}}}');
    put('.codeium/windsurf/mcp_config.json', '{"mcpServers": {"same": {"command": "x"}}}');
    const found = await discover('mcps,cursor,windsurf');
    expect(found.server('both')?.command).toBe('mine');
    expect(found.issues).toEqual([
      `warning .cursor/mcp.json: mcpServers.both was left out, because MCPs/a.json already defines that name; rename one of them`,
      'debug .codeium/windsurf/mcp_config.json: mcpServers.same is the same server as in .cursor/mcp.json',
    ]);
    expect((await discover('cursor,mcps')).server('both')?.command).toBe('theirs');
    const extraFile = put('extra.json', '{"mcpServers": {"both": {"command": "extra"}}}');
    expect((await discover('cursor', { extraFile })).server('both')?.command).toBe('extra');
  });

  it('reads only the state directory by default, and project files only by path', async () => {
    put('.cursor/mcp.json', '{"mcpServers": {"s": {"command": "x"}}}');
    const project = put('project/.mcp.json', '{"mcpServers": {"p": {"command": "x"}}}');
    expect((await discover('mcps')).names).toEqual([]);
    expect((await discover('all')).names).toEqual(['s']);
    expect((await discover(project)).names).toEqual(['p']);
  });
});

describe('an entry that is left out', () => {
  it('does not define its name', async () => {
    put('.cursor/mcp.json', '{"mcpServers": {"__proto__": {"command": "x"}, "constructor": {"command": "y"}}}');
    expect((await discover('cursor')).names).toEqual(['__proto__', 'constructor']);
  });

  it('is reported with its file and path', async () => {
    put('.cursor/mcp.json', '{\n  "mcpServers": {\n    "a": {"command": "x"\n  }\n}');
    put(
      '.config/Code/User/mcp.json',
      '{"servers": {"asks": {"command": "x", "env": {"K": "${input:key}"}}, "bad": {"command": 7}, "code": {"command": "npx", "args": ["-y", "mcp-server-code-execution-mode"]}}}',
    );
    put('.codex/config.toml', 'model = "x"\n');
    const found = await discover(`cursor,vscode,codex,zed,${join(home, 'gone.json')}`);
    expect(found.names).toEqual([]);
    expect(found.issues).toEqual([
      'error gone.json is named in MCP_BRIDGE_CONFIG_SOURCES but does not exist',
      'error .cursor/mcp.json is not JSON: close brace expected (line 5, column 2)',
      'warning .config/Code/User/mcp.json: servers.asks was left out: it contains ${input:key}, which only its client can fill in',
      'error .config/Code/User/mcp.json: servers.bad.command must be a string',
      'debug .config/Code/User/mcp.json: servers.code was skipped, because its arguments start this bridge; MCP_BRIDGE_ALLOW_SELF_SERVER=on allows it',
      'debug .codex/config.toml has no servers under "mcp_servers"',
    ]);
  });
});
