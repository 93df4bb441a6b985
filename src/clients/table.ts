/**
 * The MCP clients whose configuration files are known: where each keeps them on each system, in which format, under
 * which key, and what an entry looks like. The one place that knows such facts; documentation is generated from it.
 * Pure: a system is data, so the paths of all three are tested on any of them.
 */
import { posix, win32 } from 'node:path';

/** What the places depend on. */
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
  /** Keys from the root of the file to the object of servers. */
  readonly keys: readonly string[];
  /** Key from the root to settings by folder, which hold further servers at `keys`: each is used in that folder alone. */
  readonly foldersKey?: string;
  /** The file for all projects: the first that exists is read and changed. */
  readonly userFiles: (system: ClientSystem) => readonly string[];
  /** Which of them is made when there is neither a file nor a folder of the client; the first when left out. */
  readonly usualFile?: (system: ClientSystem) => string;
  /** The file for one project, from its folder, with slashes; undefined when the client has none or none is known. */
  readonly projectFiles?: readonly string[];
  /** An entry of this client that starts the bridge. */
  readonly entry: (start: StartCommand, name: string) => Readonly<Record<string, unknown>>;
  /** Whether a script on Windows, such as `npx`, has to be started through `cmd /c`. */
  readonly needsCmd: boolean;
  /** Unit of a bare number in `timeout`; what is no timeout of one call is left out. */
  readonly timeoutUnit?: 's' | 'ms';
  /** What a user does to apply a change. */
  readonly afterwards: string;
  /** What the client asks before it starts a server of the file for all projects, or of that of one project. */
  readonly trust?: { readonly user?: string; readonly project?: string };
  /** Its programs on `PATH`; with a folder of its files or an app, they tell whether the client is on this machine. */
  readonly programs: readonly string[];
  /** Its app on macOS. */
  readonly macApp?: string;
  /** Where the facts are from. */
  readonly source: string;
  /** The version that `npm run test:clients` runs on Linux. */
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
    seenIn: '2.1.330, which also connected',
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
    unverified: 'the place on Linux, for which there is no official build',
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
    unverified: 'profiles other than the default one, which have folders of their own',
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
    // Also servers for all projects: seen in 0.61.0, where `security.folderTrust.enabled` is true unless it is set.
    trust: {
      user: 'Gemini CLI starts no MCP server in a folder that you do not trust: start `gemini` there and choose "Trust folder"',
      project:
        'Gemini CLI starts no MCP server in a folder that you do not trust: start `gemini` here and choose "Trust folder"',
    },
    programs: ['gemini'],
    source: 'https://geminicli.com/docs/tools/mcp-server',
    seenIn: '0.61.0, which also connected',
  },
  opencode: {
    title: 'OpenCode',
    format: 'json',
    keys: ['mcp'],
    // Also on macOS and Windows: it follows the XDG folders everywhere.
    userFiles: (system) => ['opencode.json', 'opencode.jsonc'].map((name) => inXdg(system, 'opencode', name)),
    projectFiles: ['opencode.json', 'opencode.jsonc'],
    entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
    needsCmd: false,
    timeoutUnit: 'ms',
    afterwards: 'start OpenCode again',
    programs: ['opencode'],
    source: 'https://opencode.ai/docs/mcp-servers',
    seenIn: '1.18.33, which also connected',
    unverified: 'the place on Windows',
  },
  zed: {
    title: 'Zed',
    format: 'json',
    keys: ['context_servers'],
    userFiles: (system) => [zedSettings(system)],
    projectFiles: ['.zed/settings.json'],
    // Without `"source": "custom"`, which Zed itself takes out of its settings since November 2025.
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
      'from which version on the extension reads the shared file; its older one is used when only that exists',
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
    needsCmd: true,
    timeoutUnit: 's',
    afterwards: 'start a new session',
    programs: ['goose'],
    macApp: 'Goose.app',
    source: 'https://block.github.io/goose/docs/guides/config-files',
  },
} as const satisfies Record<string, ClientDefinition>;

export type ClientId = keyof typeof CLIENTS;
export const CLIENT_IDS = Object.keys(CLIENTS) as readonly ClientId[];

/** Facts of one client. */
export function clientOf(id: ClientId): ClientDefinition {
  return CLIENTS[id];
}

/** The file of a client that has neither a file nor a folder yet; also the one to tell people of. */
export function usualFileOf(id: ClientId, system: ClientSystem): string {
  const client = clientOf(id);
  return client.usualFile?.(system) ?? client.userFiles(system)[0] ?? '';
}

/** What a client of this system registers to start `words`: scripts of Windows, such as `npx`, through `cmd` where the client needs that. */
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

/** The app for Windows is an MSIX package: what it reads in `%APPDATA%` is kept in a folder of the package. */
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

/** Where applications of the desktop keep their settings. */
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
