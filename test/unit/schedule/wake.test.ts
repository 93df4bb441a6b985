import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { wakeEachMinute, wakeSchedules } from '../../../src/app/schedule/wake.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { runProcess } from '../../../src/core/base/run-process.ts';

vi.mock('node:fs/promises', async (original) => ({ ...(await original<object>()), stat: vi.fn<typeof stat>() }));
vi.mock('../../../src/core/base/run-process.ts', () => ({ runProcess: vi.fn<typeof runProcess>() }));

const MINUTE_MS = 60_000;
beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-11-30T06:59:20Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

/** When it woke. */
function watch(run: () => Promise<void> = async () => undefined) {
  const times: string[] = [];
  const faults: unknown[] = [];
  const stop = wakeEachMinute(
    () => {
      times.push(new Date().toISOString().slice(11, 19));
      return run();
    },
    (fault) => faults.push(fault),
  );
  return { times, faults, stop };
}

it('wakes as each minute begins, until it is stopped', async () => {
  const { stop, times } = watch();
  await vi.advanceTimersByTimeAsync(39_999);
  expect(times).toEqual([]);
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS + 1000);
  expect(times).toEqual(['07:00:00', '07:01:00', '07:02:00']);
  stop();
  await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
  expect(times).toHaveLength(3);
  expect(vi.getTimerCount()).toBe(0);
});

// A timer that fired at 06:59:59.999 woke again at 07:00:00, when the first run was not over, and what was due at 07:00 waited a minute.
it('wakes once each minute although a timer is a little early', async () => {
  const { stop, times } = watch();
  await vi.advanceTimersByTimeAsync(40_000);
  vi.setSystemTime(new Date('2026-11-30T06:59:59.998Z'));
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  stop();
  expect(times).toEqual(['07:00:00']);
});

it('never wakes two at once, and goes on after a long one', async () => {
  let end: () => void = () => undefined;
  const { stop, times } = watch(() => new Promise((resolve) => (end = resolve)));
  await vi.advanceTimersByTimeAsync(3 * MINUTE_MS);
  expect(times).toEqual(['07:00:00']);
  end();
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  stop();
  expect(times).toEqual(['07:00:00', '07:03:00']);
});

it('reports a failure and goes on', async () => {
  const { faults, stop, times } = watch(() => Promise.reject(new Error('no')));
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  stop();
  expect(times).toHaveLength(2);
  expect(faults).toEqual([new Error('no'), new Error('no')]);
});

it.each(['2026-11-30T09:30:10Z', '2026-11-30T04:30:10Z'])('follows a clock that is set to %s', async (to) => {
  const { stop, times } = watch();
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  vi.setSystemTime(new Date(to));
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  stop();
  expect(times.at(-1)).toMatch(/:00$/);
});

it('does not keep the process alive', () => {
  const unref = vi.fn<() => void>();
  vi.stubGlobal('setTimeout', () => ({ unref: () => (unref(), 0) }));
  wakeEachMinute(
    async () => undefined,
    () => undefined,
  );
  expect(unref).toHaveBeenCalledOnce();
});

describe('schedules', () => {
  const warning = vi.fn<(message: string) => void>();
  const { argv } = process;
  beforeEach(() => {
    process.argv = ['/node', '/cli.js', 'serve', '--http'];
    vi.mocked(runProcess).mockReset();
    warning.mockReset();
  });
  afterEach(() => {
    process.argv = argv;
  });

  /** Two minutes with a state directory that has schedules or has none, and a command that ends with the code. */
  async function wakeTwice(hasSchedules: boolean, exitCode = 0, message = ''): Promise<void> {
    const none = Buffer.alloc(0);
    const end = { endedBy: 'exit', signal: undefined, stdout: none, reason: '' } as const;
    vi.mocked(runProcess).mockResolvedValue({ ...end, exitCode, stderr: Buffer.from(message) });
    const found = { isDirectory: () => true } as Awaited<ReturnType<typeof stat>>;
    vi.mocked(stat).mockImplementation(() =>
      hasSchedules ? Promise.resolve(found) : Promise.reject(new Error('ENOENT')),
    );
    const stop = wakeSchedules('/state', { ...silentLogger, warning });
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    stop();
  }

  it('are run by the program of this process', async () => {
    await wakeTwice(true);
    expect(stat).toHaveBeenCalledWith(join('/state', 'schedules'));
    const command = [process.execPath, ...process.execArgv, '/cli.js', 'schedule', 'tick'];
    const options = { env: process.env, maxOutputBytes: expect.any(Number) };
    expect(vi.mocked(runProcess).mock.calls).toEqual([
      [command, options],
      [command, options],
    ]);
    expect(warning).not.toHaveBeenCalled();
  });

  it('cost a look at a folder if there are none', async () => {
    await wakeTwice(false);
    expect(runProcess).not.toHaveBeenCalled();
    expect(warning).not.toHaveBeenCalled();
  });

  it('are named in the log if the program fails', async () => {
    await wakeTwice(true, 73, 'STATE_WRITE_FAILED: the disk is full\n');
    expect(warning.mock.calls).toEqual([
      ['Scheduled runs: STATE_WRITE_FAILED: the disk is full'],
      ['Scheduled runs: STATE_WRITE_FAILED: the disk is full'],
    ]);
  });
});
