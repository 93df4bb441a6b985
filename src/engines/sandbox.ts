/**
 * One running sandbox: the engine's client process as a pipe, and the order in which it is ended for certain.
 * The order was measured; others hang: `docker kill` waits over 90 s and `podman kill` fails after 5 s while stdout is
 * unread.
 */
import { STDIN_END_GRACE_MS } from '../base/limits.ts';
import { endTree } from '../base/process-tree.ts';
import { hasSpoken, type PipeProcess } from './client.ts';
import type { Sandbox, SandboxExit } from './engine.ts';

/**
 * How long a start may go on after the sandbox was given up. A podman client that is killed while it starts leaves conmon
 * and the unstarted container behind, where podman itself no longer sees them (4.3.1); one that is let go on starts a
 * sandbox that finds its input at an end, and all of it is gone.
 */
const START_END_GRACE_MS = 10_000;
/** How often is looked whether a sandbox that was given up has come up. */
const LOOK_EVERY_MS = 50;

/**
 * Makes a sandbox of the client process `child`. `remove` makes the engine forget the container, whatever its state,
 * and must not reject; it is called when the client did not see the container's end. `startGraceMs` is how long a start is
 * let go on after the sandbox was given up.
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
    // A rootless podman client is two processes; the second would hold the pipes open.
    endTree(child, 'SIGKILL');
    if (signal !== null) {
      removing ??= remove();
    }
  });
  ignoreBrokenPipes(child);

  /** Whether the client ends without being killed, given the end of its input. */
  async function endsByItself(): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < startGraceMs && !hasSpoken(child); waitedMs += LOOK_EVERY_MS) {
      if (await settlesWithin(exited, LOOK_EVERY_MS)) {
        return true;
      }
    }
    return settlesWithin(exited, STDIN_END_GRACE_MS);
  }

  async function end(): Promise<void> {
    // Destroyed, not ended: what is still queued for the sandbox would hold back the end of the stream.
    child.stdin.destroy();
    child.stdout.resume();
    child.stderr.resume();
    if (!(await endsByItself())) {
      child.stdout.destroy();
      child.stderr.destroy();
      endTree(child, 'SIGKILL');
      // Whatever it ends by: a docker client whose stdout was just closed may end by itself before the signal comes,
      // with an exit code, and leave its container running.
      removing ??= exited.then(remove);
    }
    await exited;
    // A client that ends by itself has seen to `--rm` before, also after a failed start (measured).
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

/** A broken pipe means that the sandbox ended, which `exited` tells; without a listener it would end this process. */
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
