/** The parts of the load benchmark that measure nothing: what it notices, where it looks, and what it says. */
import { describe, expect, it } from 'vitest';
import { cellOf, isRefused, isRestored, KIND_NAMES, KINDS, kindAt, readCheck } from '../../../../bench/load/cells.ts';
import { Ledger } from '../../../../bench/load/ledger.ts';
import { parseLoadOptions } from '../../../../bench/load/options.ts';
import { timesIn } from '../../../../bench/load/process-tree.ts';
import { renderLoad } from '../../../../bench/load/report.ts';
import { createResults, type Step, timesOf } from '../../../../bench/load/results.ts';
import { exponential, geometric } from '../../../../bench/load/sampling.ts';
import { highestGood } from '../../../../bench/load/search.ts';
import { createRandom } from '../../../soak/random.ts';

describe('cells', () => {
  it('are chosen by their shares, which make a whole', () => {
    const chosen = Array.from({ length: 1_000 }, (_, index) => kindAt(index / 1_000));
    for (const kind of KIND_NAMES) {
      expect(chosen.filter((one) => one === kind).length / 1_000).toBeCloseTo(KINDS[kind].share, 2);
    }
  });

  it('end with a check, and answers are recognized', () => {
    expect(cellOf('small')).toMatch(/\ncount \+= 1\nprint\("ok", count, secret\)$/);
    expect(readCheck('xxx\nok 12 abc-def\n')).toEqual({ count: 12, secret: 'abc-def' });
    expect(readCheck('NameError: count')).toBeUndefined();
    expect(isRestored('Restored 2 variables and 0 files as they were after cell 3 (12:00).\nok 4 s')).toBe(true);
    expect(isRefused('status: error\nSESSION_LIMIT: 4 sessions of all clients are running cells')).toBe(true);
  });
});

describe('a ledger', () => {
  function filled(answers: readonly string[], unanswered = 0): Ledger {
    const ledger = new Ledger('mine');
    answers.forEach((text) => {
      ledger.sent();
      ledger.answered(text);
    });
    for (let count = 0; count < unanswered; count += 1) {
      ledger.sent();
      ledger.unanswered();
    }
    return ledger;
  }

  it('takes answers in any order, and misses none', () => {
    expect(filled(['ok 1 mine', 'ok 3 mine', 'ok 2 mine']).missing()).toBeUndefined();
  });

  it('notices what was lost, came twice or is of someone else', () => {
    expect(filled(['ok 1 mine', 'ok 3 mine']).missing()).toBe('2 of 2 cells were counted, up to 3');
    expect(filled(['ok 1 mine']).answered('ok 1 mine')).toBe('cell 1 came twice');
    expect(filled([]).answered('ok 1 yours')).toBe('the secret of another session: yours');
    expect(filled([]).answered('NameError')).toBe('no check: NameError');
  });

  it('allows that a cell without an answer has run, or not', () => {
    expect(filled(['ok 1 mine', 'ok 3 mine'], 1).missing()).toBeUndefined();
    expect(filled(['ok 1 mine', 'ok 2 mine'], 1).missing()).toBeUndefined();
    expect(filled(['ok 1 mine', 'ok 4 mine'], 1).missing()).toBeDefined();
  });
});

describe('the search', () => {
  it.each([
    { limit: 37, most: 160, expected: 37 },
    { limit: 1_000, most: 160, expected: 160 },
    { limit: 3, most: 160, expected: 3 },
    { limit: 0, most: 160, expected: 0 },
  ])('finds $expected of at most $most', async ({ limit, most, expected }) => {
    const asked: number[] = [];
    const isGood = async (clients: number): Promise<boolean> => {
      asked.push(clients);
      return clients <= limit;
    };
    expect(await highestGood(isGood, { first: 5, most, halvings: 8 })).toBe(expected);
    expect(Math.max(...asked)).toBeLessThanOrEqual(most);
  });
});

it('arrivals have the mean that was asked for', () => {
  const random = createRandom(1);
  const mean = (next: () => number): number => Array.from({ length: 50_000 }, next).reduce((a, b) => a + b, 0) / 50_000;
  expect(mean(() => exponential(random, 5)) / 5).toBeCloseTo(1, 1);
  expect(mean(() => geometric(random, 15)) / 15).toBeCloseTo(1, 1);
  expect(mean(() => geometric(random, 1))).toBe(1);
});

it('the times of a process are read behind its name, whatever that is', () => {
  const stat = '12 (a) b (c) S 1 12 12 0 -1 4194560 100 0 0 0 7 3 20 10 20 0 1 0 100 1000 100';
  expect(timesIn(stat)).toEqual({ ownMs: 100, endedMs: 300 });
  expect(timesIn('')).toEqual({ ownMs: 0, endedMs: 0 });
});

describe('options', () => {
  it('have defaults, which --quick lowers', () => {
    expect(parseLoadOptions([])).toMatchObject({ engine: 'bubblewrap', clients: 100, sandboxes: 40, stranger: 10_000 });
    expect(parseLoadOptions(['--quick', '--only', 'goal', '--stranger', '0'])).toMatchObject({
      parts: ['goal'],
      isQuick: true,
      stranger: 0,
      clients: 6,
    });
    expect(parseLoadOptions(['--help'])).toBeUndefined();
  });

  it.each([['--clients', '0'], ['--rate', 'fast'], ['--only', 'all'], ['--no-such']])('refuse %s %s', (...argv) => {
    expect(() => parseLoadOptions(argv)).toThrow(TypeError);
  });
});

describe('a report', () => {
  const times = timesOf({
    times: Array.from(
      { length: 100 },
      (_, index) => ({ kind: 'small', ms: index + 1, isRestored: index >= 98 }) as const,
    ),
  });
  const step: Step = {
    title: 'alone',
    clients: 4,
    cellsPerS: 3,
    rate: 1,
    seconds: 10,
    times,
    refused: 0,
    faults: [],
    lateMs: 1,
    cores: { bridge: 0.1, below: 0.2, clients: 0.3 },
  };
  const facts = { revision: 'abc', machine: 'a machine', engine: 'bubblewrap', load: 0.1 };
  const beside = { ...step, title: 'beside', stranger: { sentPerS: 10_000, answeredPerS: { 401: 4_000, 421: 1_000 } } };
  const goal = { sandboxes: 2, liveSandboxes: 2, without: step, beside, missing: [] };

  it('shows the p95 beside the stranger as a multiple of that without', () => {
    const text = renderLoad(createResults({ ...facts, goal }));
    expect(text).toContain('The stranger sent 10,000 requests/s; 5,000/s were answered (401: 4,000/s, 421: 1,000/s).');
    expect(text).toMatch(/94 ms beside the stranger: 1 × \(goal: at most 2 ×, met\)/);
    expect(text).toContain('Nothing was lost or mixed up.');
  });

  it('leaves restored cells out of the warm ones', () => {
    expect(times).toMatchObject({
      warm: { count: 98, p50Ms: 49 },
      restored: { count: 2, p99Ms: 100 },
      calls: undefined,
    });
  });

  it('lists what was lost', () => {
    const text = renderLoad(createResults({ ...facts, goal: { ...goal, missing: ['client-1: 2 of 3 cells'] } }));
    expect(text).toContain('**Lost or mixed up: 1**\n\n- client-1: 2 of 3 cells');
  });
});
