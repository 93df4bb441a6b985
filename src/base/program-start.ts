/**
 * How this program was started, and the words that start it again: in the user's shell, which is what hints name, and from
 * a client, which has another working directory and, when a desktop started it, another `PATH`. Whoever calls brings what
 * depends on the machine, so that the cases of every system are tested on any of them.
 */
import { realpathSync } from 'node:fs';
import { posix, win32 } from 'node:path';

/** What the program is called in its help, and where it is on `PATH`. */
export const COMMAND_NAME = 'mcp-server-code-execution-mode';

/** From the root of the package. */
const CLI = ['dist', 'cli.js'] as const;

export interface StartContext {
  readonly platform: NodeJS.Platform;
  /** Program of the running Node, absolute. */
  readonly execPath: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where a path leads, links followed; undefined when nothing is there. */
  readonly realPath: (path: string) => string | undefined;
  /** The text of a file; undefined when it cannot be read. */
  readonly readText: (path: string) => string | undefined;
}

export interface ProgramStart {
  /** `npx` fetched the package, `global` is an installation for all projects, `dependency` one of a project, `checkout` any other folder. */
  readonly kind: 'npx' | 'global' | 'dependency' | 'checkout';
  /** To type in a shell of the user, in the folder this process runs in. */
  readonly shellWords: readonly string[];
  /** To start it from any folder. Only those of `npx` depend on `PATH`. */
  readonly clientWords: readonly string[];
  /** This Node, absolute, by a path that an update of Node keeps where there is one. */
  readonly nodePath: string;
}

/** How the package in the folder `root` (absolute, links followed) was started. */
export function findProgramStart(root: string, machine: StartContext): ProgramStart {
  const { join } = pathOf(machine);
  const nodePath = lastingNode(machine);
  const npxWords = findNpxWords(root, machine);
  if (npxWords !== undefined) {
    return { kind: 'npx', shellWords: npxWords, clientWords: npxWords, nodePath };
  }
  const cli = join(root, ...CLI);
  const clientWords = [nodePath, lastingCli(root, machine)];
  if (isOnPath(cli, machine)) {
    return { kind: 'global', shellWords: [COMMAND_NAME], clientWords, nodePath };
  }
  for (const modules of modulesAbove(root, machine)) {
    const local = findShim(join(modules, '.bin'), cli, machine);
    if (local !== undefined) {
      const shellWords = isInside(machine.cwd, join(modules, '..'), machine) ? ['npx', COMMAND_NAME] : [local];
      return { kind: 'dependency', shellWords, clientWords, nodePath };
    }
    // npm's global folder is `lib/node_modules` beside `bin`; on Windows the commands stand beside `node_modules`.
    const shims = machine.platform === 'win32' ? join(modules, '..') : join(modules, '..', '..', 'bin');
    const global = findShim(shims, cli, machine);
    if (global !== undefined) {
      return { kind: 'global', shellWords: [global], clientWords, nodePath };
    }
  }
  return { kind: 'checkout', shellWords: [shellNode(machine), cli], clientWords, nodePath };
}

/** npx keeps what it fetched in a folder `_npx` of its cache, whose package.json says what it was asked for. */
function findNpxWords(root: string, machine: StartContext): string[] | undefined {
  const { isAbsolute, join, resolve } = pathOf(machine);
  if (!/[\\/]_npx[\\/]/.test(root)) {
    return undefined;
  }
  const folder = join(root, '..', '..');
  const asked = readAsked(machine.readText(join(folder, 'package.json')));
  const [only] = asked.packages.length === 1 ? asked.packages : [asked.packages.find(isOwnSpec)];
  // npm 10 does not say what was typed: a dependency with a scheme (`file:`) was no name.
  if (only === undefined ? !/^[a-z+]+:/.test(asked.dependency ?? '') : isOwnSpec(only)) {
    return ['npx', '-y', only ?? COMMAND_NAME];
  }
  // A path counts from the folder that npx ran in; the dependency says the same from where it stands.
  const path = /^file:(.*)/s.exec(asked.dependency ?? '')?.[1];
  const spec =
    path === undefined || isAbsolute(path) ? (path ?? asked.dependency ?? only ?? COMMAND_NAME) : resolve(folder, path);
  return ['npx', '-y', `--package=${spec}`, COMMAND_NAME];
}

function isOwnSpec(spec: string): boolean {
  return spec === COMMAND_NAME || spec.startsWith(`${COMMAND_NAME}@`);
}

interface Asked {
  /** As they were typed. */
  readonly packages: readonly string[];
  /** This package among the dependencies. */
  readonly dependency: string | undefined;
}

