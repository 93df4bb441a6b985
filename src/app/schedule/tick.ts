/**
 * Does what is due: starts runs, goes on with those that were interrupted or whose questions are answered, and ends those that nobody
 * answers. Each due time leads to one run, however many processes look at once, and whatever the clock does.
 */
import { join } from 'node:path';
import { ERROR_CODES, toBridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import type { WaitingQuestion } from '../../core/base/waiting-question.ts';
import type { RunQuestions } from '../../edges/terminal/command.ts';
import { dueTimeOf, type Entry, type Run, runIdOf, type ScheduleStore } from './store.ts';
import { type Due, dueBy, localTime, readTimetable } from './timetable.ts';

/** Due times that are noticed later were missed: whatever wakes this does so each minute. Chosen. */
const LATE_MS = 3 * 60_000;
/** By then, whoever can start a run has done so. Chosen. */
const OVERLAP_MS = 60_000;
/** How often a run is started that ends its process each time. Chosen. */
const MAX_ATTEMPTS = 3;
/** Runs of one schedule that wait for a person. Chosen. */
const MAX_WAITING = 5;
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
  readonly report: (run: RunToExecute) => Promise<Pick<Run, 'report' | 'reportProblem'>>;
  /** The calls of a run of which it is not known whether they were made. */
  readonly unknownOf: (run: RunToExecute) => Promise<readonly string[]>;
  /** Whether a person sees how a run ends that they have started. */
  readonly isWatched?: boolean;
}

/** One look: the questions that wait are read once. */
interface Look extends TickWork {
  readonly openQuestions: () => Promise<readonly WaitingQuestion[]>;
}

/** Resolves when everything has begun. `track` gets what goes on; none of it rejects. */
export async function tick(work: TickWork, track: (done: Promise<void>) => void): Promise<void> {
  const names = await work.store.names();
  let open: Promise<readonly WaitingQuestion[]> | undefined;
  const openQuestions = (): Promise<readonly WaitingQuestion[]> => {
    open ??= work.questions.open();
    return open;
  };
  const look = { ...work, openQuestions };
  await Promise.all(
    names.map((name) => begin(name, look, track).catch((error: unknown) => logFailure(name, error, work))),
  );
}

async function begin(name: string, work: Look, track: (done: Promise<void>) => void): Promise<void> {
  const { claim, store } = work;
  if (!(await hasWork(name, work))) {
    return;
  }
  const taken = await claim(join(store.folderOf(name), 'claim'));
  if ('pid' in taken) {
    return skipIfOverlapping(name, work);
  }
  const done = workOn(name, work)
    .catch((error: unknown) => logFailure(name, error, work))
    .then(() => taken.release());
  track(done);
}

/** Without writing anything, because this is asked each minute. */
async function hasWork(name: string, { now, store }: TickWork): Promise<boolean> {
  const [entry, ids, open] = await Promise.all([store.read(name), store.runIds(name), store.openIds(name)]);
  return open.length > 0 || dueNow(entry, ids, now()) !== undefined;
}

async function workOn(name: string, work: Look): Promise<void> {
  const { store } = work;
  await store.removeHalfMade(name);
  for (const { id, run } of await store.openRuns(name)) {
    // An answer may have widened its rights.
    await goOn({ name, entry: await store.read(name), id, run }, work);
  }
  const entry = await store.read(name);
  const due = dueNow(entry, await store.runIds(name), work.now());
  if (due !== undefined) {
    await startDue(name, entry, due, work);
  }
  await store.prune(name, work.now());
}

