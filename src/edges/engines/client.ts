/**
 * Runs the engine's command (`podman`, `docker`): as the long-running process that is the pipe to a sandbox, and as short commands
 * with an answer. Each runs in its own process group and is killed with it, because a rootless podman client is two processes.
 *
 * The pipe uses `spawn`, not execa: execa starts to read stdout one turn after the start, which would lose output before the
 * session listens, and importing it would slow down every cold start.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { LEADS_GROUP } from '../../core/base/process-tree.ts';
import { type ProcessOptions, runProcess } from '../../core/base/run-process.ts';

/** How to call the engine's command. */
export interface EngineCommand {
  /** Absolute path, or a name to look up on PATH. */
  readonly executable: string;
  readonly env: Readonly<Record<string, string>>;
}

export type PipeProcess = ChildProcessByStdio<Writable, Readable, Readable>;

export interface CommandResult {
  /** Undefined if the command could not be started or was killed by us. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether it was killed because it took longer than `timeoutMs`. */
  readonly isTimedOut: boolean;
}

interface CommandOptions extends Pick<ProcessOptions, 'endsWithProcess' | 'extraInput' | 'input' | 'onLine'> {
  /** No limit if undefined. */
  readonly timeoutMs?: number | undefined;
}

/** A short command that prints more is killed. In a listing, each of our containers takes 1 KB. */
const MAX_COMMAND_OUTPUT_BYTES = 4 * 1024 * 1024;

/**
 * Working directory of the engine's command. conmon, which runs beside the client only on Linux, writes an empty file `oom` to the
 * directory it was started in. In /proc it cannot. A temporary directory would be left behind if the bridge is killed.
 */
export const CLIENT_DIRECTORY = process.platform === 'linux' ? '/proc' : undefined;

export interface PipeOptions {
  /** What the command can read from descriptor 3 and the next ones. Undefined ones are left out. */
  readonly inputs?: readonly (Uint8Array | undefined)[] | undefined;
  /** Whether descriptor 3 of the command is the pipe, a socket in both directions, instead of its stdin and stdout. */
  readonly usesDescriptor?: boolean | undefined;
}

/** Starts the command that is the pipe to a sandbox. Rejects with the error of the operating system if it cannot be started. */
export async function openPipe(
  command: EngineCommand,
  commandArguments: readonly string[],
  { inputs = [], usesDescriptor = false }: PipeOptions = {},
): Promise<PipeProcess> {
  const standard = usesDescriptor ? 'ignore' : 'pipe';
  const given = inputs.filter((input) => input !== undefined);
  const child = spawn(command.executable, commandArguments, {
    ...(CLIENT_DIRECTORY === undefined ? {} : { cwd: CLIENT_DIRECTORY }),
    detached: LEADS_GROUP,
    windowsHide: true,
    env: { ...command.env },
    stdio: [standard, standard, 'pipe', ...(usesDescriptor ? ['pipe' as const] : given.map(() => 'pipe' as const))],
  }) as PipeProcess;
  const extra = child.stdio.slice(3) as unknown as (Socket | null)[];
  if (usesDescriptor) {
    Object.assign(child, { stdin: extra[0], stdout: extra[0] });
  } else {
    // If the command ends without reading it, its exit code shows the failure.
    given.forEach((input, index) => extra[index]?.on('error', () => undefined).end(input));
  }
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  return child;
}

/** Whether anything arrived on stdout, which means that the program in the sandbox runs. Does not read. */
export function hasSpoken(child: PipeProcess): boolean {
  // Pipes of a child process are sockets, although their type does not say so. Not stderr: engines print warnings before a start.
  return (child.stdout as unknown as Socket).bytesRead > 0;
}

/** Runs a short command to its end. Never rejects; the result says what went wrong. */
export async function runEngineCommand(
  command: EngineCommand,
  commandArguments: readonly string[],
  { timeoutMs, ...options }: CommandOptions = {},
): Promise<CommandResult> {
  const end = await runProcess([command.executable, ...commandArguments], {
    ...options,
    env: command.env,
    cwd: CLIENT_DIRECTORY,
    deadlineMs: timeoutMs,
    maxOutputBytes: MAX_COMMAND_OUTPUT_BYTES,
  });
  return {
    exitCode: end.exitCode,
    stdout: textOf(end.stdout),
    stderr: textOf(end.stderr) || end.reason,
    isTimedOut: end.endedBy === 'deadline',
  };
}

function textOf(output: Buffer): string {
  return output.toString('utf8').replace(/\r?\n$/, '');
}
