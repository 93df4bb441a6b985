/** What those who watch learn of steps, and what an interrupted run has kept of them. */
import { expect, it } from 'vitest';
import { MAX_STEPS_AT_ONCE } from '../../../src/core/base/limits.ts';
import { BridgeEvents, type StepEvent } from '../../../src/core/calls/events.ts';
import { checkParams } from '../../../src/core/calls/method.ts';
import { type KeptResults, Steps } from '../../../src/core/calls/steps.ts';
import type { CallContext } from '../../../src/core/session/dispatch.ts';
import { begunCell, SUCCESS } from '../../support/watched-run.ts';

const RUN = { session: 'default', generation: 1, cell: 1 };
const KEY = 'a'.repeat(64);

function setUp(kept?: KeptResults) {
  const seen: StepEvent[] = [];
  const steps: Steps = new Steps(() => events, kept);
  const note = (event: { readonly type: string }): void => {
    if (event.type === 'step_started' || event.type === 'step_ended') {
      seen.push(event as StepEvent);
    }
  };
  const events = new BridgeEvents([steps.watch, note]);
  const cell = begunCell(RUN);
  void events.emit({ type: 'cell_started', cell });
  const methods = new Map(steps.methods);
  const ask = async (name: Parameters<typeof methods.get>[0], params: Record<string, unknown>, run = RUN) => {
    const method = methods.get(name);
    const context = { ...run, call: 1, loaded: new Set(), signal: new AbortController().signal } as CallContext;
    return method?.run(checkParams(method, params), context) as Promise<Record<string, unknown>>;
  };
  const shown = () =>
    seen.map(({ step, ...event }) => [step.name, event.type === 'step_ended' ? event.outcome : 'began']);
  return { ask, cell, events, seen, shown };
}

it('has its number from the host, its cell, and what it follows', async () => {
  const { ask, cell, seen } = setUp();
  expect(await ask('begin_step', { name: 'a', after: [] })).toEqual({ step: 1, keeps: false });
  expect(await ask('begin_step', { name: 'b', after: [1] })).toEqual({ step: 2, keeps: false });
  await ask('end_step', { step: 2, outcome: 'error', exception: 'KeyError', tries: 3 });
  expect(seen[1]).toMatchObject({ step: { number: 2, after: [1], of: cell, within: undefined, isRow: false } });
  expect(seen[2]).toMatchObject({ outcome: 'error', exception: 'KeyError', tries: 3, result: undefined });
  await expect(ask('end_step', { step: 2, outcome: 'ok' })).rejects.toThrow('no step 2 runs');
  await expect(ask('end_step', { step: 1, outcome: 'ok' }, { ...RUN, session: 'other' })).rejects.toThrow('no step 1');
});

it('of a row is a step of the map', async () => {
  const { ask, seen } = setUp();
  await ask('begin_step', { name: 'map', after: [], rows: 2 });
  await ask('begin_step', { name: 'map', after: [], within: 1, is_row: true });
  await ask('begin_step', { name: 'inner', after: [], within: 2 });
  expect(seen.map(({ step }) => [step.within, step.parent, step.isRow])).toEqual([
    [undefined, undefined, false],
    [1, 1, true],
    [1, 2, false],
  ]);
  await ask('end_step', { step: 2, outcome: 'error' });
  await ask('end_step', { step: 1, outcome: 'ok' });
  expect(seen.at(-1)).toMatchObject({ step: { name: 'map' }, failedRows: 1 });
  await ask('begin_step', { name: 'forged', after: [2, 4, 9], within: 99 });
  expect(seen.at(-1)).toMatchObject({ step: { number: 4, after: [2], within: undefined, parent: undefined } });
});

it('is cancelled with a cell that is interrupted, before that has ended', async () => {
  const { ask, cell, events, shown } = setUp();
  await ask('begin_step', { name: 'of the cell', after: [] });
  await ask('begin_step', { name: 'of a job', after: [] }, { ...RUN, cell: 0 });
  void events.emit({ type: 'cell_ended', cell, outcome: SUCCESS, durationMs: 1 });
  expect(shown()).toHaveLength(2);
  void events.emit({ type: 'cell_ended', cell, outcome: { ...SUCCESS, status: 'timeout' }, durationMs: 1 });
  expect(shown().at(-1)).toEqual(['of the cell', 'cancelled']);
  void events.emit({ type: 'session_ended', run: RUN, reason: 'it was reset' });
  expect(shown().at(-1)).toEqual(['of a job', 'cancelled']);
  expect(await ask('begin_step', { name: 'new', after: [] })).toMatchObject({ step: 1 });
});

it('is refused beyond the limit, and with a list or a result that is too long', async () => {
  const { ask } = setUp();
  await expect(ask('begin_step', { name: 'x', after: Array.from({ length: 101 }, () => 1) })).rejects.toThrow('after');
  await expect(ask('end_step', { step: 1, outcome: 'ok', data: 'A'.repeat(6 * 2 ** 20) })).rejects.toThrow('data');
  for (let count = 0; count < MAX_STEPS_AT_ONCE; count += 1) {
    await ask('begin_step', { name: 'x', after: [] });
  }
  await expect(ask('begin_step', { name: 'x', after: [] })).rejects.toThrow('1,024 steps of the session run');
});

it('uses up what was kept only if the step is not done again', async () => {
  const used: number[] = [];
  const left = ['one', 'two'];
  const { ask, seen } = setUp({
    take: async () => {
      const data = left.shift();
      return data === undefined ? undefined : { data, use: (step) => used.push(step.number) };
    },
  });
  for (const name of ['a', 'b', 'c']) {
    expect(await ask('begin_step', { name, after: [] })).toMatchObject({ keeps: true });
  }
  expect(await ask('kept_step', { step: 1, key: KEY })).toEqual({ data: 'one' });
  expect(await ask('kept_step', { step: 2, key: KEY })).toEqual({ data: 'two' });
  expect(await ask('kept_step', { step: 3, key: KEY })).toBeNull();
  await ask('end_step', { step: 1, outcome: 'kept' });
  await ask('end_step', { step: 2, outcome: 'ok', data: 'AAAA' });
  await expect(ask('end_step', { step: 3, outcome: 'kept' })).rejects.toThrow('no result of step 3 was kept');
  expect(used).toEqual([1]);
  expect(seen.slice(3)).toMatchObject([{ outcome: 'kept' }, { outcome: 'ok', result: { key: KEY, data: 'AAAA' } }]);
});
