/**
 * The engine's command (`podman`, `docker`) as a process: the long one that is the pipe to a sandbox, and the short
 * ones that ask or order something. Both run in a process group of their own, because a rootless podman client is two
 * processes, and end as a group.
 *
 * The pipe uses `spawn`, not execa: execa makes an unread stdout flow one turn after the start, which would lose bytes
 * of a session that is not listening yet, and its import would be part of every cold start.
 */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';

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

interface CommandOptions {
  /** No limit when left out. */
  readonly timeoutMs?: number | undefined;
  /** Called with each line of stdout and stderr as it comes. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Whether the command is ended when this process ends; for commands that may take minutes. */
  readonly endsWithProcess?: boolean | undefined;
}

/** Longest delay of a Node timer: 24 days, here as good as none. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Output of a short command kept at most; more ends the command. Listings of our containers take 1 KB each. */
const MAX_COMMAND_OUTPUT_BYTES = 4 * 1024 * 1024;

/**
 * Working directory of the engine's command. conmon drops an empty file `oom` into the directory it was started in; on
 * Linux, the only place where it runs beside the client, /proc takes no files. A temporary directory would do too, but
 * would stay behind when the bridge is killed.
 */
export const CLIENT_DIRECTORY = process.platform === 'linux' ? '/proc' : undefined;

const spawnOptions = {
  ...(CLIENT_DIRECTORY === undefined ? {} : { cwd: CLIENT_DIRECTORY }),
  // Its own process group; on Windows `detached` would open a console window instead.
  detached: process.platform !== 'win32',
  windowsHide: true,
} as const;

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
    ...spawnOptions,
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

/** Whether the command has ended. */
export function hasEnded(child: PipeProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Whether what runs in the sandbox wrote to its stdout, so the engine has started it; looks without reading. */
export function hasSpoken(child: PipeProcess): boolean {
  // Node makes the pipes of a child process sockets; the typings do not tell. Not stderr: engines warn before they start.
  return (child.stdout as unknown as Socket).bytesRead > 0;
}

/** Runs a short command to its end. Never rejects; what went wrong stands in the result. */
export async function runCommand(
  command: EngineCommand,
  commandArguments: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { execa } = await import('execa');
  const subprocess = execa(command.executable, commandArguments, {
    ...spawnOptions,
    env: { ...command.env },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    maxBuffer: MAX_COMMAND_OUTPUT_BYTES,
    // Ours ends the whole group; execa's would leave grandchildren, which hold the pipes open, and wait for them.
    cleanup: false,
    ...(options.onLine === undefined
      ? {}
      : { stdout: lineTransform(options.onLine), stderr: lineTransform(options.onLine) }),
  });
  let isTimedOut = false;
  const end = (): void => killGroup(subprocess.pid, subprocess);
  const timer = setTimeout(() => {
    isTimedOut = true;
    end();
  }, options.timeoutMs ?? MAX_TIMER_MS);
  if (options.endsWithProcess === true) {
    process.once('exit', end);
  }
  const { exitCode, failed, originalMessage, stderr, stdout } = await subprocess;
  clearTimeout(timer);
  process.off('exit', end);
  // Without an exit code it could not be started, or was ended: execa's message says which.
  const reason = failed && exitCode === undefined ? (originalMessage ?? '') : '';
  return { exitCode, stdout, stderr: stderr || reason, isTimedOut };
}

/** SIGKILL to everything in the process group that `child` leads. Harmless when nothing of it is left. */
export function killGroup(pid: number | undefined, child: Pick<ChildProcess, 'kill'>): void {
  if (pid === undefined) {
    return;
  }
  try {
    if (spawnOptions.detached) {
      process.kill(-pid, 'SIGKILL');
    } else {
      child.kill('SIGKILL');
    }
  } catch {
    // ESRCH: all of them have ended, which is what was wanted.
  }
}

function lineTransform(onLine: (line: string) => void) {
  return function* (line: unknown): Generator<string> {
    onLine(String(line));
    yield String(line);
  };
}
