/** What the view of a cell has: only if the client wants it, masked, and within its limits. */
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CellAnswer, CellRequest } from '../../../src/core/base/cell.ts';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { type CallOutcome, failed, succeeded, type ToolCall } from '../../../src/core/calls/contract.ts';
import type { CellOutcome } from '../../../src/core/session/run-cell.ts';
import { CELL_VIEW_KEY } from '../../../src/front/server/views.ts';
import { CellViews } from '../../../src/record/chat-view/cell-views.ts';
import { buildView, MAX_TRACED_CALLS, type TracedCell } from '../../../src/record/chat-view/view-data.ts';
import { readShownResult } from '../../../src/record/ui/page/chat/shown-result.ts';
import { watchedRun } from '../../support/watched-run.ts';

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const RUN = { session: 'work', generation: 1, cell: 3 };
const OUTCOME = { status: 'success' } as unknown as CellOutcome;
const ANSWER = { status: 'success', cell: 3, session: 'work' } as unknown as CellAnswer;
const REQUEST: CellRequest = {
  code: 'use("s3cret")',
  servers: [],
  timeoutMs: 30_000,
  session: 'work',
  wantsView: true,
};
const mask = (text: string): string => text.replaceAll('s3cret', '***');

function callOf(tool: string, more: Partial<ToolCall['context']> = {}): ToolCall {
  return { server: { name: 'files' }, tool: { name: tool }, context: { ...RUN, ...more } } as unknown as ToolCall;
}

/** Runs a cell of 100 ms, in which `use` makes calls. */
async function viewOf(
  use: (run: ReturnType<typeof watchedRun>) => Promise<unknown>,
  request = REQUEST,
): Promise<CellAnswer['view']> {
  const views = new CellViews(mask);
  const run = watchedRun(views.watch);
  const cell = run.begin(RUN, request);
  await use(run);
  run.end(cell, OUTCOME, 100);
  return views.withView(request, ANSWER).view;
}

async function after(ms: number, outcome: CallOutcome): Promise<CallOutcome> {
  vi.advanceTimersByTime(ms);
  return outcome;
}

describe('a view', () => {
  it('has the code without secrets, the time, and the calls with how they ended', async () => {
    const view = await viewOf(async (run) => {
      await run.call(callOf('read'), () => after(10, succeeded({ content: [] })));
      await run.call(callOf('write'), () => after(5, succeeded({ isError: true })));
      await run.call(callOf('s3cret'), () => after(1, failed(new BridgeError('CALL_REFUSED', 'no'))));
    });
    expect(view).toEqual({
      code: 'use("***")',
      duration_ms: 100,
      calls: [
        { server: 'files', tool: 'read', start_ms: 0, duration_ms: 10, status: 'ok' },
        { server: 'files', tool: 'write', start_ms: 10, duration_ms: 5, status: 'error', error_code: 'TOOL_FAILED' },
        { server: 'files', tool: '***', start_ms: 15, duration_ms: 1, status: 'error', error_code: 'CALL_REFUSED' },
      ],
      calls_left_out: 0,
    });
  });

  it('shows a call that outlasts the cell as cancelled, even if it ends later', async () => {
    const { promise, resolve } = createDeferred<CallOutcome>();
    const views = new CellViews(mask);
    const run = watchedRun(views.watch);
    const cell = run.begin(RUN, REQUEST);
    const pending = run.call(callOf('read'), () => promise);
    run.end(cell, OUTCOME, 50);
    resolve(succeeded({}));
    await pending;
    expect(views.withView(REQUEST, ANSWER).view?.calls).toMatchObject([{ status: 'cancelled', duration_ms: 50 }]);
  });

  it('has no calls of jobs, other cells and earlier sandboxes', async () => {
    const others = [{ cell: 0, job: 'j' }, { cell: 4 }, { generation: 2 }, { session: 'other' }];
    const view = await viewOf(async (run) => {
      for (const other of others) {
        await run.call(callOf('read', other), () => after(1, succeeded({})));
      }
    });
    expect(view).toMatchObject({ calls: [], calls_left_out: 0 });
  });

  it('counts calls beyond the limit', async () => {
    const view = await viewOf(async (run) => {
      for (let made = 0; made < MAX_TRACED_CALLS + 7; made += 1) {
        await run.call(callOf('read'), async () => succeeded({}));
      }
    });
    expect(view?.calls).toHaveLength(MAX_TRACED_CALLS);
    expect(view?.calls_left_out).toBe(7);
  });

  it('is not there unless the client wants it', async () => {
    const { wantsView: _wants, ...usual } = REQUEST;
    const made: string[] = [];
    const view = await viewOf(
      (run) => run.call(callOf('read'), async ({ tool }) => succeeded(made.push(tool.name))),
      usual,
    );
    expect([view, made]).toEqual([undefined, ['read']]);
  });

  it('is not there if the cell has not run', () => {
    const views = new CellViews(mask);
    expect(views.withView(REQUEST, ANSWER)).toBe(ANSWER);
    watchedRun(views.watch).begin(RUN, REQUEST);
    expect(views.withView(REQUEST, ANSWER)).toBe(ANSWER);
  });
});

