/** The process of a server from start to end: its group, its pipes, the end of its stderr, and how it ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { endTree, LEADS_GROUP } from '../base/process-tree.ts';
import { readInSlices } from '../base/slices.ts';
import { startableCommand } from '../base/windows.ts';
import type { Guardian } from './guardian.ts';
import { stopGroup } from './process-group.ts';
import { createStderrTail, type StderrTail } from './stderr-tail.ts';

/** Answers that were written before a server ended are still read for this long; a grandchild may hold the pipe open. */
const DRAIN_AFTER_EXIT_MS = 500;

/** How a server ended. Both undefined: it never started, or it was stopped and its end was not seen. */
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
  /** Gets what the server writes to stdout, until it is gone. */
  readonly onOutput: (chunk: Buffer) => void;
  /** Masks secrets in the end of stderr. */
  readonly maskText?: (text: string) => string;
}

export class ServerProcess {
  /** Resolves when the process is gone and what it wrote was read. Never rejects. */
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

  /** Number of the process and of its group; undefined before the start. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether it ended without being asked to. */
  get endedItself(): boolean {
    return this.#endedItself;
  }

  /** Where to write to; undefined when nothing can be written. Its errors are handled here. */
  get stdin(): Writable | undefined {
    const stdin = this.#isGone ? undefined : this.#child?.stdin;
    return stdin?.writable === true ? stdin : undefined;
  }

  /** The last lines the server wrote to stderr. */
  lastStderrLines(): string {
    return this.#stderrTail.lastLines();
  }

  /** Starts it once; rejects with the error of the operating system. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Ends it and everything it started; resolves when they are gone. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Resolves when the process is gone, or soon: a broken pipe is noticed before the end of the process is. */
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
    // A start that failed left nothing to stop; its caller has the error.
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
      readInSlices(stderr, (chunk) => this.#stderrTail.push(chunk));
    }
    // A pipe that breaks means that the server ended, and its exit tells more.
    [stdin, stdout, stderr].forEach((stream) => stream?.on('error', () => undefined));
    child.once('exit', (exitCode, signal) => {
      this.#endedItself = this.#stopping === undefined;
      void this.#finish(child, { exitCode: exitCode ?? undefined, signal: signal ?? undefined });
    });
    // A server that closed one of them cannot be talked to any more.
    [stdin, stdout].forEach((stream) => stream?.once('close', () => void this.#stopUnlessEnding()));
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
      await waitForEnd(child.stdout, DRAIN_AFTER_EXIT_MS);
    }
    if (this.#stopping === undefined) {
      // What it started has nobody left to talk to.
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

/** Resolves when the process runs; rejects with what the operating system says (ENOENT, EACCES, …). */
function spawnServer(server: ServerCommand): Promise<ChildProcess> {
  const { command, args, isVerbatim } = startableCommand(server.command, server.args, server.env);
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      cwd: server.cwd,
      env: server.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      // A process group of its own, which ends as a whole and does not get the terminal's Ctrl-C.
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
