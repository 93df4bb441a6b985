/**
 * When a schedule is due. Cron expressions have five fields, as in crontab(5). Where the clock is set forward, a time that does not exist
 * becomes the next one that does; where it is set back, a fixed hour comes once, and `*` in both of the same hours.
 */
import { Cron } from 'croner';
import { BridgeError } from '../../core/base/errors.ts';
import { parseDurationMs } from '../../core/base/units.ts';

const EVERY = /^every\s+(.+)$/i;
const MINUTE_MS = 60_000;
/** More are counted as so many. Chosen: counting them takes 20 ms. */
const MAX_MISSED = 1_000;

export interface Timetable {
  /** The first time after the given one; undefined if there is none. */
  next(after: Date): Date | undefined;
  /** The last time that is not after the given one; undefined if there is none. */
  last(until: Date): Date | undefined;
}

/** @param from where intervals begin. Throws `USAGE_INVALID`. */
export function readTimetable(when: string, timezone: string, from: Date): Timetable {
  const interval = EVERY.exec(when.trim())?.[1];
  return interval === undefined ? ofCron(when, timezone) : ofInterval(interval, from);
}

function ofInterval(text: string, from: Date): Timetable {
  const everyMs = parseDurationMs(text);
  if (!(everyMs >= MINUTE_MS)) {
    throw invalid(`'${text}' is no interval of at least a minute`);
  }
  const at = (count: number): Date | undefined => (count < 1 ? undefined : new Date(from.getTime() + count * everyMs));
  const countUntil = (date: Date): number => Math.floor((date.getTime() - from.getTime()) / everyMs);
  return {
    next: (after) => at(Math.max(1, countUntil(after) + 1)),
    last: (until) => at(countUntil(until)),
  };
}

function ofCron(when: string, timezone: string): Timetable {
  if (!isTimezone(timezone)) {
    throw new BridgeError('USAGE_INVALID', `there is no time zone '${timezone}'`, {
      hint: 'Use a name such as Europe/Berlin, America/New_York or UTC.',
    });
  }
  let cron: Cron;
  try {
    cron = new Cron(when, { timezone, paused: true, mode: '5-part' });
  } catch {
    throw invalid(`'${when}' is no time`);
  }
  if (cron.nextRun() === null) {
    throw invalid(`'${when}' never comes`);
  }
  return {
    next: (after) => cron.nextRun(after) ?? undefined,
    // Of those before the next second.
    last: (until) => cron.previousRuns(1, new Date(until.getTime() + 1_000))[0],
  };
}

function isTimezone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function invalid(problem: string): BridgeError {
  return new BridgeError('USAGE_INVALID', problem, {
    hint: 'Write five fields, such as "0 7 * * 1-5" for 07:00 from Monday to Friday, or an interval, such as "every 15m".',
  });
}

export interface Due {
  readonly at: Date;
  /** How many earlier times have passed without a run. */
  readonly missed: number;
}

/** The last time after `after` that has come by `now`; undefined if none has. */
export function dueBy(timetable: Timetable, after: Date, now: Date): Due | undefined {
  const at = timetable.last(now);
  if (at === undefined || at <= after) {
    return undefined;
  }
  let missed = 0;
  for (let next = timetable.next(after); next !== undefined && next < at && missed < MAX_MISSED; missed += 1) {
    next = timetable.next(next);
  }
  return { at, missed };
}

/** `2026-11-30 07:00`, in the time zone. */
export function localTime(date: Date, timezone: string): string {
  const parts = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' });
  return parts.format(date);
}

export function localTimezone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
