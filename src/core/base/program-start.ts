/**
 * How this program was started, and the command that starts it again: from the user's shell, for hints, and from a client,
 * which has another working directory and, if a desktop started it, another `PATH`. The caller passes in everything that
 * depends on the machine, so that each operating system's cases can be tested on any of them.
 */
import { realpathSync } from 'node:fs';
import { posix, win32 } from 'node:path';

/** The program's name in its help and on `PATH`. */
export const COMMAND_NAME = 'mcp-server-code-execution-mode';

/** The short name of the same program, beside the long one wherever the package is installed. npx would take it for another package. */
export const SHORT_NAME = 'mcp-code';

/** Relative to the root of the package. */
const CLI = ['dist', 'cli.js'] as const;

export interface StartContext {
  readonly platform: NodeJS.Platform;
  /** Absolute path of the running Node. */
  readonly execPath: string;
  readonly cwd: string;
  /** Absolute path of the script as it was typed, with links: the name of the command, except on Windows. */
  readonly script?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The path with links resolved; undefined if nothing is there. */
  readonly realPath: (path: string) => string | undefined;
  /** The text of a file; undefined if it cannot be read. */
  readonly readText: (path: string) => string | undefined;
}

export interface ProgramStart {
  /** `npx`: fetched by npx. `global`: installed globally. `dependency`: installed in a project. `checkout`: any other folder. */
  readonly kind: 'npx' | 'global' | 'dependency' | 'checkout';
  /** The command for the user's shell, in the working directory of this process. */
  readonly shellWords: readonly string[];
  /** The command that works from any folder. Only that of `npx` depends on `PATH`. */
  readonly clientWords: readonly string[];
  /** Absolute path of this Node; if possible, one that survives updates of Node. */
  readonly nodePath: string;
}

/** How the package in the folder `root` (absolute, links resolved) was started. */
export function findProgramStart(root: string, machine: StartContext): ProgramStart {
  const { join } = pathOf(machine);
  const nodePath = lastingNode(machine);
  const name = typedName(machine);
  const npxWords = findNpxWords(root, machine);
  if (npxWords !== undefined) {
    return { kind: 'npx', shellWords: npxWords, clientWords: npxWords, nodePath };
  }
  const cli = join(root, ...CLI);
  const clientWords = [nodePath, lastingCli(root, machine)];
  if (isOnPath(cli, machine)) {
    return { kind: 'global', shellWords: [name], clientWords, nodePath };
  }
  for (const modules of modulesAbove(root, machine)) {
    const local = findShim(join(modules, '.bin'), cli, machine);
    if (local !== undefined) {
      const shellWords = isInside(machine.cwd, join(modules, '..'), machine) ? ['npx', name] : [local];
      return { kind: 'dependency', shellWords, clientWords, nodePath };
    }
    // npm's global folder is `lib/node_modules` beside `bin`; on Windows, the commands are beside `node_modules`.
    const shims = machine.platform === 'win32' ? join(modules, '..') : join(modules, '..', '..', 'bin');
    const global = findShim(shims, cli, machine);
    if (global !== undefined) {
      return { kind: 'global', shellWords: [global], clientWords, nodePath };
    }
  }
  if (name !== COMMAND_NAME) {
    // A link that someone made, and that a shell does not find first.
    return findProgramStart(root, { ...machine, script: undefined });
  }
  return { kind: 'checkout', shellWords: [shellNode(machine), cli], clientWords, nodePath };
}

/** npx installs into a folder under `_npx` in its cache; the package.json there records what was requested. */
function findNpxWords(root: string, machine: StartContext): string[] | undefined {
  const { isAbsolute, join, resolve } = pathOf(machine);
  if (!/[\\/]_npx[\\/]/.test(root)) {
    return undefined;
  }
  const folder = join(root, '..', '..');
  const request = readNpxRequest(machine.readText(join(folder, 'package.json')));
  const [only] = request.packages.length === 1 ? request.packages : [request.packages.find(isOwnSpec)];
  // npm 10 does not record what was typed, but a dependency with a scheme (`file:`) was not a plain name.
  if (only === undefined ? !/^[a-z+]+:/.test(request.dependency ?? '') : isOwnSpec(only)) {
    return ['npx', '-y', only ?? COMMAND_NAME];
  }
  // A typed path is relative to the folder that npx ran in; the dependency has the same path relative to its own folder.
  const path = /^file:(.*)/s.exec(request.dependency ?? '')?.[1];
  const spec =
    path === undefined || isAbsolute(path)
      ? (path ?? request.dependency ?? only ?? COMMAND_NAME)
      : resolve(folder, path);
  return ['npx', '-y', `--package=${spec}`, COMMAND_NAME];
}

