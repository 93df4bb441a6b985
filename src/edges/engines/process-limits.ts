/**
 * Process limits that containers and bubblewrap share, and the hard limits of this process. The engine's command
 * inherits those hard limits. A user without CAP_SYS_RESOURCE cannot raise them, so a start that asks for more would fail.
 */
import { readFileSync } from 'node:fs';
import { MAX_SESSIONS } from '../../core/base/limits.ts';
import type { SandboxLimits } from '../../core/session/engine.ts';

export interface HardLimits {
  /** Processes and threads of this user; undefined if unlimited or unknown. */
  readonly processes?: number | undefined;
  readonly openFiles?: number | undefined;
}

/** Open files in a sandbox; the usual soft limit of a login shell. */
const MAX_OPEN_FILES = 1024;
/** Size of /dev/shm: multiprocessing primitives need little. */
export const SHM_BYTES = 16 * 1024 * 1024;
/** If the machine runs out of memory, the kernel kills a sandbox before the user's own programs (range -1000 … 1000). */
export const OOM_SCORE_ADJUSTMENT = 500;

/**
 * RLIMIT_NOFILE and RLIMIT_NPROC of a sandbox. The Linux kernel counts processes per host uid, over all sandboxes, so the limit
 * must exceed what all of them may have together; otherwise they would block each other. It is set at all because a user without
 * CAP_SYS_RESOURCE cannot set podman's default.
 * In a container, `--pids-limit` limits one sandbox; in bubblewrap, the supervisor does.
 */
export function resourceLimits(
  { pids, sandboxes = MAX_SESSIONS }: Pick<SandboxLimits, 'pids' | 'sandboxes'>,
  hardLimits: HardLimits = {},
): { readonly openFiles: number; readonly processes: number } {
  return {
    openFiles: Math.min(MAX_OPEN_FILES, hardLimits.openFiles ?? Number.POSITIVE_INFINITY),
    processes: Math.min(pids * sandboxes * 2, hardLimits.processes ?? Number.POSITIVE_INFINITY),
  };
}

/** What V8 reserves for code counts as data, although most of it is never used: 512 MiB and more in Node 24 (measured). */
const RESERVED_BYTES = 1024 * 1024 * 1024;

/** RLIMIT_DATA of each process of a program, which is all that limits its memory if there is no cgroup. */
export function dataLimit({ memoryBytes }: Pick<SandboxLimits, 'memoryBytes'>): number {
  return memoryBytes + RESERVED_BYTES;
}

/** The hard limits of this process; undefined members if there is no /proc. */
export function readHardLimits(): HardLimits {
  try {
    return parseHardLimits(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    // Not Linux: containers run in a virtual machine with its own limits.
    return {};
  }
}

/** Parses /proc/PID/limits (proc(5)): name, soft limit, hard limit, unit. */
export function parseHardLimits(text: string): HardLimits {
  const hard = (name: string): number | undefined => {
    const value = new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, 'm').exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  };
  return { processes: hard('Max processes'), openFiles: hard('Max open files') };
}

/** The user and group of a `UID[:GID]` option, as text. Without a group, the group has the same number as the user. */
export function userAndGroup(user: string): readonly [string, string] {
  const [uid = user, gid = uid] = user.split(':');
  return [uid, gid];
}
