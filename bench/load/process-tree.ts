/**
 * Memory and processor time of a bridge and all processes below it, from /proc (proc(5)). Only engines without a daemon have their
 * sandboxes there; with podman or docker, those figures are zero.
 */
import { readFile } from 'node:fs/promises';
import { descendants, proportionalMb, residentMb } from '../support/process-memory.ts';

/** Of every Linux that Node runs on. */
const TICK_MS = 10;
/** Fields of /proc/PID/stat after the name: utime, stime, cutime, cstime are 14 to 17, and the state, the third, is at 0. */
const FIRST_TIME = 11;
const TIMES = 4;

export interface TreeMemory {
  readonly bridgeMb: number;
  readonly serversMb: number;
  readonly servers: number;
  readonly sandboxesMb: number;
}

/** @param isServer whether a command line is that of an MCP server; what it starts counts as part of it. */
export async function treeMemory(pid: number, isServer: (commandLine: string) => boolean): Promise<TreeMemory> {
  const servers = new Set<number>();
  let roots = 0;
  for (const child of await descendants(pid)) {
    if (!servers.has(child) && isServer(await commandLineOf(child))) {
      roots += 1;
      [child, ...(await descendants(child))].forEach((one) => servers.add(one));
    }
  }
  let [serversMb, sandboxesMb] = [0, 0];
  for (const child of await descendants(pid)) {
    // A process that has just ended uses none.
    const mb = await proportionalMb(child).catch(() => 0);
    if (servers.has(child)) {
      serversMb += mb;
    } else {
      sandboxesMb += mb;
    }
  }
  return { bridgeMb: await residentMb(pid), serversMb, servers: roots, sandboxesMb };
}

export interface TreeTime {
  /** Of the bridge itself, in ms of one core. */
  readonly bridgeMs: number;
  /** Of all processes below it, those that have ended included. */
  readonly belowMs: number;
}

/**
 * Processor time of a tree. What a sandbox has used is lost with it if it is killed, because no one waits for its processes: the sum
 * then becomes smaller. Looking at it often, the clock sees that, and adds what was lost.
 */
export class TreeClock {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #lastMs = 0;
  #lostMs = 0;
  #looking: Promise<TreeTime> | undefined;

  constructor(pid: number, intervalMs: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => void this.read(), intervalMs).unref();
  }

  async read(): Promise<TreeTime> {
    // One look at a time, or an older one could end last.
    await this.#looking;
    this.#looking = this.#look();
    return this.#looking;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<TreeTime> {
    const { ownMs, endedMs } = await timesOf(this.#pid);
    const below = await Promise.all((await descendants(this.#pid)).map((child) => timesOf(child)));
    const sumMs = endedMs + below.reduce((sum, one) => sum + one.ownMs + one.endedMs, 0);
    this.#lostMs += Math.max(0, this.#lastMs - sumMs);
    this.#lastMs = sumMs;
    return { bridgeMs: ownMs, belowMs: sumMs + this.#lostMs };
  }
}

async function timesOf(pid: number): Promise<{ readonly ownMs: number; readonly endedMs: number }> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return timesIn(text);
}

/** Processor time of a process and of its children that have ended, from the text of its `stat`. */
export function timesIn(stat: string): { readonly ownMs: number; readonly endedMs: number } {
  // The name is in parentheses and may contain anything, also spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields
    .slice(FIRST_TIME, FIRST_TIME + TIMES)
    .map((field) => Number(field) * TICK_MS);
  return { ownMs: user + system, endedMs: endedUser + endedSystem };
}

async function commandLineOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return text.replaceAll('\0', ' ');
}
