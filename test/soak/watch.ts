/** Monitors the bridge's process: memory, descriptors, processes, sandboxes, and whether it answers. */
import { descendantsOf, openDescriptors, residentBytes } from '../support/processes.ts';
import type { Record } from './record.ts';
import type { World } from './world.ts';

const MIB = 1024 * 1024;
const SAMPLE_EVERY_MS = 5_000;
/** After two minutes, first starts, caches and Node's compiler have settled. */
export const WARM_UP_SAMPLES = 24;
/** The limit of sessions, plus some that are ending or starting. */
const MAX_SANDBOXES = 24;
/** Clients of sandboxes (two each with rootless podman), three servers, the guardian, and engine commands. */
const MAX_PROCESSES = 120;
const MAX_DESCRIPTORS = 400;
/** Several concurrent answers of 4 MiB. Chosen; the limit for memory that stays at the end is lower. */
const MAX_RESIDENT_MIB = 500;
/** What one flood may add; attackers flood one at a time in each session. */
const MAX_FLOOD_MIB = 300;
/** A busy bridge must still answer. Chosen for a loaded machine. */
const MAX_PING_MS = 5_000;

/**
 * For the turns of the bridge's event loop. Not a limit: results of megabytes are parsed in one turn, which a limit of their size
 * bounds, and starting a process blocks for as long as that process waits for a core.
 */
export const GOAL_TURN_MS = 20;

export interface Sample {
  readonly residentMib: number;
  /** Without garbage; measured after the warm-up and at the end, because collecting it changes what it measures. */
  readonly inUseMib?: number;
  readonly descriptors: number;
  readonly processes: number;
  readonly sandboxes: number;
  readonly pingMs: number;
  /** The longest turn of the bridge's event loop since the last sample. */
  readonly turnMs: number;
}

export interface Watch {
  readonly samples: readonly Sample[];
  stop(): Promise<void>;
}

export async function takeSample(world: World, collects = false): Promise<Sample> {
  const { bridge } = world;
  const startMs = performance.now();
  await bridge.client.ping();
  const pingMs = performance.now() - startMs;
  const turnMs = await world.longestTurnMs();
  return {
    residentMib: residentBytes(bridge.pid) / MIB,
    ...(collects && { inUseMib: (await world.bytesInUse()) / MIB }),
    descriptors: openDescriptors(bridge.pid),
    processes: descendantsOf(bridge.pid).length,
    sandboxes: (await world.sandboxes()).length,
    pingMs,
    turnMs,
  };
}

/** Takes a sample every five seconds and reports exceeded limits. */
export function watch(world: World, record: Record, hasAttackers: boolean): Watch {
  const samples: Sample[] = [];
  let isOver = false;
  let wake = (): void => undefined;
  async function run(): Promise<void> {
    while (!isOver) {
      const sample = await takeSample(world, samples.length === WARM_UP_SAMPLES);
      samples.push(sample);
      boundsBroken(sample, hasAttackers).forEach((what) => record.violate(what));
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, SAMPLE_EVERY_MS).unref();
      });
    }
  }
  const running = run().catch((error: unknown) =>
    record.violate(`the bridge could not be monitored: ${String(error)}`),
  );
  return {
    samples,
    async stop() {
      isOver = true;
      wake();
      await running;
    },
  };
}

function boundsBroken(sample: Sample, hasAttackers: boolean): string[] {
  const { descriptors, pingMs, processes, residentMib, sandboxes } = sample;
  const maxResidentMib = MAX_RESIDENT_MIB + (hasAttackers ? MAX_FLOOD_MIB : 0);
  const bounds: readonly (readonly [string, number, number])[] = [
    ['MiB of memory', residentMib, maxResidentMib],
    ['descriptors', descriptors, MAX_DESCRIPTORS],
    ['processes', processes, MAX_PROCESSES],
    ['sandboxes', sandboxes, MAX_SANDBOXES],
    ['ms for a ping', pingMs, MAX_PING_MS],
  ];
  return bounds
    .filter(([, value, most]) => value > most)
    .map(([what, value, most]) => `${Math.round(value)} ${what}; at most ${most}`);
}
