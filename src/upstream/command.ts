/**
 * How a configured command is started on Windows. Node refuses to start batch files (`npx.cmd`) without a shell since
 * CVE-2024-27980, and a shell would interpret what stands in the arguments; so cmd.exe is called with escaped words.
 */
import { win32 } from 'node:path';

export interface SpawnCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are already quoted for Windows. */
  readonly isVerbatim: boolean;
}

/** Characters that cmd.exe interprets. */
const SPECIAL = /[()\][%!^"`<>&|;, *?]/g;

/**
 * The command for Windows: a name without extension is looked for with those of PATHEXT, and a batch file is run by
 * cmd.exe. `exists` says whether a file is there.
 */
export function windowsCommand(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  exists: (path: string) => boolean,
): SpawnCommand {
  const found = findProgram(command, env, exists) ?? command;
  if (!/\.(?:cmd|bat)$/i.test(found)) {
    return { command: found, args, isVerbatim: false };
  }
  const line = [escapeForCmd(found, false), ...args.map((argument) => escapeForCmd(argument, true))].join(' ');
  return { command: lookUp(env, 'COMSPEC') ?? 'cmd.exe', args: ['/d', '/s', '/c', `"${line}"`], isVerbatim: true };
}

function findProgram(
  command: string,
  env: Readonly<Record<string, string | undefined>>,
  exists: (path: string) => boolean,
): string | undefined {
  const extensions = (lookUp(env, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD').split(';').filter((part) => part !== '');
  const endings = win32.extname(command) === '' ? extensions : ['', ...extensions];
  const folders = /[\\/]/.test(command) ? [''] : (lookUp(env, 'PATH') ?? '').split(';').filter((part) => part !== '');
  return folders.flatMap((folder) => endings.map((ending) => win32.join(folder, command + ending))).find(exists);
}

/** Quoted as the C runtime reads it, then with carets as cmd.exe reads it; batch files read their arguments twice. */
function escapeForCmd(word: string, isArgument: boolean): string {
  if (!isArgument) {
    return word.replace(SPECIAL, '^$&');
  }
  const quoted = `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, '$1$1')}"`;
  return quoted.replace(SPECIAL, '^$&').replace(SPECIAL, '^$&');
}

/** Names of variables have no case on Windows. */
function lookUp(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1];
}
