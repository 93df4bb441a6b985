/** One run without a person, in a bridge of its own, from its start or from where it was interrupted. */
import { join } from 'node:path';
import type { CellAnswer } from '../../core/base/cell.ts';
import { ERROR_CODES, renderError } from '../../core/base/errors.ts';
import { textTokens } from '../../core/base/token-estimate.ts';
import { summarizeCellError } from '../../core/render/cell-error.ts';
import { renderText } from '../../core/render/render.ts';
import { LazyBridge } from '../../core/session/lazy-bridge.ts';
import { ensureDirectory } from '../../core/state/state-files.ts';
import type { BridgeOptions, CommandContext, RunQuestions } from '../../edges/terminal/command.ts';
import { closeInTime } from '../../edges/terminal/lifecycle.ts';
import { answerCell } from '../../front/server/cell-answers.ts';
import { examineSchedule, isCertain, usedToday } from './preflight.ts';
import { type MadeCall, type Rights, widenRights } from './rights.ts';
import { unknownCalls } from './sent-calls.ts';
import type { ScheduledCode } from './source.ts';
import type { Entry, Run, ScheduleStore, StoredRun } from './store.ts';
import { localTime } from './timetable.ts';
import { type RunInHand, Unattended } from './unattended.ts';

/** The deadline of a run that has none. */
export const DEFAULT_SECONDS = 600;
const MAX_SECONDS = 86_400;
const CHARS_PER_TOKEN = 4;
/** What is kept of what a run prints, without a limit in tokens. */
const MAX_OUTPUT_CHARS = 40_000;
/** What a client waits for has ended; nothing waits for the bridge of a run. */
const CLOSE_MS = 10_000;
const NOT_WAITED = 'The code ended without the answer that it had to wait for.';
const CALLS_FILE = 'calls.jsonl';

export interface RunWork {
  readonly name: string;
  readonly entry: Entry;
  readonly id: string;
  readonly run: Run;
  readonly store: ScheduleStore;
  readonly questions: RunQuestions;
  readonly context: CommandContext;
  /** Of this process; the run goes on at the next start. */
  readonly signal: AbortSignal;
}

/** How it has ended; undefined if the process ends first. Rejects if the state directory cannot be written. */
export async function executeRun(work: RunWork): Promise<Run | undefined> {
  const { context, entry, name, run, store } = work;
  const runs = (await store.runs(name)).filter(({ id }) => id !== work.id);
  const { problems, source } = await examineSchedule({ name, entry, runs, now: new Date() }, context);
  const problem = problems.find(isCertain);
  if ((run.calls > 0 || run.attempts > 1) && problem !== undefined && problem.code !== 'APPROVAL_UNAVAILABLE') {
    // It has begun, and what is missing may come back.
    return { ...run, status: 'running', reason: renderError(problem) };
  }
  if (problem !== undefined || source === undefined || entry.rights === undefined) {
    const exitCode = problem === undefined ? 1 : ERROR_CODES[problem.code].exitCode;
    return { ...run, status: 'refused', reason: problem && renderError(problem), exitCode };
  }
  if (run.attempts > 1 && (await hasSucceeded(work))) {
    return { ...run, status: 'succeeded', exitCode: 0, output: '' };
  }
  return runUnattended(work, { source, rights: entry.rights, runs });
}

async function runUnattended(
  work: RunWork,
  {
    rights,
    runs,
    source,
  }: { readonly source: ScheduledCode; readonly rights: Rights; readonly runs: readonly StoredRun[] },
): Promise<Run | undefined> {
  const { entry, id, name, questions, run, store } = work;
  const stop = new AbortController();
  const used = usedToday(entry, runs, new Date());
  const left = (of: 'calls' | 'seconds' | 'tokens'): number =>
    Math.min(entry.perRun[of] ?? Infinity, (entry.perDay[of] ?? Infinity) - (used[of] ?? 0));
  const always: AllowedCall[] = [];
  const hand = new Unattended({
    schedule: name,
    id,
    dueText: localTime(new Date(run.due), entry.timezone),
    folder: store.runFolder(name, id),
    rights,
    mostCalls: mostCallsOf(entry, used),
    questions,
    stop: () => stop.abort('waits for an answer'),
    onAlways: (call, facts) => void always.push({ call, ...facts }),
  });
  const begun = performance.now();
  const answer = await runCode(work, source, {
    seconds: Math.min(left('seconds'), entry.perRun.seconds ?? DEFAULT_SECONDS),
    signal: AbortSignal.any([work.signal, stop.signal]),
    person: hand.person,
    bridge: { unattended: hand.open },
  });
  await widen(work, rights, always);
  if (work.signal.aborted && !hand.isWaiting) {
    return undefined;
  }
  const maxChars = Math.min(MAX_OUTPUT_CHARS, left('tokens') * CHARS_PER_TOKEN);
  const ended: Run = {
    ...run,
    ...outcomeOf(answer, hand),
    calls: hand.calls,
    seconds: Math.round((performance.now() - begun) / 1_000) + run.seconds,
    output: outputOf(hand.isWaiting ? { ...answer, status: 'success', error: undefined } : answer, maxChars),
  };
  return { ...ended, tokens: textTokens(Buffer.byteLength(ended.output)) };
}

