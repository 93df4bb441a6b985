/**
 * One running sandbox: the engine's client process as a pipe, and the steps that end it reliably. Their order matters and was found
 * by experiment: while stdout is not being read, `docker kill` hangs for more than 90 s and `podman kill` fails after 5 s.
 */
import { STDIN_END_GRACE_MS } from '../../core/base/limits.ts';
import { endTree } from '../../core/base/process-tree.ts';
import type { Sandbox, SandboxExit, SweepOptions } from '../../core/session/engine.ts';
import { hasSpoken, type PipeProcess } from './client.ts';

/**
 * How long a sandbox that is still starting may continue after `kill`. A podman client killed during a start leaves behind conmon
 * and a container that podman itself no longer lists (4.3.1). If it may continue, the sandbox starts, finds its input closed, and
 * everything ends.
 */
const START_END_GRACE_MS = 10_000;
/** How often `kill` checks whether a start has finished. */
const POLL_MS = 50;

/**
 * Makes a sandbox from the client process `child`. `remove` removes the container from the engine in any state and must not reject.
 * It is called if the client ended before the container did. `startGraceMs` is how long a start may continue after `kill`.
 */
export function createSandbox(
  id: string,
  child: PipeProcess,
  remove: () => Promise<void>,
  startGraceMs: number = START_END_GRACE_MS,
): Sandbox {
  const exited = exitOf(child);
  let removing: Promise<void> | undefined;
  let ending: Promise<void> | undefined;

  child.once('exit', (_exitCode, signal) => {
    // A rootless podman client is two processes. The second would keep the pipes open.
    endTree(child, 'SIGKILL');
    if (signal !== null) {
      removing ??= remove();
    }
  });
  ignoreBrokenPipes(child);

  /** Waits for the client to end after its input was closed. Returns whether it did. */
  async function endsByItself(): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < startGraceMs && !hasSpoken(child); waitedMs += POLL_MS) {
      if (await settlesWithin(exited, POLL_MS)) {
        return true;
      }
    }
    return settlesWithin(exited, STDIN_END_GRACE_MS);
  }

  async function end(): Promise<void> {
    // Destroyed, not ended: `end` would first wait until everything queued for the sandbox is written.
    child.stdin.destroy();
    child.stdout.resume();
    child.stderr.resume();
    if (!(await endsByItself())) {
      child.stdout.destroy();
      child.stderr.destroy();
      endTree(child, 'SIGKILL');
      // Always, not only after a signal: a docker client whose stdout was just closed may exit by itself before the signal
      // arrives, and leave its container running.
      removing ??= exited.then(remove);
    }
    await exited;
    // A client that ends by itself has already removed the container (`--rm`), also after a failed start (measured).
    await removing;
  }

  return {
    id,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    kill() {
      ending ??= end();
      return ending;
    },
  };
}

/** The running sandboxes of an engine without containers. They end with their bridge, so there is nothing else to sweep. */
export class RunningSandboxes {
  readonly #running = new Set<Sandbox>();

  add(sandbox: Sandbox): void {
    this.#running.add(sandbox);
    void sandbox.exited.then(() => this.#running.delete(sandbox));
  }

  async sweep({ own = false }: SweepOptions = {}): Promise<number> {
    const running = own ? [...this.#running] : [];
    await Promise.all(running.map((sandbox) => sandbox.kill()));
    return running.length;
  }
}

/** A broken pipe means that the sandbox ended, which `exited` reports. Without a listener the error would end this process. */
function ignoreBrokenPipes({ stderr, stdin, stdout }: PipeProcess): void {
  for (const stream of [stdin, stdout, stderr]) {
    stream.on('error', () => undefined);
  }
}

function exitOf(child: PipeProcess): Promise<SandboxExit> {
  return new Promise((resolve) => {
    child.once('close', (exitCode, signal) => {
      resolve({ exitCode: exitCode ?? undefined, signal: signal ?? undefined });
    });
  });
}

async function settlesWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  const settled = await Promise.race([promise.then(() => true as const), late]);
  clearTimeout(timer);
  return settled;
}
