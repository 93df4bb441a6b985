/** When schedules are due, also where the clock changes. */
import { expect, it } from 'vitest';
import { dueBy, readTimetable } from '../../../src/app/schedule/timetable.ts';

const at = (text: string): Date => new Date(text);
const BERLIN = 'Europe/Berlin';

function times(when: string, from: string, count: number, timezone = BERLIN): string[] {
  const timetable = readTimetable(when, timezone, at(from));
  const found: string[] = [];
  for (let next = timetable.next(at(from)); next !== undefined && found.length < count; next = timetable.next(next)) {
    found.push(next.toISOString().slice(0, 16));
  }
  return found;
}

it('a fixed hour comes once on each day, whatever the clock does', () => {
  // The clock goes from 02:00 to 03:00 on the 29th of March, and from 03:00 to 02:00 on the 25th of October.
  expect(times('30 2 * * *', '2026-03-27T12:00:00Z', 3)).toEqual([
    '2026-03-28T01:30',
    '2026-03-29T01:00',
    '2026-03-30T00:30',
  ]);
  expect(times('30 2 * * *', '2026-10-23T12:00:00Z', 3)).toEqual([
    '2026-10-24T00:30',
    '2026-10-25T00:30',
    '2026-10-26T01:30',
  ]);
});

it('an hourly schedule comes each hour of the day with 25', () => {
  expect(times('0 * * * *', '2026-10-24T22:30:00Z', 5)).toEqual([
    '2026-10-24T23:00',
    '2026-10-25T00:00',
    '2026-10-25T01:00',
    '2026-10-25T02:00',
    '2026-10-25T03:00',
  ]);
});

it('an interval begins when the schedule was added', () => {
  expect(times('every 90m', '2026-01-01T00:10:00Z', 3)).toEqual([
    '2026-01-01T01:40',
    '2026-01-01T03:10',
    '2026-01-01T04:40',
  ]);
});

it.each([
  ['0 7 * * 1-5', '2026-11-27T06:00:00Z', '2026-11-27T05:59:59Z', undefined],
  ['0 7 * * 1-5', '2026-11-27T05:00:00Z', '2026-11-27T06:00:00Z', ['2026-11-27T06:00', 0]],
  ['0 7 * * 1-5', '2026-11-20T06:00:00Z', '2026-11-30T08:00:00Z', ['2026-11-30T06:00', 5]],
  ['every 1h', '2026-11-27T05:00:00Z', '2026-11-27T08:30:00Z', ['2026-11-27T08:00', 2]],
  ['every 1h', '2026-11-27T05:00:00Z', '2026-11-27T05:59:00Z', undefined],
  // A machine that was off for years.
  ['* * * * *', '2020-01-01T00:00:00Z', '2026-01-01T00:00:30Z', ['2026-01-01T00:00', 1_000]],
])('%s after %s by %s: %j', (when, after, by, expected) => {
  const due = dueBy(readTimetable(when, BERLIN, at(after)), at(after), at(by));
  expect(due && [due.at.toISOString().slice(0, 16), due.missed]).toEqual(expected);
});

it.each(['', '* * *', '61 * * * *', '0 0 31 2 *', 'every 5s', 'every day', '* * * * * *'])('%j is refused', (when) => {
  expect(() => readTimetable(when, 'UTC', at('2026-01-01T00:00:00Z'))).toThrow(
    expect.objectContaining({ code: 'USAGE_INVALID', hint: expect.stringContaining('0 7 * * 1-5') }),
  );
});

it('an unknown time zone is named', () => {
  expect(() => readTimetable('0 7 * * *', 'Mars/Base', at('2026-01-01T00:00:00Z'))).toThrow(
    /no time zone 'Mars\/Base'/,
  );
});
