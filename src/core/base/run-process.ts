/**
 * Runs a program that does one job and ends, such as querying an engine, printing a secret or installing a package.
 * Long-running servers and sandboxes are started elsewhere. No shell is involved, and the program inherits neither
 * environment variables nor standard input.
 */
import { createInterface } from 'node:readline';
import type { execa, Options } from 'execa';
import { messageOf } from './errors.ts';
import { endTree, LEADS_GROUP } from './process-tree.ts';
import { startableCommand } from './windows.ts';

export interface ProcessOptions {
  /** Its complete environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: the working directory of this process. */
  readonly cwd?: string | undefined;
  /** Its standard input. Default: empty. */
  readonly input?: string | undefined;
  /** What it can read from file descriptor 3. Default: the descriptor is closed. */
  readonly extraInput?: Uint8Array | undefined;
  /** After this time, the program and everything it started are killed. Default: no limit. */
  readonly deadlineMs?: number | undefined;
  /** The limit for stdout and stderr together; a program that exceeds it is killed too. */
  readonly maxOutputBytes: number;
  /** Discards stderr without reading it. */
  readonly ignoresStderr?: boolean | undefined;
  /** Called with each line of stdout and stderr as it arrives. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Kills the program when this process ends; for programs that may take long or wait for a person. */
  readonly endsWithProcess?: boolean | undefined;
  /** Keeps the program in the terminal's process group, so that Ctrl-C ends it too. At a limit, its descendants are not killed. */
  readonly isForeground?: boolean | undefined;
}

/** How a program ended. If several causes apply, the first one counts. */
export interface ProcessEnd {
  readonly endedBy: 'exit' | 'signal' | 'deadline' | 'output limit' | 'not found' | 'not executable' | 'not started';
  /** Undefined unless the program exited by itself. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** The system's message if the program could not be started. May contain its arguments. */
  readonly reason: string;
}

/** Kills the programs that must not outlive this process. One listener for all, because Node warns of a leak at the eleventh. */
const endings = new Set<() => void>();
const endAll = (): void => endings.forEach((end) => end());

type Child = ReturnType<typeof execa<ReturnType<typeof execaOptions>>>;

/** Runs the program to its end. Never rejects: a failure is part of the result. */
export async function runProcess(words: readonly string[], options: ProcessOptions): Promise<ProcessEnd> {
  const [program = '', ...rest] = words;
  // Importing it takes 90 ms, and nothing else at a cold start needs it.
  const { execa } = await import('execa');
  let child: Child;
  try {
    const { args, command, isVerbatim } = startableCommand(program, rest, options.env);
    child = execa(command, args, execaOptions(options, isVerbatim));
  } catch (error) {
    return notStarted(error, messageOf(error));
  }
  const guard = guardLimits(child, options);
  const result = await child;
  const limit = guard.release();
  if (child.pid === undefined) {
    return notStarted(result, result.originalMessage ?? '');
  }
  return {
    endedBy: limit ?? (result.signal === undefined ? 'exit' : 'signal'),
    exitCode: limit === undefined ? result.exitCode : undefined,
    signal: result.signal,
    stdout: Buffer.from(result.stdout ?? []),
    stderr: Buffer.from(result.stderr ?? []),
    reason: '',
  };
}

/** Kills the program at its limits. `release` stops watching and returns the limit that was reached first, if any. */
function guardLimits(child: Child, options: ProcessOptions) {
  const { deadlineMs, endsWithProcess = false, isForeground = false, maxOutputBytes, onLine } = options;
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  let reached: 'deadline' | 'output limit' | undefined;
  const end = (): void => {
    if (isForeground) {
      child.kill('SIGKILL');
    } else {
      endTree(child, 'SIGKILL');
    }
    // A process that left the group may keep them open.
    outputs.forEach((stream) => stream.destroy());
  };
  const endAt = (limit: NonNullable<typeof reached>): void => {
    reached ??= limit;
    end();
  };
  const timer = deadlineMs === undefined ? undefined : setTimeout(() => endAt('deadline'), deadlineMs);
  if (endsWithProcess) {
    endings.add(end);
    process.off('exit', endAll).once('exit', endAll);
  }
  let bytes = 0;
  for (const stream of outputs) {
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxOutputBytes) {
        endAt('output limit');
      }
    });
    if (onLine !== undefined) {
      createInterface({ input: stream }).on('line', onLine);
    }
  }
  return {
    release() {
      clearTimeout(timer);
      endings.delete(end);
      return reached;
    },
  };
}

function execaOptions(options: ProcessOptions, isVerbatim: boolean) {
  const { cwd, env, extraInput, ignoresStderr, input, isForeground = false } = options;
  return {
    ...(cwd === undefined ? {} : { cwd }),
    env,
    extendEnv: false,
    stdio: [
      input === undefined ? 'ignore' : Buffer.from(input),
      'pipe',
      ignoresStderr === true ? 'ignore' : 'pipe',
      ...(extraInput === undefined ? [] : [extraInput]),
    ],
    encoding: 'buffer',
    stripFinalNewline: false,
    maxBuffer: Number.POSITIVE_INFINITY,
    reject: false,
    detached: LEADS_GROUP && !isForeground,
    // Execa would kill only the direct child, and its children would keep the pipes open.
    cleanup: isForeground,
    windowsVerbatimArguments: isVerbatim,
  } as const satisfies Options;
}

function notStarted(error: unknown, reason: string): ProcessEnd {
  const code = error instanceof Object && 'code' in error ? error.code : undefined;
  const endedBy = code === 'ENOENT' ? 'not found' : code === 'EACCES' ? 'not executable' : 'not started';
  const none = Buffer.alloc(0);
  return { endedBy, exitCode: undefined, signal: undefined, stdout: none, stderr: none, reason };
}
