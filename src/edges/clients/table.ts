/**
 * The supported MCP clients: where each keeps its configuration on each system, in which format, under which key, and what an
 * entry looks like. All such facts are in this table, and documentation is generated from it. Pure: the system is passed in, so
 * the paths of all three can be tested on any of them.
 */
import { posix, win32 } from 'node:path';
import type { ClientId } from './client-ids.ts';

/** What the paths depend on. */
export interface ClientSystem {
  readonly platform: 'linux' | 'darwin' | 'win32';
  /** Absolute. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type FileFormatName = 'json' | 'toml' | 'yaml';

/** Program and arguments that start the bridge. */
export interface StartCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export interface ClientDefinition {
  readonly title: string;
  readonly format: FileFormatName;
  /** The keys from the root of the file to the object of servers. */
  readonly keys: readonly string[];
  /** The key from the root to settings by folder. Each may have further servers at `keys`, used only in that folder. */
  readonly foldersKey?: string;
  /** The file for all projects. The first one that exists is read and changed. */
  readonly userFiles: (system: ClientSystem) => readonly string[];
  /** Which of them to create if the client has neither a file nor a folder. Default: the first. */
  readonly usualFile?: (system: ClientSystem) => string;
  /** The file for one project, relative to its folder, with slashes; undefined if the client has none or it is not known. */
  readonly projectFiles?: readonly string[];
  /** An entry that starts the bridge. */
  readonly entry: (start: StartCommand, name: string) => Readonly<Record<string, unknown>>;
  /** The key of an entry's variables. Default: `env`. */
  readonly variablesKey?: string;
  /** Whether the client must start scripts on Windows, such as `npx`, through `cmd /c`. */
  readonly needsCmd: boolean;
  /** The unit of a plain number in `timeout`; left out if it is not the time limit of one call. */
  readonly timeoutUnit?: 's' | 'ms';
  /** What the user must do to apply a change. */
  readonly afterwards: string;
  /** What the client asks before it starts a server from the file for all projects, or for one project. */
  readonly trust?: { readonly user?: string; readonly project?: string };
  /** Its programs on `PATH`. Like a folder of its files or its app, they show that the client is on this machine. */
  readonly programs: readonly string[];
  /** Its app on macOS. */
  readonly macApp?: string;
  /** The source of these facts. */
  readonly source: string;
  /** The version that `npm run lab -- clients` tests on Linux. */
  readonly seenIn?: string;
  /** What could not be checked. */
  readonly unverified?: string;
}

const plainEntry = ({ command, args }: StartCommand) => ({ command, args });
const typedEntry = ({ command, args }: StartCommand) => ({ type: 'stdio', command, args });

export const CLIENTS = {
  'claude-code': {
    title: 'Claude Code',
    format: 'json',
    keys: ['mcpServers'],
    foldersKey: 'projects',
    userFiles: (system) => [inFolder(system, system.env['CLAUDE_CONFIG_DIR'] || system.home, '.claude.json')],
    projectFiles: ['.mcp.json'],
    entry: typedEntry,
    needsCmd: true,
    afterwards: 'start a new session; `/mcp` shows it',
    trust: {
      project: 'Claude Code asks you once, when you start it in this folder, whether to use the servers of .mcp.json',
    },
    programs: ['claude'],
    source: 'https://code.claude.com/docs/en/mcp',
    seenIn: '2.1.330, including a connection',
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    format: 'json',
    keys: ['mcpServers'],
    userFiles: claudeDesktopFiles,
    usualFile: (system) => inConfig(system, 'Claude', 'claude_desktop_config.json'),
    entry: plainEntry,
    needsCmd: false,
    afterwards: 'quit the app and start it again',
    programs: ['claude-desktop'],
    macApp: 'Claude.app',
    source:
      'https://modelcontextprotocol.io/docs/develop/connect-local-servers, and https://github.com/anthropics/claude-code/issues/26073 for the package of Windows',
    unverified: 'the path on Linux, for which there is no official build',
  },
  cursor: {
    title: 'Cursor',
    format: 'json',
    keys: ['mcpServers'],
    userFiles: (system) => [inFolder(system, system.home, '.cursor', 'mcp.json')],
    projectFiles: ['.cursor/mcp.json'],
    entry: plainEntry,
    needsCmd: true,
    afterwards: 'restart Cursor',
    programs: ['cursor'],
    macApp: 'Cursor.app',
    source: 'https://cursor.com/docs/context/mcp',
  },
  vscode: {
    title: 'VS Code',
    format: 'json',
    keys: ['servers'],
    userFiles: (system) => [inConfig(system, 'Code', 'User', 'mcp.json')],
    projectFiles: ['.vscode/mcp.json'],
    entry: typedEntry,
    needsCmd: false,
    afterwards: 'start it with "MCP: List Servers"',
    trust: {
      user: 'VS Code asks you to trust the server when it first starts',
      project: 'VS Code asks you to trust the server when it first starts; the folder must be trusted too',
    },
    programs: ['code'],
    macApp: 'Visual Studio Code.app',
    source: 'https://code.visualstudio.com/docs/copilot/customization/mcp-servers',
    unverified: 'profiles other than the default one, which have their own folders',
  },
  windsurf: {
    title: 'Windsurf',
    format: 'json',
    keys: ['mcpServers'],
    userFiles: (system) => [inFolder(system, system.home, '.codeium', 'windsurf', 'mcp_config.json')],
    entry: plainEntry,
    needsCmd: true,
    afterwards: 'press refresh in the MCP panel of Cascade',
    programs: ['windsurf'],
    macApp: 'Windsurf.app',
    source: 'https://docs.windsurf.com/windsurf/cascade/mcp',
  },
  codex: {
    title: 'Codex',
    format: 'toml',
    keys: ['mcp_servers'],
    userFiles: (system) => [
      inFolder(system, system.env['CODEX_HOME'] || inFolder(system, system.home, '.codex'), 'config.toml'),
    ],
    projectFiles: ['.codex/config.toml'],
    entry: plainEntry,
    needsCmd: true,
    afterwards: 'start Codex again',
    trust: {
      project: 'Codex reads this file only in a folder that you trust: start `codex` there and choose to trust it',
    },
    programs: ['codex'],
    source: 'https://developers.openai.com/codex/mcp',
    seenIn: '0.169.0',
  },
  gemini: {
    title: 'Gemini CLI',
    format: 'json',
    keys: ['mcpServers'],
    userFiles: (system) => [inFolder(system, system.home, '.gemini', 'settings.json')],
    projectFiles: ['.gemini/settings.json'],
    entry: plainEntry,
    needsCmd: false,
    timeoutUnit: 'ms',
    afterwards: 'start Gemini CLI again; `/mcp` shows it',
    // Applies to servers for all projects too: seen in 0.61.0, where `security.folderTrust.enabled` is true by default.
    trust: {
      user: 'Gemini CLI starts no MCP server in a folder that you do not trust: start `gemini` there and choose "Trust folder"',
      project:
        'Gemini CLI starts no MCP server in a folder that you do not trust: start `gemini` here and choose "Trust folder"',
    },
    programs: ['gemini'],
    source: 'https://geminicli.com/docs/tools/mcp-server',
    seenIn: '0.61.0, including a connection',
  },
  opencode: {
    title: 'OpenCode',
    format: 'json',
    keys: ['mcp'],
    // It uses the XDG folders on every system, including macOS and Windows.
    userFiles: (system) => ['opencode.json', 'opencode.jsonc'].map((name) => inXdg(system, 'opencode', name)),
    projectFiles: ['opencode.json', 'opencode.jsonc'],
    entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
    variablesKey: 'environment',
    needsCmd: false,
    timeoutUnit: 'ms',
    afterwards: 'start OpenCode again',
    programs: ['opencode'],
    source: 'https://opencode.ai/docs/mcp-servers',
    seenIn: '1.18.33, including a connection',
    unverified: 'the path on Windows',
  },
  zed: {
    title: 'Zed',
    format: 'json',
    keys: ['context_servers'],
    userFiles: (system) => [zedSettings(system)],
    projectFiles: ['.zed/settings.json'],
    // Without `"source": "custom"`, which Zed itself has been removing from its settings since November 2025.
    entry: plainEntry,
    needsCmd: true,
    timeoutUnit: 's',
    afterwards: 'nothing; Zed reads it at once',
    trust: { project: 'Zed reads this file only in a project that you trust' },
    programs: ['zed', 'zeditor'],
    macApp: 'Zed.app',
    source:
      'https://zed.dev/docs/ai/mcp, and `config_dir`, `ProjectSettingsContent` and the migrations in the source of Zed',
  },
  cline: {
    title: 'Cline',
    format: 'json',
    keys: ['mcpServers'],
    userFiles: clineFiles,
    entry: plainEntry,
    needsCmd: false,
    timeoutUnit: 's',
    afterwards: 'nothing; Cline reads it at once',
    programs: ['cline'],
    source: 'https://docs.cline.bot/getting-started/config',
    unverified:
      'which version of the extension began to read the shared file; the older file is used if only that exists',
  },
  goose: {
    title: 'Goose',
    format: 'yaml',
    keys: ['extensions'],
    userFiles: (system) => [
      system.platform === 'win32'
        ? inConfig(system, 'Block', 'goose', 'config', 'config.yaml')
        : inXdg(system, 'goose', 'config.yaml'),
    ],
    entry: ({ command, args }, name) => ({
      enabled: true,
      type: 'stdio',
      name,
      description: 'Runs Python that calls MCP servers',
      cmd: command,
      args,
      envs: {},
      timeout: 300,
    }),
    variablesKey: 'envs',
    needsCmd: true,
    timeoutUnit: 's',
    afterwards: 'start a new session',
    programs: ['goose'],
    macApp: 'Goose.app',
    source: 'https://block.github.io/goose/docs/guides/config-files',
  },
} as const satisfies Record<ClientId, ClientDefinition>;

/** The definition of a client. */
export function clientOf(id: ClientId): ClientDefinition {
  return CLIENTS[id];
}

/** The file to create if the client has neither a file nor a folder yet, and the one to show to people. */
export function usualFileOf(id: ClientId, system: ClientSystem): string {
  const client = clientOf(id);
  return client.usualFile?.(system) ?? client.userFiles(system)[0] ?? '';
}

/** The command that starts `words`, for a client's entry. On Windows, scripts such as `npx` go through `cmd` if the client needs it. */
export function startCommand(
  client: ClientDefinition,
  words: readonly string[],
  platform: ClientSystem['platform'],
): StartCommand {
  const [command = '', ...args] = words;
  const isScript = /(?:^|[\\/])(?:npx|npm|pnpm|pnpx|yarn|bunx)$|\.(?:cmd|bat)$/i.test(command);
  return platform === 'win32' && client.needsCmd && isScript
    ? { command: 'cmd', args: ['/c', ...words] }
    : { command, args };
}

/** The app for Windows is an MSIX package, so its `%APPDATA%` is redirected to a folder of the package. */
function claudeDesktopFiles(system: ClientSystem): string[] {
  const name = 'claude_desktop_config.json';
  const usual = inConfig(system, 'Claude', name);
  if (system.platform !== 'win32') {
    return [usual];
  }
  const local = system.env['LOCALAPPDATA'] || inFolder(system, system.home, 'AppData', 'Local');
  const inPackage = ['Packages', 'Claude_pzs8sxrjxfjjc', 'LocalCache', 'Roaming', 'Claude'];
  return [inFolder(system, local, ...inPackage, name), usual];
}

function zedSettings(system: ClientSystem): string {
  const { platform, env } = system;
  if (platform === 'win32') {
    return inConfig(system, 'Zed', 'settings.json');
  }
  const flatpak = platform === 'linux' ? env['FLATPAK_XDG_CONFIG_HOME'] : undefined;
  if (flatpak) {
    return inFolder(system, flatpak, 'zed', 'settings.json');
  }
  return platform === 'linux'
    ? inXdg(system, 'zed', 'settings.json')
    : inFolder(system, system.home, '.config', 'zed', 'settings.json');
}

function clineFiles(system: ClientSystem): string[] {
  const { env, home } = system;
  const name = 'cline_mcp_settings.json';
  const folder = env['CLINE_DIR'] || inFolder(system, home, '.cline');
  const data = env['CLINE_DATA_DIR'] || inFolder(system, folder, 'data');
  return [
    env['CLINE_MCP_SETTINGS_PATH'] || inFolder(system, data, 'settings', name),
    inConfig(system, 'Code', 'User', 'globalStorage', 'saoudrizwan.claude-dev', 'settings', name),
  ];
}

/** Where desktop apps keep their settings. */
function inConfig(system: ClientSystem, ...parts: string[]): string {
  const { platform, home, env } = system;
  if (platform === 'win32') {
    return inFolder(system, env['APPDATA'] || inFolder(system, home, 'AppData', 'Roaming'), ...parts);
  }
  return platform === 'darwin'
    ? inFolder(system, home, 'Library', 'Application Support', ...parts)
    : inXdg(system, ...parts);
}

/** Where programs that follow the XDG rules keep their settings; a relative variable counts as not set. */
function inXdg(system: ClientSystem, ...parts: string[]): string {
  const named = system.env['XDG_CONFIG_HOME'] ?? '';
  const folder = pathOf(system).isAbsolute(named) ? named : inFolder(system, system.home, '.config');
  return inFolder(system, folder, ...parts);
}

function inFolder(system: ClientSystem, folder: string, ...parts: string[]): string {
  return pathOf(system).join(folder, ...parts);
}

function pathOf({ platform }: ClientSystem): typeof posix {
  return platform === 'win32' ? win32 : posix;
}