/** Nothing for a run that has ended, or waits for an answer. */
async function goOn(one: RunToExecute, work: Look): Promise<void> {
  const { id, name, run } = one;
  const { now } = work;
  if (run.report === 'pending') {
    return sendReport(one, work);
  }
  if (run.status === 'running') {
    if (run.attempts < MAX_ATTEMPTS) {
      return performRun({ ...one, run: { ...run, attempts: run.attempts + 1 } }, work);
    }
    const reason = run.reason ?? `Its process ended ${MAX_ATTEMPTS} times before it did.`;
    return end(one, { ...run, status: 'failed', reason }, work);
  }
  if (run.status !== 'waiting') {
    // Its file is damaged.
    return end(one, run, work);
  }
  const open = await work.openQuestions();
  if (!open.some((question) => question.schedule === name && question.run === id)) {
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
  const waiting = (await store.openRuns(name)).filter((one) => one.run.status === 'waiting').length;
  if (isLate && entry.missed === 'skip' && !(await hasWaited(name, at, store))) {
    const reason = `It was noticed at ${localTime(now(), entry.timezone)}: the machine was off, or nothing looked.`;
    await skip(name, { ...run, reason }, store);
  } else if (waiting >= MAX_WAITING) {
    await skip(name, { ...run, reason: `${waiting} runs of this schedule wait for answers.` }, store);
  } else if (await store.addRun(name, id, run)) {
    await performRun({ name, entry, id, run }, work);
  }
}

async function skip(name: string, run: Run, store: ScheduleStore): Promise<void> {
  const id = runIdOf(new Date(run.due));
  if (await store.addRun(name, id, { ...run, status: 'skipped' })) {
    await store.addNews(name, id);
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
  const run = await withUnknown(one, { ...ended, endedAt: work.now().toISOString() }, work);
  const isWaiting = isGoingOn(run);
  const hasReport = entry.reportFile !== undefined || entry.reportCall !== undefined;
  const final: Run = hasReport && !isWaiting ? { ...run, report: 'pending' } : run;
  await work.store.writeRun(name, id, final);
  if (!isWaiting) {
    await work.questions.forget({ schedule: name, run: id });
  }
  if (final.report === 'pending') {
    await sendReport({ ...one, run: final }, work);
  }
  // After the report, so that the answer to the client can say whether it was sent.
  if (work.isWatched !== true && !isWaiting) {
    await work.store.addNews(name, id);
  }
}

/** However a run ends, it names the calls that may have been made. One that seems to have succeeded has not. */
async function withUnknown(one: RunToExecute, run: Run, { unknownOf }: TickWork): Promise<Run> {
  if (isGoingOn(run)) {
    return run;
  }
  const unknown = [...(await unknownOf(one))];
  if (unknown.length === 0 || run.status !== 'succeeded') {
    return { ...run, unknown };
  }
  const reason = `It is not known whether ${counted(unknown.length, 'call')} of it took place: ${unknown.join(', ')}.`;
  return { ...run, unknown, status: 'failed', exitCode: ERROR_CODES.OUTCOME_UNKNOWN.exitCode, reason };
}

function isGoingOn({ status }: Run): boolean {
  return status === 'waiting' || status === 'running';
}

/** At most once: if this process ends meanwhile, it stays unknown whether the report was sent. */
async function sendReport(one: RunToExecute, { report, store }: TickWork): Promise<void> {
  const { id, name, run } = one;
  await store.writeRun(name, id, { ...run, report: 'unknown' });
  await store.writeRun(name, id, { ...run, ...(await report(one)) });
}

/** Another run of the schedule is going. */
async function skipIfOverlapping(name: string, { now, store }: TickWork): Promise<void> {
  const entry = await store.read(name);
  const due = entry.overlap === 'skip' ? dueNow(entry, await store.runIds(name), now()) : undefined;
  if (due !== undefined && now().getTime() - due.at.getTime() >= OVERLAP_MS) {
    const reason = 'Another run of this schedule was still going.';
    await skip(name, { ...newRun(due.at, now()), missed: due.missed, reason }, store);
  }
}

/** Runs that are due later than now are from before the clock was set back; the times until then have their runs. */
function dueNow(entry: Entry, ids: readonly string[], now: Date): Due | undefined {
  if (entry.isPaused || entry.rights === undefined) {
    return undefined;
  }
  const from = new Date(entry.from);
  const last = ids.flatMap((id) => dueTimeOf(id) ?? []).findLast((due) => due <= now);
  const begun = from <= now ? from : new Date(now.getTime() - LATE_MS);
  const after = last === undefined || last < begun ? begun : last;
  const due = dueBy(readTimetable(entry.when, entry.timezone, begun), after, now);
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
