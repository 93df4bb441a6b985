/**
 * Who owns a container: this process, so named that a later process can tell whether it still lives. A process id alone
 * is reused, so the start time goes with it; and both mean something on one machine and in one pid namespace only.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface Owner {
  /** Machine, boot and pid namespace, as one word. */
  readonly host: string;
  readonly pid: number;
  /** Start of the process in clock ticks since boot; `unknown` where /proc does not tell. */
  readonly started: string;
}

const UNKNOWN = 'unknown';

/** The owner of everything this process starts. */
export function currentOwner(): Owner {
  return { host: currentHost(), pid: process.pid, started: startOfProcess(process.pid) ?? UNKNOWN };
}

/**
 * Whether `owner` is certainly gone. False for owners on other machines, boots or pid namespaces, of which nothing can
 * be known here, and for a process that lives but whose start cannot be compared.
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

/** The boot id is unique by itself; a host name, which may change while a laptop travels, only stands in for it. */
function currentHost(): string {
  const machine = firstLine('/proc/sys/kernel/random/boot_id') ?? hostname();
  return `${machine}:${pidNamespace()}`.replaceAll(/[^A-Za-z0-9._:-]/g, '_');
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
  } catch {
    // Not Linux: there is one namespace.
    return '0';
  }
}

/** Field 22 of /proc/PID/stat (proc(5)); the name before it may hold spaces and parentheses, so count from the last. */
function startOfProcess(pid: number): string | undefined {
  const stat = firstLine(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function firstLine(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').split('\n', 1)[0];
  } catch {
    // Not Linux, or the process is gone: the caller has a rule for not knowing.
    return undefined;
  }
}