/** The calls of a run that were sent, of which it is not known whether they were made. */
export async function unknownOfRun({
  context,
  id,
  name,
  store,
}: Pick<RunWork, 'context' | 'id' | 'name' | 'store'>): Promise<string[]> {
  const replay = await context.openReplay(callsFile(store, name, id)).catch(() => undefined);
  return unknownCalls(store.runFolder(name, id), replay?.calls ?? []);
}

/** Whether its process ended between the last line of the code and the note that the run has ended. */
async function hasSucceeded({ context, id, name, store }: RunWork): Promise<boolean> {
  const replay = await context.openReplay(callsFile(store, name, id)).catch(() => undefined);
  return replay?.cells.at(-1)?.status === 'success';
}

function mostCallsOf({ perDay, perRun }: Entry, used: ReturnType<typeof usedToday>): RunInHand['mostCalls'] {
  const ofDay = (perDay.calls ?? Infinity) - (used.calls ?? 0);
  const ofRun = perRun.calls ?? Infinity;
  const count = Math.min(ofDay, ofRun);
  return Number.isFinite(count) ? { count, by: ofDay < ofRun ? 'the limit of a day' : 'its own limit' } : undefined;
}

interface AllowedCall {
  readonly call: MadeCall;
  readonly count: number;
  readonly isReading: boolean;
}

/** Of what a person has allowed for all later runs. */
async function widen({ name, store }: RunWork, rights: Rights, always: readonly AllowedCall[]): Promise<void> {
  if (always.length > 0) {
    const wider = (tools: Rights['tools'], { call, ...facts }: AllowedCall) => widenRights(tools, call, facts);
    await store.write(name, {
      ...(await store.read(name)),
      rights: { ...rights, tools: always.reduce(wider, rights.tools) },
    });
  }
}

interface CodeOptions {
  readonly seconds: number;
  readonly signal: AbortSignal;
  readonly person: Parameters<typeof answerCell>[1]['person'];
  readonly bridge: BridgeOptions;
}

/** Also for the first run, in front of a person. Never rejects for what the code does. */
export async function runCode(
  { context, entry, id, name, store }: Pick<RunWork, 'context' | 'entry' | 'id' | 'name' | 'store'>,
  { code, named }: ScheduledCode,
  { bridge: options, person, seconds, signal }: CodeOptions,
): Promise<CellAnswer> {
  const folder = store.runFolder(name, id);
  await ensureDirectory(folder);
  const resume = join(folder, CALLS_FILE);
  const bridge = new LazyBridge(() => context.createBridge({ ...options, resume }));
  try {
    const known = named.length === 0 ? undefined : (await bridge.get()).listServers();
    const also = named.map((one) => known?.resolve(one)).filter((one) => one !== undefined);
    const { logger, settings } = context;
    return await answerCell(
      {
        bridge,
        outputMode: settings.outputMode,
        maxOutputChars: settings.maxOutputChars,
        defaultTimeoutSeconds: DEFAULT_SECONDS,
        maxTimeoutSeconds: MAX_SECONDS,
        logger,
      },
      {
        given: {
          code,
          servers: [...new Set([...entry.servers, ...also])],
          timeout: Math.max(1, Math.floor(seconds)),
        },
        signal,
        person,
      },
    );
  } finally {
    await closeInTime(() => bridge.close(), context.logger, CLOSE_MS);
  }
}

export function callsFile(store: ScheduleStore, name: string, id: string): string {
  return join(store.runFolder(name, id), CALLS_FILE);
}

function outcomeOf(answer: CellAnswer, hand: Unattended): Pick<Run, 'status' | 'reason' | 'exitCode'> {
  const problem = hand.problem ?? (hand.isWaiting && answer.status === 'success' ? NOT_WAITED : undefined);
  if (problem !== undefined) {
    return { status: 'failed', exitCode: ERROR_CODES.APPROVAL_UNAVAILABLE.exitCode, reason: problem };
  }
  if (answer.status === 'success') {
    return { status: 'succeeded', exitCode: 0, reason: undefined };
  }
  if (hand.isWaiting) {
    return { status: 'waiting', exitCode: undefined, reason: undefined };
  }
  const { error } = answer;
  const exitCode = error?.code === undefined ? answer.exitCode || 1 : ERROR_CODES[error.code].exitCode;
  return { status: 'failed', exitCode, reason: error && summarizeCellError(error) };
}

/** As a client would read it, without notices, which are for clients. */
export function outputOf(answer: CellAnswer, maxChars: number): string {
  return renderText({ ...answer, notices: [] }, maxChars);
}
