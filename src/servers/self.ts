/**
 * Finds entries that would start this bridge again: a bridge that lists itself would start bridges without end.
 * Two nets: the entry is recognised by its name, command or arguments (also behind launchers and small scripts), and a
 * marker in the environment of every server ends what was not recognised, for example two bridges in a ring.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, realpathSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { bridgeDepth } from '../base/bridge-depth.ts';
import { BridgeError } from '../base/errors.ts';

const ALLOW_VARIABLE = 'MCP_BRIDGE_ALLOW_SELF_SERVER';
/** Even allowed nesting ends here. Chosen: nobody has a use for more, and a ring must end. */
const MAX_DEPTH = 3;
/** Names of this package and of the Python program it follows. */
const OWN_NAMES: ReadonlySet<string> = new Set(['mcp-server-code-execution-mode', 'mcp_server_code_execution_mode']);
const OWN_NAME_IN_TEXT = /(?:^|[\s/"'=:])mcp[-_]server[-_]code[-_]execution[-_]mode(?=$|[\s/"'@;&|.])/m;
/** A path, not a package or an address: it begins at the root, a drive, the home folder, or the current or parent folder. */
const FILE_PATH = /^(?:[\\/~]|\.{1,2}[\\/]|[A-Za-z]:[\\/])/;
/** Wrapper scripts are short; a longer file is a program. */
const SCRIPT_HEAD_BYTES = 8 * 1024;

/** Programs that run what their first plain argument names. */
const LAUNCHERS: ReadonlySet<string> = new Set(
  (
    'npx npm pnpm pnpx yarn bun bunx deno node nodejs tsx ts-node uv uvx pipx python python3 py ' +
    'sh bash zsh dash ksh fish cmd powershell pwsh env nohup nice exec sudo docker podman'
  ).split(' '),
);
const SUBCOMMANDS: ReadonlySet<string> = new Set(['exec', 'x', 'dlx', 'run', 'tool', 'start', '/c', '/d', '/s']);

export interface NamedCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute; where relative paths begin. */
  readonly cwd?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Why this entry would start the bridge again, in one clause, or undefined if it would not. A path that is only an
 * argument of another program (the bridge's folder served by a file server) is no reason.
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
  if (programs.some((program) => isOwnCli(program, entry.cwd))) {
    return 'its program is a file of this bridge';
  }
  const script = programs.find((program) => isWrapperScript(program, entry.cwd, env));
  return script === undefined ? undefined : `the script ${script} starts this bridge`;
}

/** Throws `CONFIG_INVALID` when this process was started as a server of another bridge and that is not allowed. */
export function refuseNestedBridge(env: Environment, isAllowed: boolean): void {
  const depth = bridgeDepth(env);
  if (depth === 0 || (isAllowed && depth <= MAX_DEPTH)) {
    return;
  }
  const limit = isAllowed ? `; at most ${MAX_DEPTH} may be nested` : '';
  throw new BridgeError('CONFIG_INVALID', `this bridge was started by another bridge (depth ${depth})${limit}`, {
    hint: `Remove the entry that starts it from the server files, or set ${ALLOW_VARIABLE}=1 in the "env" of that entry.`,
    data: { depth },
  });
}

/**
 * Whether a command, a package with or without version, a repository address or a path is this bridge. Of a path, only the
 * last part counts, or our entry point: other programs may lie in a folder of our name, such as those of a checkout.
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

/** The words that a launcher takes as the program to run. */
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
  const first = entry.args.find((argument) => !argument.startsWith('-') && !isSkippable(argument));
  return first === undefined ? programs : [...programs, first];
}

/** Subcommands, assignments of `env` and nested launchers stand before the program. */
function isSkippable(argument: string): boolean {
  return SUBCOMMANDS.has(argument.toLowerCase()) || /^\w+=/.test(argument) || LAUNCHERS.has(baseName(argument));
}

/** The text given to `sh -c` and the like. */
function shellTextOf(entry: NamedCommand): string | undefined {
  const flag = entry.args.findIndex((argument) => /^(?:-\w*c|\/c|-Command)$/i.test(argument));
  return flag === -1 ? undefined : entry.args.slice(flag + 1).join(' ');
}

function baseName(command: string): string {
  const last = command.split(/[\\/]/).at(-1) ?? command;
  return last.replace(/\.(?:exe|cmd|bat)$/i, '').toLowerCase();
}

/** Whether a file is the command of a package of our name: a checkout may lie in a folder of any name. */
function isOwnCli(program: string, cwd: string | undefined): boolean {
  if (!/[\\/]cli\.js$/.test(program)) {
    return false;
  }
  try {
    const file = realpathSync(resolve(cwd ?? '.', program));
    const { name } = JSON.parse(readFileSync(join(dirname(file), '..', 'package.json'), 'utf8')) as { name?: unknown };
    return typeof name === 'string' && OWN_NAMES.has(name);
  } catch {
    // No such file, or none of a package: as with scripts, the depth marker still ends a recursion.
    return false;
  }
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

/** The first bytes of a script (a file that starts with `#!`), or undefined. Never blocks on a pipe or device. */
function readScriptHead(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    if (!fstatSync(descriptor).isFile()) {
      return undefined;
    }
    const head = Buffer.alloc(SCRIPT_HEAD_BYTES);
    const text = head.toString('utf8', 0, readSync(descriptor, head, 0, head.length, 0));
    return text.startsWith('#!') ? text : undefined;
  } catch {
    // A file that cannot be read cannot be judged; the depth marker still ends a recursion.
    return undefined;
  } finally {
    if (descriptor !== undefined) {
      closeSync(descriptor);
    }
  }
}
