import { describe, expect, it } from 'vitest';
import { CancelSource } from '../../../../src/core/base/cancel.ts';
import { CallsOfCell, CallsOfMinute, InFlight } from '../../../../src/features/policy/rules/counters.ts';
import { compileLimits, countCall, createSharedCounts } from '../../../../src/features/policy/rules/limits.ts';
import { PolicyFileSchema } from '../../../../src/features/policy/rules/schema.ts';

const PLACE = { file: '/policy.json', path: '' };
const caller = (cell: number, session = 'default') => ({ session, cell });
const { signal } = new CancelSource();
const limitsOf = (limits: unknown, kept = new Map()) =>
  compileLimits(PolicyFileSchema.parse({ limits }), PLACE, { kept, shared: createSharedCounts() });

describe('calls of a cell', () => {
  it('start at zero with each cell of each session', () => {
    const calls = new CallsOfCell();
    calls.add(caller(1));
    calls.add(caller(1));
    expect([calls.count(caller(1)), calls.count(caller(2)), calls.count(caller(1, 'other'))]).toEqual([2, 0, 0]);
    calls.add(caller(2));
    expect(calls.count(caller(2))).toBe(1);
  });

  // With one count for each session, two cells whose calls took turns had no limit.
  it('are counted for each cell, even if those of an earlier one still arrive', () => {
    const calls = new CallsOfCell();
    const sandbox = {};
    const both = [1, 2].map((cell) => ({ ...caller(cell), sandbox }));
    for (let turn = 0; turn < 3; turn += 1) {
      both.forEach((one) => calls.add(one));
    }
    calls.add({ ...caller(0), sandbox });
    expect(both.map((one) => calls.count(one))).toEqual([3, 4]);
    expect(calls.count({ ...caller(1), sandbox: {} })).toBe(0);
  });

  it('from jobs count toward the latest cell of their session', () => {
    const calls = new CallsOfCell();
    calls.add(caller(3));
    calls.add(caller(0));
    expect([calls.count(caller(0)), calls.count(caller(3)), calls.count(caller(4))]).toEqual([2, 2, 0]);
  });
});

it('a minute is the 60 seconds before the call', () => {
  const calls = new CallsOfMinute(2);
  calls.add(0);
  calls.add(30_000);
  expect(calls.waitMs(30_001)).toBe(29_999);
  expect(calls.waitMs(60_000)).toBe(0);
  calls.add(60_000);
  expect(calls.waitMs(60_000)).toBe(30_000);
});

describe('slots for calls in flight', () => {
  it('are handed to waiting calls in order', async () => {
    const slots = new InFlight(1);
    const order: string[] = [];
    expect(slots.take(signal)).toBeUndefined();
    const second = slots.take(signal)?.then(() => order.push('second'));
    const third = slots.take(signal)?.then(() => order.push('third'));
    slots.release();
    await second;
    expect(order).toEqual(['second']);
    slots.release();
    await third;
    slots.release();
    expect(slots.take(signal)).toBeUndefined();
  });

  it('are not taken by a cancelled call', async () => {
    const slots = new InFlight(1);
    void slots.take(signal);
    const cancel = new CancelSource();
    const waiting = slots.take(cancel.signal);
    cancel.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    await expect(slots.take(cancel.signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    slots.release();
    expect(slots.take(signal)).toBeUndefined();
  });
});

describe('the limits of a policy', () => {
  it('read sizes and durations', () => {
    expect(
      limitsOf([
        { resultBytes: '64k', deadline: '2m' },
        { resultBytes: 10, deadline: 1.5 },
      ]),
    ).toMatchObject([
      { resultBytes: 65_536, deadlineMs: 120_000 },
      { resultBytes: 10, deadlineMs: 1_500 },
    ]);
  });

  it('count a call toward all of them or none', () => {
    const limits = limitsOf([{ callsPerMinute: 5 }, { callsPerCell: 1 }]);
    expect(countCall(limits, caller(1), 0)).toBeUndefined();
    const refusal = countCall(limits, caller(1), 0);
    expect(refusal).toMatchObject({
      code: 'POLICY_LIMIT',
      message: 'the call was not made: limits[1] of /policy.json allows 1 call per cell',
    });
    expect([2, 3, 4, 5].map((cell) => countCall(limits, caller(cell), 0))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(countCall(limits, caller(6), 1_000)).toMatchObject({
      message: 'the call was not made: limits[0] of /policy.json allows 5 calls per minute',
      hint: 'Try again in 59 s.',
    });
  });

  it('keep their counts when another entry of the file changes', () => {
    const before = limitsOf([{ callsPerCell: 1 }]);
    countCall(before, caller(1), 0);
    const kept = new Map(before.map(({ key, counts }) => [key, counts]));
    expect(countCall(limitsOf([{ deadline: 1 }, { callsPerCell: 1 }], kept), caller(1), 0)?.code).toBe('POLICY_LIMIT');
    expect(countCall(limitsOf([{ callsPerCell: 2 }], kept), caller(1), 0)).toBeUndefined();
  });

  it('count once if they are written twice', () => {
    expect(limitsOf([{ callsPerCell: 2 }, { callsPerCell: 2 }])).toHaveLength(1);
  });
});
