/**
 * One running sandbox: the engine's client process as a pipe, and the order in which it is ended for certain.
 * The order was measured; others hang: `docker kill` waits over 90 s and `podman kill` fails after 5 s while stdout is
 * unread.
 */
import { STDIN_END_GRACE_MS } from '../limits.ts';
import { killGroup, type PipeProcess } from './client.ts';
import type { Sandbox, SandboxExit } from './engine.ts';

/**
 * Makes a sandbox of the client process `child`. `remove` makes the engine forget the container, whatever its state,
 * and must not reject; it is called when the client did not see the container's end.
 */
export function createSandbox(id: string, child: PipeProcess, remove: () => Promise<void>): Sandbox {
  const exited = new Promise<SandboxExit>((resolve) => {
    child.once('close', (exitCode, signal) => {
      resolve({ exitCode: exitCode ?? undefined, signal: signal ?? undefined });
    });
  });
  let removing: Promise<void> | undefined;
  let ending: Promise<void> | undefined;

  child.once('exit', (_exitCode, signal) => {
    // A rootless podman client is two processes; the second would hold the pipes open.
    killGroup(child.pid, child);
    if (signal !== null) {
      removing = remove();
    }
  });
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    // A broken pipe means that the sandbox ended, which `exited` tells; without a listener it would end this process.
    stream.on('error', () => undefined);
  }

  async function end(): Promise<void> {
    // Destroyed, not ended: what is still queued for the sandbox would hold back the end of the stream.
    child.stdin.destroy();
    child.stdout.resume();
    child.stderr.resume();
    if (!(await settlesWithin(exited, STDIN_END_GRACE_MS))) {
      child.stdout.destroy();
      child.stderr.destroy();
      killGroup(child.pid, child);
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

async function settlesWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  const settled = await Promise.race([promise.then(() => true as const), late]);
  clearTimeout(timer);
  return settled;
}
