/**
 * Finds entries that would start this bridge again, because a bridge that lists itself would start bridges forever. There are
 * two safeguards: an entry is recognized by its name, command or arguments, even behind launchers and small scripts; and a
 * marker in the environment of every server stops anything else, such as two bridges that list each other.
 */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { ALLOW_NESTED_VARIABLE, bridgeDepth } from '../../core/base/bridge-depth.ts';
import { BridgeError } from '../../core/base/errors.ts';

/** The limit if nesting is allowed. Chosen: there is no use for more, and a cycle must end. */
const MAX_DEPTH = 3;
/** The names of this package and of the Python program that preceded it. */
const OWN_NAMES: ReadonlySet<string> = new Set(['mcp-server-code-execution-mode', 'mcp_server_code_execution_mode']);
const OWN_NAME_IN_TEXT = /(?:^|[\s/"'=:])mcp[-_]server[-_]code[-_]execution[-_]mode(?=$|[\s/"'@;&|.])/m;
/** A path rather than a package or an address: starts at the root, a drive, the home folder, or the current or parent folder. */
const FILE_PATH = /^(?:[\\/~]|\.{1,2}[\\/]|[A-Za-z]:[\\/])/;
/** Wrapper scripts are short; a longer file is a program. */
const SCRIPT_HEAD_BYTES = 8 * 1024;
/** Far above the package.json of this package. */
const PACKAGE_FILE_BYTES = 256 * 1024;

/** Programs that run the program named by their first plain argument. */
const LAUNCHERS: ReadonlySet<string> = new Set(
  (
    'npx npm pnpm pnpx yarn bun bunx deno node nodejs tsx ts-node uv uvx pipx python python3 py ' +
    'sh bash zsh dash ksh fish cmd powershell pwsh env nohup nice exec sudo docker podman'
  ).split(' '),
);
/** Options of Node whose value is the next word. */
const VALUE_OPTIONS: ReadonlySet<string> = new Set(
  '-r --require --import --loader --experimental-loader --env-file -C --conditions'.split(' '),
);
const SUBCOMMANDS: ReadonlySet<string> = new Set(['exec', 'x', 'dlx', 'run', 'tool', 'start', '/c', '/d', '/s']);

export interface NamedCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute; the base of relative paths. */
  readonly cwd?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Why this entry would start the bridge again, in one clause; undefined if it would not. A path that is just an argument of
 * another program, such as a file server for the bridge's folder, does not count.
 */
export function findSelfReference(entry: NamedCommand, env: Environment): string | undefined {
  if (OWN_NAMES.has(entry.name)) {
    return 'its name is that of this bridge';
  }
  if (namesBridge(entry.command)) {
    return 'its command is this bridge';
  }
  const own = entry.args.find((argument) => !/[\\/\s]/.test(argument) && namesBridge(argument));
  if (own !== undefined || programsOf(entry).some(namesBridge)) {
    return 'its arguments start this bridge';
  }
  if (shellTextOf(entry)?.match(OWN_NAME_IN_TEXT)) {
    return 'its shell command starts this bridge';
  }
  const programs = [entry.command, ...programsOf(entry)];
  if (programs.some((program) => isOwnCli(program, entry.cwd, env))) {
    return 'its program is a file of this bridge';
  }
  const script = programs.find((program) => isWrapperScript(program, entry.cwd, env));
  return script === undefined ? undefined : `the script ${script} starts this bridge`;
}

/** Throws `CONFIG_INVALID` if this process is a server of another bridge and that is not allowed. */
export function refuseNestedBridge(env: Environment, isAllowed: boolean): void {
  const depth = bridgeDepth(env);
  if (depth === 0 || (isAllowed && depth <= MAX_DEPTH)) {
    return;
  }
  const limit = isAllowed ? `; the limit is ${MAX_DEPTH}` : '';
  throw new BridgeError('CONFIG_INVALID', `this bridge was started by another bridge (depth ${depth})${limit}`, {
    hint: `Remove the entry that starts it from the server files, or set ${ALLOW_NESTED_VARIABLE}=on in the "env" of that entry.`,
    data: { depth },
  });
}

/**
 * Whether a command, a package with or without a version, a repository address or a path is this bridge. In a path, only the
 * last part or our entry point counts, because a folder with our name, such as a checkout, may contain other programs.
 */
function namesBridge(word: string): boolean {
  const parts = word.replace(/^(?:npm|jsr):/, '').split(/[\\/#]/);
  if (!FILE_PATH.test(word)) {
    return parts.some(isOwnName);
  }
  return (
    isOwnName(parts.at(-1) ?? '') || (isOwnName(parts.at(-3) ?? '') && parts.slice(-2).join('/') === 'dist/cli.js')
  );
}

function isOwnName(part: string): boolean {
  const name = part.replace(/(?<=.)[@=<>~!:].*$/, '').replace(/\.(?:git|js|mjs|cjs|ts|py|sh|cmd|exe|ps1|bat)$/i, '');
  return OWN_NAMES.has(name);
}

/** The words that a launcher interprets as the program to run. */
function programsOf(entry: NamedCommand): string[] {
  if (!LAUNCHERS.has(baseName(entry.command))) {
    return [];
  }
  const programs: string[] = [];
  for (const [index, argument] of entry.args.entries()) {
    const [flag, value] = argument.split(/=(.*)/s);
    if (flag === '-p' || flag === '--package' || flag === '--from' || flag === '--spec' || flag === '-m') {
      programs.push(value ?? entry.args[index + 1] ?? '');
    }
  }
  const first = entry.args.find(
    (argument, index) =>
      !argument.startsWith('-') && !isSkippable(argument) && !VALUE_OPTIONS.has(entry.args[index - 1] ?? ''),
  );
  return first === undefined ? programs : [...programs, first];
}

/** Subcommands, assignments for `env` and nested launchers come before the program. */
function isSkippable(argument: string): boolean {
  return SUBCOMMANDS.has(argument.toLowerCase()) || /^\w+=/.test(argument) || LAUNCHERS.has(baseName(argument));
}

/** The command text for `sh -c` and similar shells. */
function shellTextOf(entry: NamedCommand): string | undefined {
  const flag = entry.args.findIndex((argument) => /^(?:-\w*c|\/c|-Command)$/i.test(argument));
  return flag === -1 ? undefined : entry.args.slice(flag + 1).join(' ');
}

function baseName(command: string): string {
  const last = command.split(/[\\/]/).at(-1) ?? command;
  return last.replace(/\.(?:exe|cmd|bat)$/i, '').toLowerCase();
}

/**
 * Whether a program is, perhaps through links, the entry point of a package with our name. Links and the folder of a checkout can
 * have any name.
 */
function isOwnCli(program: string, cwd: string | undefined, env: Environment): boolean {
  return candidatePaths(program, cwd, env).some((path) => {
    try {
      const file = realpathSync(path);
      const text = /[\\/]cli\.js$/.test(file)
        ? readStart(join(dirname(file), '..', 'package.json'), PACKAGE_FILE_BYTES)
        : undefined;
      const { name } = JSON.parse(text ?? '{}') as { name?: unknown };
      return typeof name === 'string' && OWN_NAMES.has(name);
    } catch {
      // No such file, or not part of a package. As with scripts, the depth marker still stops a recursion.
      return false;
    }
  });
}

/** Whether an entry's own variables allow it to start a bridge. */
export function allowsItself(entryEnv: Environment): boolean {
  return ['on', '1', 'true', 'yes'].includes(entryEnv[ALLOW_NESTED_VARIABLE]?.toLowerCase() ?? '');
}

function isWrapperScript(program: string, cwd: string | undefined, env: Environment): boolean {
  const head = candidatePaths(program, cwd, env)
    .map(readScriptHead)
    .find((text) => text !== undefined);
  const code = head?.replace(/^\s*#.*$/gm, '');
  return code !== undefined && OWN_NAME_IN_TEXT.test(code);
}

function candidatePaths(program: string, cwd: string | undefined, env: Environment): string[] {
  if (/[\\/]/.test(program)) {
    return [resolve(cwd ?? '.', program)];
  }
  return (env['PATH'] ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, program));
}

/** The first bytes of a script (a file that starts with `#!`); undefined for anything else. */
function readScriptHead(path: string): string | undefined {
  const text = readStart(path, SCRIPT_HEAD_BYTES);
  return text?.startsWith('#!') === true ? text : undefined;
}

/** The first bytes of a regular file; undefined for anything else. Never blocks on a pipe or device. */
function readStart(path: string, maxBytes: number): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    if (!fstatSync(descriptor).isFile()) {
      return undefined;
    }
    const head = Buffer.alloc(maxBytes);
    return head.toString('utf8', 0, readSync(descriptor, head, 0, head.length, 0));
  } catch {
    // The file cannot be read. The depth marker still stops a recursion.
    return undefined;
  } finally {
    if (descriptor !== undefined) {
      closeSync(descriptor);
    }
  }
}
