/** The process of a server: its group, its pipes, the end of its stderr, and how it exited. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { endTree, LEADS_GROUP } from '../../core/base/process-tree.ts';
import { readInSlices } from '../../core/base/slices.ts';
import { startableCommand } from '../../core/base/windows.ts';
import type { Guardian } from './guardian.ts';
import { stopGroup } from './process-group.ts';

/** How long output is still read after a server exits. The limit is needed because a grandchild may hold the pipe open. */
const DRAIN_AFTER_EXIT_MS = 500;

/** The same for a program that does one job: its last output is its result, and is in the pipe by then. Chosen. */
const DRAIN_AFTER_JOB_MS = 2_000;

/** How a server exited. Both are undefined if it never started, or if it was stopped and its exit was not observed. */
export interface ServerExit {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

export interface ServerProcessOptions extends ServerCommand {
  readonly guardian: Guardian;
  /** Called with what the server writes to stdout. */
  readonly onOutput: (chunk: Buffer) => void;
  /** Called whenever the server writes to stderr. */
  readonly onStderr?: (() => void) | undefined;
  /** Whether it does one job and ends: closing stdin or stdout is then no reason to stop it. */
  readonly isJob?: boolean | undefined;
  /** Masks secrets in the end of stderr. */
  readonly maskText?: (text: string) => string;
}

export class ServerProcess {
  /** Resolves when the process is gone and its output has been read. Never rejects. */
  readonly exited: Promise<ServerExit>;

  readonly #options: ServerProcessOptions;
  readonly #stderrTail: StderrTail;
  #resolveExited: (exit: ServerExit) => void = () => undefined;
  #child: ChildProcess | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #isGone = false;
  #endedItself = false;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
    this.#stderrTail = createStderrTail(options.maskText);
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  /** Process id, which is also the id of the process group; undefined before the start. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether it exited without being asked to. */
  get endedItself(): boolean {
    return this.#endedItself;
  }

  /** The pipe to the server; undefined if it cannot be written to. Its errors are handled here. */
  get stdin(): Writable | undefined {
    const stdin = this.#isGone ? undefined : this.#child?.stdin;
    return stdin?.writable === true ? stdin : undefined;
  }

  /** The last lines the server wrote to stderr. */
  lastStderrLines(): string {
    return this.#stderrTail.lastLines();
  }

  /** Starts the process once; rejects with the error of the operating system. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Stops the process and everything it started; resolves when they are gone. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Resolves when the process is gone, or soon after: a broken pipe is noticed before the exit is. */
  async exitedOrSoon(): Promise<void> {
    await Promise.race([this.exited, sleep(DRAIN_AFTER_EXIT_MS)]);
  }

  async #start(): Promise<void> {
    try {
      this.#child = await spawnServer(this.#options);
    } catch (error) {
      this.#settle({ exitCode: undefined, signal: undefined });
      throw error;
    }
    this.#watch(this.#child);
  }

  async #stop(): Promise<void> {
    // A failed start leaves nothing to stop, and its caller has the error.
    await this.#starting?.catch(() => undefined);
    if (this.#child !== undefined) {
      await stopGroup(this.#child);
      this.#release(this.#child);
    }
    this.#settle({ exitCode: this.#child?.exitCode ?? undefined, signal: this.#child?.signalCode ?? undefined });
  }

