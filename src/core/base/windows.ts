/**
 * How programs are found, quoted and started on Windows. Since CVE-2024-27980, Node refuses to start batch files (`npx.cmd`)
 * without a shell, and a shell would interpret the arguments; so cmd.exe is called with escaped words. Windows is never left
 * to look up a name, because it would look in the working directory first, which may be an untrusted project. Everything
 * except `startableCommand` is pure and can be tested on any system.
 */
import { existsSync } from 'node:fs';
import { win32 } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

export interface SpawnCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are already quoted for Windows. */
  readonly isVerbatim: boolean;
}

/** Characters that cmd.exe interprets. */
const SPECIAL = /[()\][%!^"`<>&|;, *?]/g;
/** The extensions that need no interpreter, in the order of Windows' default PATHEXT. */
const EXTENSIONS = ['.COM', '.EXE', '.BAT', '.CMD'];

/** The command as this system can start it. Throws the same error as starting a missing program. */
export function startableCommand(command: string, args: readonly string[], env: Environment): SpawnCommand {
  return process.platform === 'win32'
    ? windowsCommand(command, args, env, existsSync)
    : { command, args, isVerbatim: false };
}

/**
 * The command for Windows: a name without an extension is searched on PATH with the extensions of PATHEXT, and a batch file
 * is run by cmd.exe. `exists` checks for a file. Throws `ENOENT` if the name is not found, as starting a program does.
 */
export function windowsCommand(
  command: string,
  args: readonly string[],
  env: Environment,
  exists: (path: string) => boolean,
): SpawnCommand {
  const found = findProgram(command, env, exists);
  if (!/\.(?:cmd|bat)$/i.test(found)) {
    return { command: found, args, isVerbatim: false };
  }
  const line = [escapeForCmd(found, false), ...args.map((argument) => escapeForCmd(argument, true))].join(' ');
  const shell = variableOf(env, 'COMSPEC') ?? systemProgram('cmd.exe', env);
  return { command: shell, args: ['/d', '/s', '/c', `"${line}"`], isVerbatim: true };
}

/** The path of a program that is part of Windows, such as `taskkill.exe`. */
export function systemProgram(name: string, env: Environment): string {
  return win32.join(variableOf(env, 'SYSTEMROOT') ?? 'C:\\Windows', 'System32', name);
}

/** The value of a variable; on Windows, names of variables are case-insensitive. */
export function variableOf(env: Environment, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1];
}

function findProgram(command: string, env: Environment, exists: (path: string) => boolean): string {
  const wanted = variableOf(env, 'PATHEXT')?.toUpperCase().split(';') ?? EXTENSIONS;
  const extensions = wanted.filter((extension) => EXTENSIONS.includes(extension));
  const endings = win32.extname(command) === '' ? extensions : ['', ...extensions];
  const isPath = /[\\/]/.test(command);
  const folders = isPath ? [''] : (variableOf(env, 'PATH') ?? '').split(';').filter((part) => win32.isAbsolute(part));
  const found = folders.flatMap((folder) => endings.map((ending) => win32.join(folder, command + ending))).find(exists);
  if (found === undefined && !isPath) {
    throw Object.assign(new Error(`spawn ${command} ENOENT`), { code: 'ENOENT' });
  }
  return found ?? command;
}

/** Quotes a word for the C runtime, then escapes it with carets for cmd.exe; twice for arguments, because batch files parse them twice. */
function escapeForCmd(word: string, isArgument: boolean): string {
  if (!isArgument) {
    return word.replace(SPECIAL, '^$&');
  }
  const quoted = `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, '$1$1')}"`;
  return quoted.replace(SPECIAL, '^$&').replace(SPECIAL, '^$&');
}
