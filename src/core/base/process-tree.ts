/**
 * A child process together with everything it started. On POSIX, the child leads a process group, and a signal to the group
 * reaches them all. Windows has neither groups nor signals; there, `taskkill` follows parent ids for as long as the root is
 * alive. Execa signals only the direct child.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { systemProgram } from './windows.ts';

export type EndingSignal = 'SIGTERM' | 'SIGKILL';

/** How to end a tree: a signal to a process id, or a command. */
export type TreeEnding =
  | { readonly kind: 'signal'; readonly pid: number }
  | { readonly kind: 'command'; readonly command: string; readonly args: readonly string[] };

/** The `detached` option for a child whose descendants must end with it. False on Windows, where it would open a console window. */
export const LEADS_GROUP = process.platform !== 'win32';

/**
 * How to send `signal` to the tree of `child`. Undefined if that is not possible: Windows has no SIGTERM for programs without
 * a window, and the id of a child that has ended may belong to another process by now. Pure.
 */
export function treeEnding(
  child: { readonly pid: number; readonly hasEnded: boolean },
  signal: EndingSignal,
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): TreeEnding | undefined {
  if (platform !== 'win32') {
    // A group's id is not reused while any process of the group is alive.
    return { kind: 'signal', pid: -child.pid };
  }
  if (signal === 'SIGTERM' || child.hasEnded) {
    return undefined;
  }
  const args = ['/PID', String(child.pid), '/T', '/F'];
  return { kind: 'command', command: systemProgram('taskkill.exe', env), args };
}

type Child = Pick<ChildProcess, 'exitCode' | 'kill' | 'pid' | 'signalCode'>;

/** Whether the child itself has ended. What it started may still be running. */
export function hasEnded({ exitCode, signalCode }: Child): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Sends `signal` to the whole tree, even if it has already ended. Returns whether the signal could be sent at all. */
export function endTree(child: Child, signal: EndingSignal): boolean {
  const { pid } = child;
  if (pid === undefined) {
    // It never started; pid 0 would be our own group.
    return false;
  }
  const ending = treeEnding({ pid, hasEnded: hasEnded(child) }, signal, process.platform, process.env);
  if (ending?.kind === 'command') {
    const killer = spawn(ending.command, ending.args, { stdio: 'ignore', windowsHide: true });
    // Without taskkill, only the child itself can be ended.
    killer.on('error', () => child.kill(signal));
  } else if (ending !== undefined) {
    try {
      process.kill(ending.pid, signal);
    } catch {
      // ESRCH: all of them have already ended.
    }
  }
  return ending !== undefined;
}

/** Whether the child or any process of its group is still running. On Windows, only the child is checked. */
export function isTreeAlive(child: Child): boolean {
  const { pid } = child;
  if (pid === undefined || !hasEnded(child)) {
    return pid !== undefined;
  }
  return LEADS_GROUP && isGroupAlive(pid);
}

function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    // EPERM: the group exists, but its processes belong to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
