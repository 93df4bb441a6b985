/**
 * A child together with everything it started. On POSIX it leads a process group, and a signal to the group reaches all.
 * Windows has neither groups nor signals: `taskkill` follows the tree of parents, as long as its root lives.
 * Execa signals the direct child only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { systemProgram } from './windows.ts';

export type EndingSignal = 'SIGTERM' | 'SIGKILL';

/** What ends a tree: a signal to this process id, or this command. */
export type TreeEnding =
  | { readonly kind: 'signal'; readonly pid: number }
  | { readonly kind: 'command'; readonly command: string; readonly args: readonly string[] };

/** Option `detached` of a child that is to be ended with what it starts; on Windows it would open a console window. */
export const LEADS_GROUP = process.platform !== 'win32';

/**
 * How the tree of the child `pid` gets `signal`. Undefined where nothing can be done: on Windows there is nothing like
 * SIGTERM for programs without a window, and the number of a child that has ended may be that of a stranger. Pure.
 */
export function treeEnding(
  child: { readonly pid: number; readonly hasEnded: boolean },
  signal: EndingSignal,
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): TreeEnding | undefined {
  if (platform !== 'win32') {
    // The number of a group is not given to another one while one of the group lives.
    return { kind: 'signal', pid: -child.pid };
  }
  if (signal === 'SIGTERM' || child.hasEnded) {
    return undefined;
  }
  const args = ['/PID', String(child.pid), '/T', '/F'];
  return { kind: 'command', command: systemProgram('taskkill.exe', env), args };
}

/** What is needed of a child to end it with what it started. */
type Child = Pick<ChildProcess, 'exitCode' | 'kill' | 'pid' | 'signalCode'>;

/** Whether the child itself has ended; what it started may go on. */
export function hasEnded({ exitCode, signalCode }: Child): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Sends `signal` to the whole tree; one that is gone is fine. Whether there was a way to send it. */
export function endTree(child: Child, signal: EndingSignal): boolean {
  const { pid } = child;
  if (pid === undefined) {
    // It never ran; 0 would be the group of this process.
    return false;
  }
  const ending = treeEnding({ pid, hasEnded: hasEnded(child) }, signal, process.platform, process.env);
  if (ending?.kind === 'command') {
    const killer = spawn(ending.command, ending.args, { stdio: 'ignore', windowsHide: true });
    // Without it the child alone is ended.
    killer.on('error', () => child.kill(signal));
  } else if (ending !== undefined) {
    try {
      process.kill(ending.pid, signal);
    } catch {
      // ESRCH: all of them have ended by themselves.
    }
  }
  return ending !== undefined;
}

/** Whether the child or anything of its group still runs; on Windows of the child alone. */
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
    // EPERM: there are processes, of another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