  #watch(child: ChildProcess): void {
    const { stdout, stderr, stdin, pid } = child;
    if (stdout !== null) {
      readInSlices(stdout, this.#options.onOutput);
    }
    if (stderr !== null) {
      readInSlices(stderr, (chunk) => {
        this.#stderrTail.push(chunk);
        this.#options.onStderr?.();
      });
    }
    // A broken pipe means that the server exited, and the exit says more.
    [stdin, stdout, stderr].forEach((stream) => stream?.on('error', () => undefined));
    child.once('exit', (exitCode, signal) => {
      this.#endedItself = this.#stopping === undefined;
      void this.#finish(child, { exitCode: exitCode ?? undefined, signal: signal ?? undefined });
    });
    // A server that closed stdin or stdout cannot be used any more.
    if (this.#options.isJob !== true) {
      [stdin, stdout].forEach((stream) => stream?.once('close', () => void this.#stopUnlessEnding()));
    }
    if (pid !== undefined) {
      this.#options.guardian.watch(pid);
    }
  }

  async #stopUnlessEnding(): Promise<void> {
    await this.exitedOrSoon();
    if (!this.#isGone) {
      await this.stop();
    }
  }

  async #finish(child: ChildProcess, exit: ServerExit): Promise<void> {
    if (child.stdout !== null) {
      await waitForEnd(child.stdout, this.#options.isJob === true ? DRAIN_AFTER_JOB_MS : DRAIN_AFTER_EXIT_MS);
    }
    if (this.#stopping === undefined) {
      // What the server started is of no use without it.
      endTree(child, 'SIGKILL');
    }
    [child.stdin, child.stdout, child.stderr].forEach((stream) => stream?.destroy());
    this.#settle(exit);
    await this.#stopping;
    this.#release(child);
  }

  #release(child: ChildProcess): void {
    if (child.pid !== undefined) {
      this.#options.guardian.release(child.pid);
    }
  }

  #settle(exit: ServerExit): void {
    this.#isGone = true;
    this.#resolveExited(exit);
  }
}

/** Resolves when the process runs; rejects with the error of the operating system (ENOENT, EACCES, …). */
function spawnServer(server: ServerCommand): Promise<ChildProcess> {
  const { command, args, isVerbatim } = startableCommand(server.command, server.args, server.env);
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      cwd: server.cwd,
      env: server.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own process group, which can be stopped as a whole and does not receive Ctrl-C from the terminal.
      detached: LEADS_GROUP,
      windowsHide: true,
      windowsVerbatimArguments: isVerbatim,
    });
    child.once('error', reject);
    child.once('spawn', () => resolve(child));
  });
}

function waitForEnd(stream: Readable, limitMs: number): Promise<void> {
  if (stream.readableEnded || stream.destroyed) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limitMs);
    stream.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * Control sequences of terminals (ECMA-48): those with parameters, such as colors, and strings, such as titles. Node's
 * `stripVTControlCharacters` (Node 20) takes 25 s for a hostile 128 KiB; here, no part can match what another part can.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
const CONTROL_SEQUENCE =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-Z\\^-~]/g;

/** Enough for a stack trace after some pages of start-up messages. Chosen. */
const KEPT_BYTES = 64 * 1024;
const QUOTED_LINES = 12;
const QUOTED_CHARS = 2_000;

/** The end of what a server wrote to stderr, in bounded memory; quoted if the server fails. */
interface StderrTail {
  push(chunk: Buffer): void;
  /** The last lines, without colors and blank lines; empty if nothing was written. */
  lastLines(): string;
}

/** `maskText` is applied before lines are cut, because half a secret would not be recognized. */
export function createStderrTail(maskText: (text: string) => string = String): StderrTail {
  let chunks: Buffer[] = [];
  let keptBytes = 0;

  return {
    push(chunk) {
      // Copied, because a slice would keep the whole read buffer alive.
      chunks.push(Buffer.from(chunk.subarray(-KEPT_BYTES)));
      keptBytes += Math.min(chunk.length, KEPT_BYTES);
      // Compacted only when twice full, so that each byte is copied about once.
      if (keptBytes > 2 * KEPT_BYTES) {
        const tail = Buffer.from(Buffer.concat(chunks).subarray(-KEPT_BYTES));
        chunks = [tail];
        keptBytes = tail.length;
      }
    },
    lastLines() {
      const text = maskText(Buffer.concat(chunks).toString('utf8').replace(CONTROL_SEQUENCE, ''));
      const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
      return lines.slice(-QUOTED_LINES).join('\n').slice(-QUOTED_CHARS);
    },
  };
}
