/**
 * Stops a server with everything it started. `npx` and `uvx` are launchers whose child is the server, so stopping only the
 * direct child would leave the server running.
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { endTree, isTreeAlive } from '../../core/base/process-tree.ts';

/** Well-behaved servers exit when stdin ends, and need less than this to save their state. Chosen. */
const STDIN_END_GRACE_MS = 1_000;
/** Time between SIGTERM and SIGKILL. Chosen; the three together bound a stop to 2.5 s. */
const TERMINATE_GRACE_MS = 1_000;
/** The operating system ends a killed process at once, unless it is stuck in disk I/O. */
const KILL_GRACE_MS = 500;
/** How often the group is checked: there is no event for the exit of a grandchild. */
const POLL_MS = 15;

/**
 * Stops a child started with `LEADS_GROUP` and its whole group: closes stdin, then sends SIGTERM where the platform has it,
 * then SIGKILL, each followed by its grace period. Resolves when the group is gone, after 2.5 s at the latest. The caller
 * keeps reading stdout meanwhile.
 */
export async function stopGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) {
    return;
  }
  child.stdin?.end();
  if (await endsWithin(child, STDIN_END_GRACE_MS)) {
    return;
  }
  if (endTree(child, 'SIGTERM') && (await endsWithin(child, TERMINATE_GRACE_MS))) {
    return;
  }
  endTree(child, 'SIGKILL');
  await endsWithin(child, KILL_GRACE_MS);
}

async function endsWithin(child: ChildProcess, graceMs: number): Promise<boolean> {
  const deadline = performance.now() + graceMs;
  while (isTreeAlive(child)) {
    if (performance.now() >= deadline) {
      return false;
    }
    await sleep(POLL_MS);
  }
  return true;
}
