/**
 * What is different about programs on Windows: how a command is found and quoted, and where the system's own are. Node
 * refuses to start batch files (`npx.cmd`) without a shell since CVE-2024-27980, and a shell would interpret what stands in
 * the arguments; so cmd.exe is called with escaped words. No name is left to be looked up when a program is started: that
 * would begin in the working directory, which may be a stranger's project. All but `startableCommand` is pure, and so tested
 * on any system.
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
/** What can be started without a program that reads it, in the order of Windows' own PATHEXT. */
const EXTENSIONS = ['.COM', '.EXE', '.BAT', '.CMD'];

/** The command as this system starts it. Throws as starting a program does. */
export function startableCommand(command: string, args: readonly string[], env: Environment): SpawnCommand {
  return process.platform === 'win32'
    ? windowsCommand(command, args, env, existsSync)
    : { command, args, isVerbatim: false };
}

/**
 * The command for Windows: a name without extension is looked for on PATH with those of PATHEXT, and a batch file is run
 * by cmd.exe. `exists` says whether a file is there. Throws as starting a program does (`ENOENT`) when a name is nowhere.
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

/** The path of a program that comes with Windows, for example `taskkill.exe`. */
export function systemProgram(name: string, env: Environment): string {
  return win32.join(variableOf(env, 'SYSTEMROOT') ?? 'C:\\Windows', 'System32', name);
}

/** The value of a variable; names of variables have no case on Windows. */
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

/** Quoted as the C runtime reads it, then with carets as cmd.exe reads it; batch files read their arguments twice. */
function escapeForCmd(word: string, isArgument: boolean): string {
  if (!isArgument) {
    return word.replace(SPECIAL, '^$&');
  }
  const quoted = `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, '$1$1')}"`;
  return quoted.replace(SPECIAL, '^$&').replace(SPECIAL, '^$&');
}
