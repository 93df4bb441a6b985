/** Where the bars of a waterfall are: pure arithmetic. */

export interface TimedCall {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Undefined while it runs. */
  readonly endedAt: number | undefined;
}

export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** Per cent of the width. */
export interface BarPlace {
  readonly left: number;
  readonly width: number;
}

/** A bar that is shorter cannot be seen. */
const MIN_WIDTH = 0.4;
/** Calls of clocks that differ by this much are moved into the span. */
const MIN_SPAN_MS = 1;

/** The time that the bars cover: the whole cell, and calls that outlast it. */
export function spanOf(calls: Iterable<TimedCall>, from: number, to: number): TimeSpan {
  let last = to;
  for (const { endedAt, startedAt } of calls) {
    last = Math.max(last, endedAt ?? startedAt);
  }
  return { from, to: Math.max(last, from + MIN_SPAN_MS) };
}

export function placeBar({ endedAt, startedAt }: TimedCall, { from, to }: TimeSpan): BarPlace {
  const percent = (at: number): number => Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100));
  const left = Math.min(percent(startedAt), 100 - MIN_WIDTH);
  const width = Math.max(MIN_WIDTH, percent(endedAt ?? to) - left);
  return { left: round(left), width: round(Math.min(width, 100 - left)) };
}

/** Round times for an axis, in milliseconds after the start, at most `most` of them without the first. */
export function ticksOf(spanMs: number, most: number): readonly number[] {
  const step = stepFor(spanMs / Math.max(1, most));
  const ticks: number[] = [];
  for (let at = 0; at <= spanMs; at += step) {
    ticks.push(round(at));
  }
  return ticks;
}

function stepFor(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, Number.MIN_VALUE)));
  const factor = [1, 2, 5].find((each) => each * power >= least) ?? 10;
  return factor * power;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
