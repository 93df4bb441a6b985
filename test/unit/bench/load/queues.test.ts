/** The parts of the simulation against formulas of queueing theory, with a seeded generator. */
import { describe, expect, it } from 'vitest';
import { Cores, EventLoop, Timeline } from '../../../../bench/load/queues.ts';
import { exponential } from '../../../../bench/load/sampling.ts';
import { createRandom } from '../../../soak/random.ts';

const JOBS = 60_000;

/** Mean time from arrival to end, in ms, of jobs with exponential arrivals and work. */
function meanStayMs({ load, count, sliceMs }: { load: number; count: number; sliceMs: number }): number {
  const random = createRandom(7);
  const timeline = new Timeline();
  const cores = new Cores(timeline, { count, sliceMs });
  let [sum, ended] = [0, 0];
  const arrive = (left: number): void => {
    const startMs = timeline.nowMs;
    cores.run(exponential(random, 1), () => {
      sum += timeline.nowMs - startMs;
      ended += 1;
    });
    if (left > 0) {
      timeline.after(exponential(random, 1 / (load * count)), () => arrive(left - 1));
    }
  };
  arrive(JOBS);
  timeline.runUntil(Infinity);
  expect(ended).toBe(JOBS + 1);
  return sum / ended;
}

/** Mean stay in M/M/c with a mean work of 1: Erlang's C formula. */
function erlangStay(load: number, count: number): number {
  const offered = load * count;
  let term = 1;
  let sum = 1;
  for (let k = 1; k < count; k += 1) {
    term *= offered / k;
    sum += term;
  }
  const last = ((term * offered) / count) * (1 / (1 - load));
  return 1 + last / (sum + last) / (count * (1 - load));
}

describe('cores', () => {
  it.each([
    { load: 0.5, count: 1 },
    { load: 0.8, count: 2 },
    { load: 0.8, count: 8 },
  ])('keep jobs waiting as M/M/c says: load $load on $count cores', ({ load, count }) => {
    const stay = meanStayMs({ load, count, sliceMs: Infinity });
    expect(stay / erlangStay(load, count)).toBeCloseTo(1, 1);
  });

  it('have the same mean if they are shared by slices, because the work has no memory', () => {
    const stay = meanStayMs({ load: 0.7, count: 1, sliceMs: 0.2 });
    expect(stay / erlangStay(0.7, 1)).toBeCloseTo(1, 1);
  });

  it('let a short job pass a long one, slice by slice', () => {
    const timeline = new Timeline();
    const cores = new Cores(timeline, { count: 1, sliceMs: 2 });
    const ended: string[] = [];
    cores.run(100, () => ended.push(`long ${timeline.nowMs}`));
    cores.run(3, () => ended.push(`short ${timeline.nowMs}`));
    timeline.runUntil(1_000);
    expect(ended).toEqual(['short 7', 'long 103']);
    expect(cores.busyMs).toBe(103);
  });
});

it('an event loop uses one core, however many there are', () => {
  const timeline = new Timeline();
  const loop = new EventLoop(new Cores(timeline, { count: 4, sliceMs: 1 }), 1);
  const ended: number[] = [];
  for (let job = 0; job < 3; job += 1) {
    loop.run(2, () => ended.push(timeline.nowMs));
  }
  loop.run(0, () => ended.push(-1));
  timeline.runUntil(100);
  expect(ended).toEqual([-1, 4, 5, 6]);
});

it('a timeline runs events in the order of their times, and those of the same time as they came', () => {
  const timeline = new Timeline();
  const random = createRandom(3);
  const seen: [number, number][] = [];
  for (let number = 0; number < 500; number += 1) {
    const atMs = random.below(50);
    timeline.after(atMs, () => seen.push([atMs, number]));
  }
  timeline.runUntil(50);
  expect(seen).toHaveLength(500);
  expect(seen).toEqual(seen.toSorted(([a, m], [b, n]) => a - b || m - n));
  expect(timeline.nowMs).toBe(50);
});
