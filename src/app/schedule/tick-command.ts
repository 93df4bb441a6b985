/** `schedule tick`: does what is due, and stays as long as a run goes on. What runs need is loaded when there is one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { limitConcurrency } from '../../core/base/limit-concurrency.ts';
import type { Logger } from '../../core/base/log.ts';
import { claimSession } from '../../core/session/session-claim.ts';
import type { CommandContext, RunQuestions } from '../../edges/terminal/command.ts';
import { watchProcess } from '../../edges/terminal/lifecycle.ts';
import type { ScheduleStore } from './store.ts';
import { type TickWork, tick } from './tick.ts';

/** Further runs wait. Chosen: each may have a sandbox of its own. */
const MAX_RUNS_AT_ONCE = 4;
const MINUTE_MS = 60_000;

export interface TickParts {
  readonly context: CommandContext;
  readonly logger: Logger;
  readonly store: ScheduleStore;
}

/** Looks again each minute as long as a run goes on, because nothing else wakes what is running. */
export async function tickUntilIdle(work: TickParts): Promise<number> {
  const { ended, signal } = watchSignals(work);
  const running = new Set<Promise<void>>();
  const track = (done: Promise<void>): void => {
    running.add(done);
    void forget(done, running);
  };
  const ticking = tickWork(work, await work.context.openQuestions(), signal);
  do {
    await tick(ticking, track);
    const next = sleep(MINUTE_MS - (Date.now() % MINUTE_MS), undefined, { ref: false });
    await Promise.race([Promise.all(running), next, ended]);
  } while (running.size > 0 && !signal.aborted);
  await Promise.all(running);
  return 0;
}

async function forget(done: Promise<void>, running: Set<Promise<void>>): Promise<void> {
  await done;
  running.delete(done);
}

export function watchSignals({ logger }: Pick<TickParts, 'logger'>): {
  readonly ended: Promise<unknown>;
  readonly signal: AbortSignal;
} {
  const cancel = new AbortController();
  const { ended } = watchProcess(logger);
  void ended.then(({ reason }) => cancel.abort(reason));
  return { ended, signal: cancel.signal };
}

export function tickWork(
  { context, isWatched = false, logger, store }: TickParts & { readonly isWatched?: boolean },
  questions: RunQuestions,
  signal: AbortSignal,
): TickWork {
  const inTurn = limitConcurrency(MAX_RUNS_AT_ONCE);
  return {
    store,
    questions,
    logger,
    isWatched,
    now: () => new Date(),
    claim: claimSession,
    execute: (one) =>
      inTurn(async () => {
        const { executeRun } = await import('./execute.ts');
        return signal.aborted ? undefined : executeRun({ ...one, store, questions, context, signal });
      }),
    unknownOf: async (one) => (await import('./execute.ts')).unknownOfRun({ ...one, store, context }),
    report: async (one) => (await import('./report.ts')).sendReport(one, context),
  };
}
