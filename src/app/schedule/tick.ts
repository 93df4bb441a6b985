/**
 * Does what is due: starts runs, goes on with those that were interrupted or whose questions are answered, and ends those that nobody
 * answers. Each due time leads to one run, however many processes look at once, and whatever the clock does.
 */
import { join } from 'node:path';
import { toBridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import type { RunQuestions } from '../../edges/terminal/command.ts';
import { dueTimeOf, type Entry, type Run, runIdOf, type ScheduleStore } from './store.ts';
import { type Due, dueBy, localTime, readTimetable } from './timetable.ts';

/** Due times that are noticed later were missed: whatever wakes this does so each minute. Chosen. */
const LATE_MS = 3 * 60_000;
/** By then, whoever can start a run has done so. Chosen. */
const OVERLAP_MS = 60_000;
/** How often a run is started that ends its process each time. Chosen. */
const MAX_ATTEMPTS = 3;
/** How long a run waits for a person. Chosen. */
const MAX_WAIT_MS = 7 * 24 * 3_600_000;

export interface RunToExecute {
  readonly name: string;
  readonly entry: Entry;
  readonly id: string;
  readonly run: Run;
}

export interface TickWork {
  readonly store: ScheduleStore;
  readonly questions: RunQuestions;
  readonly logger: Logger;
  readonly now: () => Date;
  /** Takes a file for this process, or says which process has it. */
  readonly claim: (path: string) => Promise<{ release(): Promise<void> } | { readonly pid: number }>;
  /** How the run has ended; undefined if this process ends first. */
  readonly execute: (run: RunToExecute) => Promise<Run | undefined>;
  /** Sends the report of a run that has ended. Never rejects. */
  readonly report: (run: RunToExecute) => Promise<Run['report']>;
}

/** Resolves when everything has begun. `track` gets what goes on; none of it rejects. */
export async function tick(work: TickWork, track: (done: Promise<void>) => void): Promise<void> {
  const names = await work.store.names();
  await Promise.all(
    names.map((name) => begin(name, work, track).catch((error: unknown) => logFailure(name, error, work))),
  );
}

async function begin(name: string, work: TickWork, track: (done: Promise<void>) => void): Promise<void> {
  const { claim, store } = work;
  const taken = await claim(join(store.folderOf(name), 'claim'));
  if ('pid' in taken) {
    return skipIfOverlapping(name, work);
  }
  const done = workOn(name, work)
    .catch((error: unknown) => logFailure(name, error, work))
    .then(() => taken.release());
  track(done);
}

async function workOn(name: string, work: TickWork): Promise<void> {
  const { store } = work;
  for (const { id, run } of await store.openRuns(name)) {
    // An answer may have widened its rights.
    await goOn({ name, entry: await store.read(name), id, run }, work);
  }
  const entry = await store.read(name);
  const due = dueNow(entry, await store.runIds(name), work.now());
  if (due !== undefined) {
    await startDue(name, entry, due, work);
  }
  await store.prune(name);
}

/** Nothing for a run that has ended, or waits for an answer. */
async function goOn(one: RunToExecute, work: TickWork): Promise<void> {
  const { id, name, run } = one;
  const { now, questions } = work;
  if (run.report === 'pending') {
    return sendReport(one, work);
  }
  if (run.status === 'running') {
    if (run.attempts < MAX_ATTEMPTS) {
      return performRun({ ...one, run: { ...run, attempts: run.attempts + 1 } }, work);
    }
    return end(
      one,
      { ...run, status: 'failed', reason: `Its process ended ${MAX_ATTEMPTS} times before it did.` },
      work,
    );
  }
  if (run.status !== 'waiting') {
    return;
  }
  if ((await questions.open({ schedule: name, run: id })).length === 0) {
    return performRun({ ...one, run: { ...run, attempts: 1 } }, work);
  }
  if (now().getTime() - Date.parse(run.endedAt ?? run.startedAt) > MAX_WAIT_MS) {
    await end(one, { ...run, status: 'failed', reason: 'Nobody answered its questions within 7 days.' }, work);
  }
}

async function startDue(name: string, entry: Entry, { at, missed }: Due, work: TickWork): Promise<void> {
  const { now, store } = work;
  const id = runIdOf(at);
  const run = { ...newRun(at, now()), missed };
  const isLate = now().getTime() - at.getTime() > LATE_MS;
  if (isLate && entry.missed === 'skip' && !(await hasWaited(name, at, store))) {
    const reason = `It was noticed at ${localTime(now(), entry.timezone)}: the machine was off, or nothing looked.`;
    await store.addRun(name, id, { ...run, status: 'skipped', reason });
    await store.addNews(name, id);
  } else if (await store.addRun(name, id, run)) {
    await performRun({ name, entry, id, run }, work);
  }
}

/** Whether another run of the schedule was going at that time. */
async function hasWaited(name: string, at: Date, store: ScheduleStore): Promise<boolean> {
  const runs = await store.runs(name);
  return runs.some(({ run }) => run.endedAt !== undefined && Date.parse(run.endedAt) >= at.getTime());
}

export async function performRun(one: RunToExecute, work: TickWork): Promise<void> {
  const { id, name } = one;
  const running: Run = { ...one.run, status: 'running' };
  await work.store.writeRun(name, id, running);
  const ended = await work.execute({ ...one, run: running });
  if (ended !== undefined) {
    await end(one, ended, work);
  }
}

async function end(one: RunToExecute, ended: Run, work: TickWork): Promise<void> {
  const { entry, id, name } = one;
  const run: Run = { ...ended, endedAt: work.now().toISOString() };
  const isWaiting = run.status === 'waiting';
  const hasReport = entry.reportFile !== undefined || entry.reportCall !== undefined;
  const final: Run = hasReport && !isWaiting ? { ...run, report: 'pending' } : run;
  await work.store.writeRun(name, id, final);
  if (!run.isByHand && !isWaiting) {
    await work.store.addNews(name, id);
  }
  if (!isWaiting) {
    await work.questions.forget({ schedule: name, run: id });
  }
  if (final.report === 'pending') {
    await sendReport({ ...one, run: final }, work);
  }
}

/** At most once: if this process ends meanwhile, it stays unknown whether the report was sent. */
async function sendReport(one: RunToExecute, { report, store }: TickWork): Promise<void> {
  const { id, name, run } = one;
  await store.writeRun(name, id, { ...run, report: 'unknown' });
  await store.writeRun(name, id, { ...run, report: await report(one) });
}

/** Another run of the schedule is going. */
async function skipIfOverlapping(name: string, { now, store }: TickWork): Promise<void> {
  const entry = await store.read(name);
  const due = entry.overlap === 'skip' ? dueNow(entry, await store.runIds(name), now()) : undefined;
  if (due !== undefined && now().getTime() - due.at.getTime() >= OVERLAP_MS) {
    const reason = 'Another run of this schedule was still going.';
    await store.addRun(name, runIdOf(due.at), {
      ...newRun(due.at, now()),
      missed: due.missed,
      status: 'skipped',
      reason,
    });
  }
}

/** Runs that are due later than now are from before the clock was set back; the times until then have their runs. */
function dueNow(entry: Entry, ids: readonly string[], now: Date): Due | undefined {
  if (entry.isPaused) {
    return undefined;
  }
  const from = new Date(entry.from);
  const last = ids.flatMap((id) => dueTimeOf(id) ?? []).findLast((due) => due <= now);
  const begun = from <= now ? from : new Date(now.getTime() - LATE_MS);
  const after = last === undefined || last < begun ? begun : last;
  const due = dueBy(readTimetable(entry.when, entry.timezone, from), after, now);
  return due === undefined || ids.includes(runIdOf(due.at)) ? undefined : due;
}

export function newRun(due: Date, now: Date, isByHand = false): Run {
  return {
    version: 1,
    due: due.toISOString(),
    isByHand,
    status: 'running',
    startedAt: now.toISOString(),
    attempts: 1,
    missed: 0,
    calls: 0,
    seconds: 0,
    tokens: 0,
    unknown: [],
    output: '',
  };
}

function logFailure(name: string, error: unknown, { logger }: TickWork): void {
  const { code, message } = toBridgeError(error);
  logger.error(`schedule ${name}: ${code}: ${message}`);
}