function isOwnSpec(spec: string): boolean {
  return spec === COMMAND_NAME || spec.startsWith(`${COMMAND_NAME}@`);
}

interface NpxRequest {
  /** As typed. */
  readonly packages: readonly string[];
  /** The specifier of this package in `dependencies`. */
  readonly dependency: string | undefined;
}

function readNpxRequest(text: string | undefined): NpxRequest {
  try {
    const { _npx, dependencies } = JSON.parse(text ?? '{}') as {
      _npx?: { packages?: string[] };
      dependencies?: Record<string, string>;
    };
    return { packages: _npx?.packages ?? [], dependency: dependencies?.[COMMAND_NAME] };
  } catch {
    // An unknown format. The package was most likely requested by name.
    return { packages: [], dependency: undefined };
  }
}

/** Whether the name alone starts this program in a shell. Folders that only npm and npx put on `PATH` do not count. */
function isOnPath(cli: string, machine: StartContext): boolean {
  const folders = pathFolders(machine).filter((folder) => !/[\\/]node_modules[\\/]/.test(folder));
  const first = folders.find((folder) => machine.realPath(shimIn(folder, machine)) !== undefined);
  return first !== undefined && findShim(first, cli, machine) !== undefined;
}

/** The command in `folder`, if it starts `cli`: a link; on Windows, a script beside or above the package. */
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
  const name = typedName(machine);
  return pathOf(machine).join(folder, machine.platform === 'win32' ? `${name}.cmd` : name);
}

/** Windows starts the script itself, whichever name was typed. */
function typedName({ script = '', platform }: StartContext): string {
  return (platform === 'win32' ? win32 : posix).basename(script) === SHORT_NAME ? SHORT_NAME : COMMAND_NAME;
}

function pathFolders({ env, platform }: StartContext): string[] {
  const { delimiter, isAbsolute } = platform === 'win32' ? win32 : posix;
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  return (env[name] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
}

/** The `node_modules` folders that contain the package, outermost first. */
function modulesAbove(root: string, machine: StartContext): string[] {
  const { sep } = pathOf(machine);
  const parts = root.split(sep);
  return parts.flatMap((part, index) => (part === 'node_modules' ? [parts.slice(0, index + 1).join(sep)] : []));
}

/** The path of the file to run that survives updates: pnpm's folders have the version in their names, but its links do not. */
function lastingCli(root: string, machine: StartContext): string {
  const { join } = pathOf(machine);
  const cli = join(root, ...CLI);
  const candidates = modulesAbove(root, machine).map((modules) => join(modules, COMMAND_NAME, ...CLI));
  return candidates.find((candidate) => machine.realPath(candidate) === cli) ?? cli;
}

/** Where package managers install Node under its version, and where they link to the newest one. */
const VERSIONED_NODES: readonly [RegExp, string][] = [
  // Homebrew
  [/^(.*)\/Cellar\/([^/]+)\/[^/]+\/bin\/node$/, '$1/opt/$2/bin/node'],
  [/^\/snap\/([^/]+)\/\d+\//, '/snap/$1/current/'],
  // Scoop
  [/^(.*\\apps\\[^\\]+)\\[^\\]+\\node\.exe$/i, '$1\\current\\node.exe'],
];

/** With Homebrew, snap and Scoop, their link to the newest Node, if this is the newest one. */
function lastingNode({ execPath, realPath }: StartContext): string {
  const lasting = VERSIONED_NODES.map(([pattern, path]) => execPath.replace(pattern, path));
  return lasting.find((path) => path !== execPath && realPath(path) === realPath(execPath)) ?? execPath;
}

/** `node` if `PATH` leads to this Node, otherwise its path. */
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

/** The `realPath` of `StartContext` for this machine. */
export function realPathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    // It does not exist, or we may not read it: either way not the file being looked for.
    return undefined;
  }
}
