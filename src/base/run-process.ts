/**
 * Runs a program that does one thing and ends: one that asks an engine, prints a secret, or installs a package. What stays,
 * servers and sandboxes, is started where it is looked after. No shell reads the words, and the program inherits nothing
 * unasked: neither variables nor standard input.
 */
import { createInterface } from 'node:readline';
import type { execa, Options } from 'execa';
import { messageOf } from './errors.ts';
import { endTree, LEADS_GROUP } from './process-tree.ts';
import { startableCommand } from './windows.ts';

export interface ProcessOptions {
  /** All of its variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory of this process when left out. */
  readonly cwd?: string | undefined;
  /** What it reads from standard input; nothing when left out. */
  readonly input?: string | undefined;
  /** What it reads from descriptor 3, which it does not have when left out. */
  readonly extraInput?: Uint8Array | undefined;
  /** After this long it is ended with everything it started. No limit when left out. */
  readonly deadlineMs?: number | undefined;
  /** More than this on stdout and stderr together ends it, too. */
  readonly maxOutputBytes: number;
  /** Whether stderr is not even read. */
  readonly ignoresStderr?: boolean | undefined;
  /** Called with each line of stdout and stderr as it comes. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Whether it is ended when this process ends; for what may take long, or waits for a person. */
  readonly endsWithProcess?: boolean | undefined;
  /** Stays in the process group of the terminal, so that Ctrl-C ends it, too. At a limit, what it started is not ended. */
  readonly isForeground?: boolean | undefined;
}

/** How a program ended. The first cause counts. */
export interface ProcessEnd {
  readonly endedBy: 'exit' | 'signal' | 'deadline' | 'output limit' | 'not found' | 'not executable' | 'not started';
  /** Undefined unless it ended by itself. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** What the system says of a program that could not be started. May repeat its arguments. */
  readonly reason: string;
}

/** Ends the programs that must not outlive this process. One listener for all: Node warns of a leak at the eleventh. */
const endings = new Set<() => void>();
const endAll = (): void => endings.forEach((end) => end());

type Child = ReturnType<typeof execa<ReturnType<typeof execaOptions>>>;

/** Runs the program to its end. Never rejects: what went wrong is in the result. */
export async function runProcess(words: readonly string[], options: ProcessOptions): Promise<ProcessEnd> {
  const [program = '', ...rest] = words;
  // 90 ms of import, which nothing else of a cold start needs.
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

/** Ends the program at its limits. `release` stops that and gives the limit that was reached first, if any. */
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
    // What left the group may hold them open.
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
    // Execa's own ending reaches the direct child alone, whose children hold the pipes open.
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
