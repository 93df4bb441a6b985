/**
 * The engine's command (`podman`, `docker`) as a process: the long one that is the pipe to a sandbox, and the short
 * ones that ask or order something. Both run in a process group of their own, because a rootless podman client is two
 * processes, and end as a group.
 *
 * The pipe uses `spawn`, not execa (as `runProcess` does): execa makes an unread stdout flow one turn after the start,
 * which would lose bytes of a session that is not listening yet, and its import would be part of every cold start.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { LEADS_GROUP } from '../base/process-tree.ts';
import { type ProcessOptions, runProcess } from '../base/run-process.ts';

/** How the engine's command is called. */
export interface EngineCommand {
  /** Absolute path, or a name for PATH. */
  readonly executable: string;
  readonly env: Readonly<Record<string, string>>;
}

export type PipeProcess = ChildProcessByStdio<Writable, Readable, Readable>;

export interface CommandResult {
  /** Undefined when it could not be started or was ended by us. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether it was ended because it took longer than `timeoutMs`. */
  readonly isTimedOut: boolean;
}

interface CommandOptions extends Pick<ProcessOptions, 'endsWithProcess' | 'extraInput' | 'onLine'> {
  /** No limit when left out. */
  readonly timeoutMs?: number | undefined;
}

/** Output of a short command kept at most; more ends the command. Listings of our containers take 1 KB each. */
const MAX_COMMAND_OUTPUT_BYTES = 4 * 1024 * 1024;

/**
 * Working directory of the engine's command. conmon drops an empty file `oom` into the directory it was started in; on
 * Linux, the only place where it runs beside the client, /proc takes no files. A temporary directory would do too, but
 * would stay behind when the bridge is killed.
 */
export const CLIENT_DIRECTORY = process.platform === 'linux' ? '/proc' : undefined;

/**
 * Starts the command that is the pipe to a sandbox; it finds `input`, if given, on descriptor 3. Rejects with the system's
 * error when it cannot be started.
 */
export async function openPipe(
  command: EngineCommand,
  commandArguments: readonly string[],
  input?: Uint8Array,
): Promise<PipeProcess> {
  const child = spawn(command.executable, commandArguments, {
    ...(CLIENT_DIRECTORY === undefined ? {} : { cwd: CLIENT_DIRECTORY }),
    detached: LEADS_GROUP,
    windowsHide: true,
    env: { ...command.env },
    stdio: ['pipe', 'pipe', 'pipe', ...(input === undefined ? [] : ['pipe' as const])],
  }) as PipeProcess;
  const extra = child.stdio[3] as Writable | null | undefined;
  // A command that ends without reading it says so by its exit code.
  extra?.on('error', () => undefined).end(input);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  return child;
}

/** Whether what runs in the sandbox wrote to its stdout, so the engine has started it; looks without reading. */
export function hasSpoken(child: PipeProcess): boolean {
  // Node makes the pipes of a child process sockets; the typings do not tell. Not stderr: engines warn before they start.
  return (child.stdout as unknown as Socket).bytesRead > 0;
}

/** Runs a short command to its end. Never rejects; what went wrong stands in the result. */
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
