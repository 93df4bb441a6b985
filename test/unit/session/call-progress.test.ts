import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type CallProgress, createCallProgressReporter } from '../../../src/core/session/call-progress.ts';

describe('reports on a call', () => {
  let sent: CallProgress[];

  beforeEach(() => {
    vi.useFakeTimers();
    sent = [];
  });
  afterEach(() => void vi.useRealTimers());

  test('are sent at once, then at most every 50 ms, and only the newest', () => {
    const reporter = createCallProgressReporter((progress) => sent.push(progress));
    for (let progress = 1; progress <= 100_000; progress += 1) {
      reporter.report({ progress });
    }
    expect(sent).toEqual([{ progress: 1 }]);
    vi.advanceTimersByTime(50);
    expect(sent).toEqual([{ progress: 1 }, { progress: 100_000 }]);
    vi.advanceTimersByTime(1_000);
    expect(sent).toHaveLength(2);
    reporter.report({ progress: 100_001 });
    expect(sent).toHaveLength(3);
  });

  test('are sent before the end, and never after it', () => {
    const reporter = createCallProgressReporter((progress) => sent.push(progress));
    reporter.report({ progress: 1, total: 2, message: 'x'.repeat(600) });
    reporter.report({ progress: 2, total: 2 });
    reporter.end();
    reporter.report({ progress: 3 });
    vi.advanceTimersByTime(1_000);
    expect(sent).toEqual([
      { progress: 1, total: 2, message: 'x'.repeat(500) },
      { progress: 2, total: 2 },
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  // Python cannot encode half of a character, as when the code writes the message to a file.
  test('do not end with half a character', () => {
    const reporter = createCallProgressReporter((progress) => sent.push(progress));
    reporter.report({ progress: 1, message: `${'x'.repeat(499)}🦊` });
    expect(sent[0]?.message?.slice(499)).toBe('\uFFFD');
    reporter.end();
  });
});