function readAsked(text: string | undefined): Asked {
  try {
    const { _npx, dependencies } = JSON.parse(text ?? '{}') as {
      _npx?: { packages?: string[] };
      dependencies?: Record<string, string>;
    };
    return { packages: _npx?.packages ?? [], dependency: dependencies?.[COMMAND_NAME] };
  } catch {
    // An npx that keeps something else there was asked for the package by its name most likely.
    return { packages: [], dependency: undefined };
  }
}

/** Whether the name alone starts this program. npm and npx put folders on the `PATH` of what they start, which shells do not have. */
function isOnPath(cli: string, machine: StartContext): boolean {
  const folders = pathFolders(machine).filter((folder) => !/[\\/]node_modules[\\/]/.test(folder));
  const first = folders.find((folder) => machine.realPath(shimIn(folder, machine)) !== undefined);
  return first !== undefined && findShim(first, cli, machine) !== undefined;
}

/** The command in `folder` if it starts `cli`: a link, and on Windows a script beside or above the package. */
function findShim(folder: string, cli: string, machine: StartContext): string | undefined {
  const { join } = pathOf(machine);
  const shim = shimIn(folder, machine);
  const found = machine.realPath(shim);
  if (found === undefined || machine.platform !== 'win32') {
    return found === cli ? shim : undefined;
  }
  const targets = [join(folder, 'node_modules', COMMAND_NAME, ...CLI), join(folder, '..', COMMAND_NAME, ...CLI)];
  return targets.some((target) => machine.realPath(target) === cli) ? shim : undefined;
}

function shimIn(folder: string, machine: StartContext): string {
  return pathOf(machine).join(folder, machine.platform === 'win32' ? `${COMMAND_NAME}.cmd` : COMMAND_NAME);
}

function pathFolders({ env, platform }: StartContext): string[] {
  const { delimiter, isAbsolute } = platform === 'win32' ? win32 : posix;
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  return (env[name] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
}

/** The folders `node_modules` that the package lies in, the outermost first. */
function modulesAbove(root: string, machine: StartContext): string[] {
  const { sep } = pathOf(machine);
  const parts = root.split(sep);
  return parts.flatMap((part, index) => (part === 'node_modules' ? [parts.slice(0, index + 1).join(sep)] : []));
}

/** The file to run, by a path that an update keeps: pnpm's folders have the version in their names, and links that have not. */
function lastingCli(root: string, machine: StartContext): string {
  const { join } = pathOf(machine);
  const cli = join(root, ...CLI);
  const candidates = modulesAbove(root, machine).map((modules) => join(modules, COMMAND_NAME, ...CLI));
  return candidates.find((candidate) => machine.realPath(candidate) === cli) ?? cli;
}

/** Where package managers keep Node under its version, and where they link to the newest. */
const VERSIONED_NODES: readonly [RegExp, string][] = [
  // Homebrew
  [/^(.*)\/Cellar\/([^/]+)\/[^/]+\/bin\/node$/, '$1/opt/$2/bin/node'],
  [/^\/snap\/([^/]+)\/\d+\//, '/snap/$1/current/'],
  // Scoop
  [/^(.*\\apps\\[^\\]+)\\[^\\]+\\node\.exe$/i, '$1\\current\\node.exe'],
];

/** Of Homebrew, snap and Scoop the link to the newest Node, when that is this one. */
function lastingNode({ execPath, realPath }: StartContext): string {
  const lasting = VERSIONED_NODES.map(([pattern, path]) => execPath.replace(pattern, path));
  return lasting.find((path) => path !== execPath && realPath(path) === realPath(execPath)) ?? execPath;
}

/** `node` if that is this Node. */
function shellNode(machine: StartContext): string {
  const name = machine.platform === 'win32' ? 'node.exe' : 'node';
  const found = pathFolders(machine)
    .map((folder) => machine.realPath(pathOf(machine).join(folder, name)))
    .find((path) => path !== undefined);
  return found !== undefined && found === machine.realPath(machine.execPath) ? 'node' : machine.execPath;
}

function isInside(path: string, folder: string, machine: StartContext): boolean {
  const { isAbsolute, relative } = pathOf(machine);
  const way = relative(folder, path);
  return !way.startsWith('..') && !isAbsolute(way);
}

function pathOf({ platform }: StartContext): typeof posix {
  return platform === 'win32' ? win32 : posix;
}

/** For `StartContext`. */
export function realPathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    // Nothing there, or nothing that we may see: not what is looked for.
    return undefined;
  }
}
