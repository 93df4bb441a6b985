/**
 * The owner of a container: the bridge process that started it, identified so that a later process can tell whether it is still
 * alive. Process ids are reused, so the start time is part of the identity. Both are valid only on one machine, in one boot and in
 * one pid namespace.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface Owner {
  /** Machine, boot and pid namespace, in one string. */
  readonly host: string;
  readonly pid: number;
  /** Start of the process in clock ticks since boot; `unknown` without /proc. */
  readonly started: string;
}

const UNKNOWN = 'unknown';

/** This process as an owner. */
export function currentOwner(): Owner {
  return { host: currentHost(), pid: process.pid, started: startOfProcess(process.pid) ?? UNKNOWN };
}

/**
 * Whether `owner` is certainly gone. False for owners on other machines, boots or pid namespaces, which cannot be checked from here,
 * and for a live process whose start time is unknown.
 */
export function isOwnerGone(owner: Owner): boolean {
  if (owner.host !== currentHost()) {
    return false;
  }
  if (!isProcessAlive(owner.pid)) {
    return true;
  }
  const started = startOfProcess(owner.pid);
  return owner.started !== UNKNOWN && started !== undefined && started !== owner.started;
}

/** The boot id is unique. The host name, which can change on a laptop, is used only if there is no boot id. */
function currentHost(): string {
  const machine = firstLine('/proc/sys/kernel/random/boot_id') ?? hostname();
  return `${machine}:${pidNamespace()}`.replaceAll(/[^A-Za-z0-9._:-]/g, '_');
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
  } catch {
    // Not Linux: there are no pid namespaces.
    return '0';
  }
}

/** Field 22 of /proc/PID/stat (proc(5)). Counted from the last parenthesis, because the name in field 2 may contain any. */
function startOfProcess(pid: number): string | undefined {
  const stat = firstLine(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is alive and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function firstLine(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').split('\n', 1)[0];
  } catch {
    // Not Linux, or the process is gone: the caller handles both.
    return undefined;
  }
}
