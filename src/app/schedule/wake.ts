/** Wakes `schedule tick` each minute from a process that runs for long, for machines whose own scheduler cannot. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { runProcess } from '../../core/base/run-process.ts';
import { isSuccess, whyFailed } from './system/scheduler.ts';

const MINUTE_MS = 60_000;
/** After the minute has begun: a timer that is a little early would run before what is due, and miss it. Chosen. */
const MARGIN_MS = 100;
/** Chosen: the command prints a line for each run. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/**
 * Calls `run` as each minute of the wall clock begins, until the function that it returns is called. Skips a minute in which the
 * last call still runs. Does not keep the process alive.
 */
export function wakeEachMinute(run: () => Promise<void>, report: (error: unknown) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;
  const wake = (): void => {
    wait();
    if (!isRunning) {
      isRunning = true;
      run()
        .catch(report)
        .finally(() => {
          isRunning = false;
        });
    }
  };
  // Anew each time, because the clock may have been set.
  const wait = (): void => {
    timer = setTimeout(wake, MINUTE_MS - (Date.now() % MINUTE_MS) + MARGIN_MS).unref();
  };
  wait();
  return () => clearTimeout(timer);
}

/** Of the program of this process. */
export function tickCommand(): string[] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? '', 'schedule', 'tick'];
}

/**
 * Runs `schedule tick` with the program of this process each minute, if the state directory has schedules then. What runs when it is
 * stopped runs to its end.
 */
export function wakeSchedules(stateDir: string, logger: Logger): () => void {
  const command = tickCommand();
  const tick = async (): Promise<void> => {
    const found = await stat(join(stateDir, 'schedules')).catch(() => undefined);
    if (found?.isDirectory() === true) {
      const end = await runProcess(command, { env: process.env, maxOutputBytes: MAX_OUTPUT_BYTES });
      if (!isSuccess(end)) {
        throw new Error(whyFailed(end));
      }
    }
  };
  return wakeEachMinute(tick, (error) => logger.warning(`Scheduled runs: ${messageOf(error)}`));
}
