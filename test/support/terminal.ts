/** Runs a command on a pseudo-terminal, which Python opens because Node cannot. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/**
 * With `pipes_out`, stdout goes to a pipe, so the terminal shows only stderr. `typed` lists the input, each after the text that
 * it waits for.
 */
const PROGRAM = `
import json, os, pty, sys
pipes_out, typed, *command = sys.argv[1:]
typed = [(wait.encode(), keys.encode()) for wait, keys in json.loads(typed)]
reader, writer = os.pipe()
def start():
    child, terminal = pty.fork()
    if child == 0:
        if pipes_out == 'yes':
            os.dup2(writer, 1)
        os.execvp(command[0], command)
    return child, terminal
child, terminal = start()
os.close(writer)
unseen = b""
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    os.write(2, data)
    unseen += data
    if typed and typed[0][0] in unseen:
        wait, keys = typed.pop(0)
        unseen = unseen.split(wait, 1)[1]
        os.write(terminal, keys)
if pipes_out == 'yes':
    while data := os.read(reader, 65536):
        os.write(1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
`;

export interface TerminalRun {
  /** What the command wrote to the terminal, in order, with `\r\n` as line end. */
  readonly terminal: string;
  /** What it wrote to stdout if that is a pipe; otherwise empty. */
  readonly stdout: string;
  readonly exitCode: number | null;
}

export interface TerminalOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly pipesOut?: boolean;
  /** What the person types, each after the text that they wait for. */
  readonly types?: readonly (readonly [wait: string, keys: string])[];
}

/** The end of the prompt of every question. */
export const PROMPT = 'empty: no answer) ';
export const CTRL_C = '\u0003';

/** Resolves when the command has ended. What it writes to stdout must fit a pipe (64 KiB). */
export async function runOnTerminal(
  command: readonly string[],
  { env, pipesOut = false, types = [] }: TerminalOptions,
): Promise<TerminalRun> {
  const child = spawn('python3', ['-c', PROGRAM, pipesOut ? 'yes' : 'no', JSON.stringify(types), ...command], {
    env: { TERM: 'xterm-256color', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, terminal, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, terminal, exitCode };
}
