/** The clients that can be installed from npm: their commands and output. */
import type { ClientId } from '../../src/edges/clients/client-ids.ts';

export interface TestedClient {
  readonly id: ClientId;
  /** Exact, so that later runs test the same version. */
  readonly spec: string;
  readonly program: string;
  /** Registers a server under a name, for all projects. */
  readonly add: (name: string, command: readonly string[]) => readonly string[];
  /** Registers one as the client does by default, if its default is the working folder only. */
  readonly addToFolder?: (name: string, command: readonly string[]) => readonly string[];
  readonly list: readonly string[];
  /** Whether listing starts the servers. */
  readonly isStarting: boolean;
  /** What the list shows for a registered server, which has answered if it was started. */
  readonly says: (name: string) => RegExp;
  /** Relative to the home. */
  readonly file: string;
}

export const TESTED_CLIENTS: readonly TestedClient[] = [
  {
    id: 'claude-code',
    spec: '@anthropic-ai/claude-code@2.1.330',
    program: 'claude',
    add: (name, command) => ['mcp', 'add', '--scope', 'user', name, '--', ...command],
    addToFolder: (name, command) => ['mcp', 'add', name, '--', ...command],
    list: ['mcp', 'list'],
    isStarting: true,
    says: (name) => new RegExp(`^${name}: .*Connected`, 'm'),
    file: '.claude.json',
  },
  {
    id: 'codex',
    spec: '@openai/codex@0.169.0',
    program: 'codex',
    add: (name, command) => ['mcp', 'add', name, '--', ...command],
    list: ['mcp', 'list'],
    isStarting: false,
    says: (name) => new RegExp(`^${name} .* enabled`, 'm'),
    file: '.codex/config.toml',
  },
  {
    id: 'gemini',
    spec: '@google/gemini-cli@0.61.0',
    program: 'gemini',
    add: (name, command) => ['mcp', 'add', '--scope', 'user', name, ...command],
    list: ['mcp', 'list'],
    isStarting: true,
    says: (name) => new RegExp(`✓ ${name}: .*Connected`, 'm'),
    file: '.gemini/settings.json',
  },
  {
    id: 'opencode',
    spec: 'opencode-ai@1.18.33',
    program: 'opencode',
    add: (name, command) => ['mcp', 'add', name, '--', ...command],
    list: ['mcp', 'list'],
    isStarting: true,
    says: (name) => new RegExp(`✓ ${name} .*connected`, 'm'),
    file: '.config/opencode/opencode.jsonc',
  },
];

/** Calls the bridge of the entry that `install` wrote into the file of a client with `mcpServers`. */
export const INSPECTOR = { spec: '@modelcontextprotocol/inspector@2.12.0', program: 'mcp-inspector' };

/** Only npm is used over the network, and Gemini CLI starts servers in the folder of the test. */
export const QUIET: Readonly<Record<string, string>> = {
  CI: '1',
  NO_COLOR: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_ERROR_REPORTING: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  GEMINI_CLI_TRUST_WORKSPACE: 'true',
  GEMINI_TELEMETRY_ENABLED: 'false',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
};
