/**
 * The hard limits of this process. The engine's command inherits them, and a container cannot be given more by a user
 * without CAP_SYS_RESOURCE: the start would fail.
 */
import { readFileSync } from 'node:fs';

export interface HardLimits {
  /** Processes and threads of this user; undefined when unlimited or not known. */
  readonly processes?: number | undefined;
  readonly openFiles?: number | undefined;
}

/** Undefined members where /proc does not tell. */
export function readHardLimits(): HardLimits {
  try {
    return parseHardLimits(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    // Not Linux: containers run in a machine with limits of its own.
    return {};
  }
}

/** From the text of /proc/PID/limits (proc(5)): name, soft limit, hard limit, unit. */
export function parseHardLimits(text: string): HardLimits {
  const hard = (name: string): number | undefined => {
    const value = new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, 'm').exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  };
  return { processes: hard('Max processes'), openFiles: hard('Max open files') };
}
