/**
 * Ends a server with everything it started. `npx` and `uvx` are launchers whose child is the server, so an end of the
 * direct child alone would leave the server running.
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { endTree, isTreeAlive } from '../base/process-tree.ts';

/** Well-behaved servers end when stdin ends; writing out their state takes them less than this. Chosen. */
const STDIN_END_GRACE_MS = 1_000;
/** Time between SIGTERM and SIGKILL. Chosen; with the other two, a stop takes 2.5 s at most. */
const TERMINATE_GRACE_MS = 1_000;
/** The kernel ends a killed process at once, unless a disk does not answer. */
const KILL_GRACE_MS = 500;
/** How often a group is looked for: there is no event for the end of a grandchild. */
const POLL_MS = 15;

/**
 * Ends a child started with `LEADS_GROUP` and its whole group: end of stdin, then SIGTERM where there is such a thing, then
 * SIGKILL, each followed by its grace period. Resolves when the group is gone, after 2.5 s at the latest. The caller keeps
 * reading stdout meanwhile.
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
