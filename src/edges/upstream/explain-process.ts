/** Explains why a local server failed: the reason, the end of its stderr, and the next step. Pure. */
import { messageOf } from '../../core/base/errors.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import { escapeControls } from '../../core/base/log.ts';
import type { ProcessDefinition } from '../../core/base/server-definition.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import { containerProgram } from './explain-docker.ts';
import { packageRunner } from './package-runner.ts';
import type { ServerExit } from './server-process.ts';

const SHOWN_COMMAND_CHARS = 300;

/** Why the operating system could not start the command. For a missing folder it reports the same as for a missing command. */
export function explainSpawn({ command, cwd }: ProcessDefinition, cause: unknown, hasFolder = true): string {
  switch (codeOf(cause)) {
    case 'ENOENT':
      return hasFolder ? `command '${command}' not found` : `its folder '${cwd}' does not exist`;
    case 'EACCES':
      return isOnPath(command)
        ? `no executable program '${command}' was found on PATH`
        : `command '${command}' may not be executed`;
    default:
      return messageOf(cause);
  }
}

export function hintForSpawn({ command, file }: ProcessDefinition, cause: unknown, hasFolder = true): string {
  const code = codeOf(cause);
  if (code === 'ENOENT' && !hasFolder) {
    return `Create the folder, or correct "cwd" in ${file}.`;
  }
  if (code === 'ENOENT' && /\s/.test(command)) {
    return `In ${file}, put only the program into "command" and the rest, word by word, into "args".`;
  }
  if (code === 'EACCES' && isOnPath(command)) {
    return `Check that the program is executable and that every folder on PATH can be read, or give a full path in ${file}.`;
  }
  if (code === 'EACCES') {
    return `Make it executable (chmod +x ${command}) or correct "command" in ${file}.`;
  }
  return `Install it or give a full path in ${file}.`;
}

/**
 * Whether the command is looked up on PATH. If a folder of PATH cannot be read, the system reports EACCES even for a program
 * that does not exist.
 */
function isOnPath(command: string): boolean {
  return !/[\\/]/.test(command);
}

/** Suggests to run the command in a terminal. */
export function runByHand({ command, args }: ProcessDefinition, mask: (text: string) => string): string {
  // Masked before it is cut, because half a secret would not be recognized.
  const typed = mask([command, ...args].map((word) => quoteShellWord(word)).join(' ')).slice(0, SHOWN_COMMAND_CHARS);
  return `Run it by hand to see more: ${typed}`;
}

/** Why a program that downloads the server first may be slow; empty for other programs. */
export function explainDownload(definition: ProcessDefinition): string {
  const runner = packageRunner(definition);
  if (runner === undefined) {
    return '';
  }
  const what = containerProgram(definition) === undefined ? 'package' : 'image';
  const check = runner === 'npx' ? ' (`npm ping` checks that)' : '';
  return `${runner} may still be downloading the ${what}, or it cannot reach the registry${check}. `;
}

/** How servers fail that were written for version 1 of the MCP SDK for Python, but do not pin it. */
const LACKS_OLD_SDK =
  /No module named 'mcp\.server\.fastmcp|AttributeError: '(?:FastMCP|Server)' object has no attribute|cannot import name '\w+' from 'mcp[.']/;

/** The next step for a server that needs an older version of the MCP SDK for Python; undefined for any other stderr. */
export function hintForOldSdk(
  { command, args, name, file }: ProcessDefinition,
  stderrTail: string,
): string | undefined {
  if (!LACKS_OLD_SDK.test(stderrTail)) {
    return undefined;
  }
  const runner = packageRunner({ command, args });
  const where = runner === 'uvx' ? 'to the beginning of "args"' : 'before the package in "args"';
  const step = /^(?:uvx|uv .*|pipx .*)$/.test(runner ?? '')
    ? `Add "--with", "mcp<2" ${where} of '${name}' in ${file}.`
    : 'Install "mcp<2" where the server is installed.';
  return `The server was written for version 1 of the MCP SDK for Python, and version 2 is installed. ${step}`;
}

/** How the process exited, with the end of its stderr. */
export function describeServerEnd({ exitCode, signal }: ServerExit, stderrTail: string): string {
  const code = exitCode === undefined ? '' : ` (exit code ${exitCode})`;
  return `${signal === undefined ? code : ` (killed by ${signal})`}${quoteStderr(stderrTail)}`;
}

export function exitData(exit: ServerExit): JsonObject {
  return { exit_code: exit.exitCode, signal: exit.signal };
}

export function quoteStderr(tail: string): string {
  const lines = tail.split('\n').map((line) => `  ${escapeControls(line)}`);
  return tail === '' ? '' : `; last lines of its stderr:\n${lines.join('\n')}`;
}

/** What the program wrote to stdout instead of a message. */
export function quoteStray(text: string | undefined): string {
  return text === undefined
    ? ''
    : `; it is probably not an MCP server, because it wrote to stdout: ${escapeControls(text)}`;
}

function codeOf(cause: unknown): string | undefined {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}
