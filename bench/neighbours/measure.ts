/** Measures one start of a neighbour: from an empty process to many warm calls. */
import { setTimeout as sleep } from 'node:timers/promises';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { timed, timedEach } from '../support/statistics.ts';
import { CALLS_AT_ONCE, type Neighbour, type Place, type Running } from './neighbour.ts';

export const FIGURES = ['start', 'first', 'warm', 'firstCall', 'warmCall', 'fifty'] as const;
export type Figure = (typeof FIGURES)[number];
/** Milliseconds. */
export type Samples = Partial<Record<Figure, number[]>>;

export interface Started {
  /** Of the definitions of tools, if it has any. */
  readonly tokens?: number;
  /** Whether a name of one cell is there in the next, if it runs Python. */
  readonly hasState?: boolean;
  readonly samples: Samples;
}

/** An agent thinks at least this long before its first call. Those that start servers early do it now. */
const THINKING_MS = 1_000;
const REPEATS = 20;
/** A server that is started early may still be starting. */
const CONNECT_TRIES = 50;
const CONNECT_PAUSE_MS = 100;

/** Rejects if an answer is wrong: a failure has no figure. */
export async function measureStart(neighbour: Neighbour, place: Place): Promise<Started> {
  let running: Running | undefined;
  const start = await timed(async () => {
    running = await neighbour.open(place);
  });
  if (running === undefined) {
    throw new Error('it did not start');
  }
  const { add, calls, cell, close, definitions } = running;
  try {
    await sleep(THINKING_MS);
    const first = await timed(() => expectAnswer(add, /2\s*"?\}?\s*$/));
    const warm = await timedEach(REPEATS, () => expectAnswer(add, /2\s*"?\}?\s*$/));
    const samples: Samples = { start: [start], first: [first], warm };
    if (calls !== undefined) {
      samples.firstCall = [await timed(() => retried(() => expectAnswer(calls.one, /x/)))];
      samples.warmCall = await timedEach(REPEATS, () => expectAnswer(calls.one, /x/));
      samples.fifty = await timedEach(1, () => expectAnswer(calls.fifty, new RegExp(`${CALLS_AT_ONCE}`)));
    }
    return {
      samples,
      ...(definitions !== undefined && { tokens: encode(definitions).length }),
      ...(cell !== undefined && { hasState: await keepsState(cell) }),
    };
  } finally {
    await close();
  }
}

async function keepsState(cell: NonNullable<Running['cell']>): Promise<boolean> {
  await cell('kept = 41').catch(() => '');
  return /\b42\b/.test(await cell('kept + 1').catch(() => ''));
}

async function expectAnswer(run: () => Promise<string>, pattern: RegExp): Promise<void> {
  const text = await run();
  if (!pattern.test(text)) {
    throw new Error(`answered ${text.slice(0, 200)}`);
  }
}

/** The time counts from the first try: an agent would wait as long. */
async function retried(run: () => Promise<void>): Promise<void> {
  for (let left = CONNECT_TRIES; ; left -= 1) {
    try {
      return await run();
    } catch (error) {
      if (left === 0) {
        throw error;
      }
      await sleep(CONNECT_PAUSE_MS);
    }
  }
}
