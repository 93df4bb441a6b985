/** The MCP servers of the evaluation. Those that are no development dependencies are installed from npm, in exact versions. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable } from '../../src/edges/engines/executable.ts';
import { installedProgram, installPackages } from '../../test/support/npm-packages.ts';
import type { ServerEntry } from '../comparison/connect.ts';
import { programOf } from '../demo/workspace.ts';

const GIT = '@cyanheads/git-mcp-server@2.15.3';
const DATABASE = '@bytebase/dbhub@1.4.0';
const WEB = '@mcp-get-community/server-curl@0.1.0';
/** The database server needs `node:sqlite`, which Node has had since 22.13. */
const NODE = 'node@24.21.0';
const FIRST_WITH_SQLITE = { major: 22, minor: 13 };

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const BROWSER_PATHS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

export interface Programs {
  /** A Node with `node:sqlite`. */
  readonly node: string;
  readonly git: string;
  readonly database: string;
  readonly web: string;
  /** A Chromium or Chrome of this machine, if it has one. */
  readonly browser: string | undefined;
}

/** Folders and files that the servers work on. */
export interface ServedPaths {
  /** What the filesystem server shows. */
  readonly files: string;
  readonly databaseFile: string;
  readonly graphFile: string;
  /** For whatever a server writes about itself. */
  readonly scratch: string;
}

/** Installs what is missing. `browser` is the path of one, or `none`; by default one is looked for. */
export function findPrograms(browser?: string): Programs {
  const folder = installPackages([GIT, DATABASE, WEB], { flags: ['--ignore-scripts', '--omit=optional'] });
  return {
    node: findNode(),
    git: installedProgram(folder, GIT),
    database: installedProgram(folder, DATABASE),
    web: installedProgram(folder, WEB),
    browser: browser === undefined ? findBrowser() : browser === 'none' ? undefined : browser,
  };
}

function findNode(): string {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const { major: first, minor: least } = FIRST_WITH_SQLITE;
  return major > first || (major === first && minor >= least)
    ? process.execPath
    : installedProgram(installPackages([NODE]), NODE);
}

/** A Chromium or Chrome of this machine. */
export function findBrowser(): string | undefined {
  return (
    BROWSERS.map((name) => findExecutable(name, process.env)).find((path) => path !== undefined) ??
    BROWSER_PATHS.find((path) => existsSync(path))
  );
}

/** The servers as a user would configure them. */
export function serversOf(
  programs: Programs,
  { files, databaseFile, graphFile, scratch }: ServedPaths,
): Readonly<Record<string, ServerEntry>> {
  const node = process.execPath;
  const database = `sqlite:///${databaseFile.replaceAll('\\', '/').replace(/^\//, '')}`;
  return {
    filesystem: { command: node, args: [programOf('server-filesystem'), '.'], cwd: files },
    memory: { command: node, args: [programOf('server-memory')], env: { MEMORY_FILE_PATH: graphFile } },
    database: {
      command: programs.node,
      args: [programs.database, '--transport', 'stdio', '--dsn', database],
      cwd: scratch,
    },
    git: {
      command: node,
      args: [programs.git],
      cwd: scratch,
      env: { HOME: scratch, GIT_SIGN_COMMITS: 'false', MCP_LOG_LEVEL: 'error' },
    },
    ...(programs.browser === undefined
      ? { web: { command: node, args: [programs.web] } }
      : { browser: { command: node, args: browserArguments(programs.browser), cwd: scratch } }),
  };
}

function browserArguments(browser: string): string[] {
  const program = join(import.meta.dirname, '../../node_modules/@playwright/mcp/cli.js');
  // Chromium refuses to run as root with its own sandbox.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return [program, '--headless', '--isolated', '--executable-path', browser, ...sandbox];
}
