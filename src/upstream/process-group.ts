/**
 * A server as a process group: what it started ends with it. `npx` and `uvx` are launchers whose child is the server,
 * so signals to the direct child alone would leave the server running.
 * node:child_process instead of execa: execa signals the direct child only and costs 90 ms of import.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/** Well-behaved servers end when stdin ends; writing out their state takes them less than this. Chosen. */
const STDIN_END_GRACE_MS = 1_000;
/** Time between SIGTERM and SIGKILL. Chosen; with the other two, a stop takes 2.5 s at most. */
const TERMINATE_GRACE_MS = 1_000;
/** The kernel ends a killed process at once, unless a disk does not answer. */
const KILL_GRACE_MS = 500;
/** How often a group is looked for: there is no event for the end of a grandchild. */
const POLL_MS = 15;

const IS_WINDOWS = process.platform === 'win32';

/** Whether any process of the group still exists. */
function isGroupAlive(pid: number): boolean {
  try {
    process.kill(IS_WINDOWS ? pid : -pid, 0);
    return true;
  } catch (error) {
    // EPERM: there are processes, of another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Sends `signal` to every process of the group; one that is gone is fine. */
export function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (IS_WINDOWS) {
    // Windows has no groups: taskkill follows the tree of parents.
    const force = signal === 'SIGKILL' ? ['/F'] : [];
    spawn('taskkill', ['/PID', String(pid), '/T', ...force], { stdio: 'ignore', windowsHide: true }).on(
      'error',
      () => undefined,
    );
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: the group ended by itself.
  }
}

/**
 * Ends a child started with `detached` and its whole group: end of stdin, then SIGTERM, then SIGKILL, each followed by
 * its grace period. Resolves when the group is gone, after 2.5 s at the latest. The caller keeps reading stdout meanwhile.
 */
export async function stopGroup(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined) {
    return;
  }
  child.stdin?.end();
  if (await endsWithin(child, pid, STDIN_END_GRACE_MS)) {
    return;
  }
  signalGroup(pid, 'SIGTERM');
  if (await endsWithin(child, pid, TERMINATE_GRACE_MS)) {
    return;
  }
  signalGroup(pid, 'SIGKILL');
  await endsWithin(child, pid, KILL_GRACE_MS);
}

async function endsWithin(child: ChildProcess, pid: number, graceMs: number): Promise<boolean> {
  const deadline = performance.now() + graceMs;
  for (;;) {
    const hasExited = child.exitCode !== null || child.signalCode !== null;
    // The number of a group is not given to another process while one of the group lives.
    if (hasExited && !isGroupAlive(pid)) {
      return true;
    }
    if (performance.now() >= deadline) {
      return false;
    }
    await sleep(POLL_MS);
  }
}
