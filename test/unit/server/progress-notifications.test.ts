/** Progress notifications: only on request, with increasing values, and during silence. */
import type { ServerContext } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createProgressReporter } from '../../../src/front/server/progress-notifications.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

interface Sent {
  readonly params: { readonly progress: number; readonly message: string; readonly total?: number };
}

/** The part of a request's context that progress needs. */
function contextOf(
  progressToken: string | undefined,
  notify: (sent: Sent) => Promise<void>,
  { signal } = new AbortController(),
): ServerContext {
  const _meta = progressToken === undefined ? {} : { progressToken };
  return { mcpReq: { _meta, notify, signal } } as unknown as ServerContext;
}

function reporterOf(notify?: (sent: Sent) => Promise<void>) {
  const sent: Sent['params'][] = [];
  const take = async ({ params }: Sent): Promise<void> => void sent.push(params);
  const cancel = new AbortController();
  const reporter = createProgressReporter(contextOf('token', notify ?? take, cancel));
  if (reporter === undefined) {
    throw new Error('no reporter');
  }
  return { ...reporter, sent, cancel };
}

it('does not exist for a client that did not ask', () => {
  expect(createProgressReporter(contextOf(undefined, async () => undefined))).toBeUndefined();
});

it('sends increasing values', () => {
  const { report, stop, sent } = reporterOf();
  for (const percent of [50, 20, undefined, 90, 100, 100]) {
    report({ message: 'm', percent });
  }
  stop();
  const values = sent.map(({ progress }) => progress);
  expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b));
  expect(sent[0]).toMatchObject({ progress: 50, total: 100 });
});

it('repeats the last report every ten seconds of silence, and not after the end', () => {
  const { report, stop, sent } = reporterOf();
  vi.advanceTimersByTime(10_000);
  expect(sent.map(({ message }) => message)).toEqual(['working (10 s)']);
  report({ message: 'starting the sandbox' });
  vi.advanceTimersByTime(9_999);
  expect(sent).toHaveLength(2);
  vi.advanceTimersByTime(10_001);
  expect(sent.slice(2).map(({ message }) => message)).toEqual([
    'starting the sandbox (20 s)',
    'starting the sandbox (30 s)',
  ]);
  stop();
  vi.advanceTimersByTime(60_000);
  expect(sent).toHaveLength(4);
});

it('ignores a closed connection', async () => {
  const notify = vi.fn<() => Promise<void>>(() => Promise.reject(new Error('closed')));
  const { report, stop } = reporterOf(notify);
  report({ message: 'm' });
  stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(notify).toHaveBeenCalledOnce();
});

// The engine pulls an image even after the cell was answered, and once reported that to the finished request.
it('sends nothing after the request was answered or cancelled', () => {
  const { report, stop, sent } = reporterOf();
  report({ message: 'm' });
  stop();
  report({ message: 'late' });
  expect(sent).toHaveLength(1);
  const cancelled = reporterOf();
  cancelled.report({ message: 'm' });
  cancelled.cancel.abort();
  cancelled.report({ message: 'late' });
  vi.advanceTimersByTime(60_000);
  expect(cancelled.sent).toHaveLength(1);
  cancelled.stop();
});

it('never exceeds the total', () => {
  const { report, stop, sent } = reporterOf();
  report({ message: 'm', percent: 100 });
  report({ message: 'm', percent: 100 });
  stop();
  expect(sent[0]).toMatchObject({ progress: 100, total: 100 });
  expect(sent[1]).not.toHaveProperty('total');
  expect(sent[1]?.progress).toBeGreaterThan(100);
});