describe('limits', () => {
  const cell: TracedCell = { code: '', durationMs: 1, calls: [], moreCalls: 0 };
  const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

  it.each([
    ['plain', 'x = 1\n'.repeat(100_000)],
    ['escaped', '\u0001'.repeat(100_000)],
    ['wide', '😀'.repeat(100_000)],
    ['lone surrogates', '\ud83d'.repeat(100_000)],
  ])('code that is %s is cut, and the view says how long it was', (_name, code) => {
    const view = buildView({ ...cell, code }, mask);
    expect(bytesOf(view.code)).toBeLessThanOrEqual(32 * 1024);
    expect(bytesOf(view.code)).toBeGreaterThan(31 * 1024);
    expect(code.startsWith(view.code)).toBe(true);
    expect(view.code_chars).toBe(code.length);
  });

  it('a secret is masked before the code is cut', () => {
    const code = `${'x'.repeat(32 * 1024 - 5)}s3cret`;
    expect(buildView({ ...cell, code }, mask).code).not.toContain('s3');
  });

  it('names are cut, and calls that do not fit are counted', () => {
    const call = { server: '\u0001'.repeat(1_000), tool: '\u0001'.repeat(1_000), startMs: 0, end: undefined };
    const view = buildView({ ...cell, calls: Array.from({ length: MAX_TRACED_CALLS }, () => call) }, mask);
    expect(view.calls[0]?.server).toHaveLength(120);
    expect(view.calls.length + view.calls_left_out).toBe(MAX_TRACED_CALLS);
    expect(bytesOf(view)).toBeLessThan(34 * 1024);
  });

  it('whatever a cell did, its view is small, and the page reads all of it', () => {
    const ms = fc.double({ min: 0, max: 1e9, noNaN: true });
    const end = fc.option(
      fc.record({
        atMs: ms,
        errorCode: fc.option(fc.constant('LIMIT_CALLS'), { nil: undefined }),
      }),
      { nil: undefined },
    );
    const calls = fc.array(fc.record({ server: fc.string(), tool: fc.string(), startMs: ms, end }), { maxLength: 40 });
    const traced = fc.record({ code: fc.string({ unit: 'binary' }), durationMs: ms, calls, moreCalls: fc.nat(9) });
    fc.assert(
      fc.property(traced, (given) => {
        const view = buildView(given, mask);
        expect(bytesOf(view)).toBeLessThan(70 * 1024);
        const shown = readShownResult({
          content: [],
          _meta: { [CELL_VIEW_KEY]: JSON.parse(JSON.stringify(view)) as unknown },
        });
        expect(shown.cell).toMatchObject({ durationMs: view.duration_ms, callsLeftOut: view.calls_left_out });
        expect(shown.cell?.calls).toEqual(
          view.calls.map((call) => ({
            server: call.server.toWellFormed(),
            tool: call.tool.toWellFormed(),
            startMs: call.start_ms,
            durationMs: call.duration_ms,
            status: call.status,
            errorCode: call.error_code,
          })),
        );
      }),
      { numRuns: 30 },
    );
  });
});
