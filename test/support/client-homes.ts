/**
 * Home directories of three operating systems as folders on this machine, to run `install` in. Use it with a mock of the table
 * of clients that passes each place through `placeHere`, which maps a Windows path to a path below the folder that represents
 * the account.
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { InstallCommand, InstallLine } from '../../src/app/install/command.ts';
import { type InstallOptions, install } from '../../src/app/install/run.ts';
import type { ClientId } from '../../src/edges/clients/client-ids.ts';
import type { ClientSystem } from '../../src/edges/clients/table.ts';
import { clientOf } from '../../src/edges/clients/table.ts';

export const PLATFORMS = ['linux', 'darwin', 'win32'] as const;
export type Platform = (typeof PLATFORMS)[number];
export const SECRET = 'sk-0123456789abcdef';
const ACCOUNT = 'C:\\Users\\u';

let home = '';

/** Where a path of a home is on this machine. */
export function placeHere(path: string): string {
  return path.startsWith(ACCOUNT) ? join(home, path.slice(ACCOUNT.length).replaceAll('\\', '/')) : path;
}

export interface InstallCall
  extends Partial<Omit<InstallLine, 'clients' | 'command'>>,
    Pick<InstallOptions, 'person' | 'start'> {
  readonly command?: InstallCommand['command'];
}

const NPX = ['npx', '-y', 'mcp-server-code-execution-mode'];

export interface Home {
  readonly path: string;
  readonly stateDir: string;
  readonly system: ClientSystem;
  /** The first configuration file of a client. */
  fileOf(id: ClientId): string;
  /** Runs the command and returns what it printed. Rejects if it does. */
  run(id: ClientId, call?: InstallCall): Promise<string>;
  /** The same for several clients, with the exit code. */
  install(ids: readonly ClientId[], call?: InstallCall): Promise<{ out: string; exitCode: number }>;
  /** Backup copies next to a file. */
  backupsOf(path: string): string[];
}

/** An empty home directory, removed after the test. */
export function makeHome(platform: Platform = 'linux'): Home {
  home = mkdtempSync(join(tmpdir(), 'home-'));
  const path = home;
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const system: ClientSystem =
    platform === 'win32'
      ? { platform, home: ACCOUNT, env: { APPDATA: `${ACCOUNT}\\AppData\\Roaming` } }
      : { platform, home: path, env: {} };
  const stateDir = join(path, 'MCPs');
  return {
    path,
    stateDir,
    system,
    fileOf: (id) =>
      clientOf(id)
        .userFiles(system)
        .at(id === 'claude-desktop' ? -1 : 0) ?? '',
    async install(ids, { person, start = NPX, ...call } = {}) {
      let out = '';
      const write = (text: string) => (out += text);
      const command = {
        command: 'install',
        clients: ids,
        scope: 'user',
        isDryRun: false,
        isImport: undefined,
        startCommand: undefined,
        variables: {},
        isGlobal: false,
        isPrint: false,
        isJson: false,
        ...call,
      } as InstallCommand;
      const options = { settings: { stateDir }, system, cwd: join(path, 'project'), person, start };
      const exitCode = await install(command, { ...options, writeOut: write, writeError: write });
      return { out, exitCode };
    },
    async run(id, call) {
      return (await this.install([id], call)).out;
    },
    backupsOf: (file) => readdirSync(dirname(file)).filter((name) => name.includes('.backup-')),
  };
}

/** Writes a file and its parent folders. Returns its text. */
export function put(path: string, text: string, mode = 0o644): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return text;
}

export const read = (path: string): string => readFileSync(path, 'utf8');

/** A file as a user of the client may have it: with comments if the format allows them, and with another server. */
export function existing(id: ClientId): string {
  const { format, keys } = clientOf(id);
  if (format === 'toml') {
    return `# mine\nmodel = "o3" # fast\n\n[mcp_servers.files]\ncommand = "files"\nargs = ["xxxxx"]\n\n[mcp_servers.files.env]\nAPI_KEY = "${SECRET}"\n\n# last\n[profiles.a]\nmodel = 'x'\n`;
  }
  if (format === 'yaml') {
    return `# mine\nGOOSE_MODEL: x # m\nextensions:\n  files:   # about\n    enabled: true\n    type: stdio\n    cmd: files\n    args: [xxxxx]\n    envs: {API_KEY: ${SECRET}}\n  developer:\n    type: builtin\n    enabled: true\nother: 1\n`;
  }
  const entry =
    id === 'opencode'
      ? `{ "type": "local", "command": ["files", "xxxxx"], "environment": { "API_KEY": "${SECRET}" } }`
      : `{ "command": "files", "args": ["xxxxx"], "env": { "API_KEY": "${SECRET}" } }`;
  return `{\n\t// mine\n\t"theme": "x",\n\t"${keys[0]}": {\n\t\t/* one */ "files": ${entry}, // about\n\t},\n\t"z": [1,2 ,3],\n}`;
}
