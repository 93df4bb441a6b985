/** `schedule`: adds, shows, runs and removes schedules, and does what is due. */
import { join, resolve } from 'node:path';
import { BridgeError, ERROR_CODES, toBridgeError } from '../../core/base/errors.ts';
import { escapeInLines, renderJson } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { counted } from '../../core/base/units.ts';
import type { WaitingQuestion } from '../../core/base/waiting-question.ts';
import { claimSession } from '../../core/session/session-claim.ts';
import { readJsonArguments } from '../../edges/terminal/call-arguments.ts';
import { carryOut, type LineFor } from '../../edges/terminal/command.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { ScheduleCommand } from './command.ts';
import { attend, isAgreed } from './first-run.ts';
import { examineSchedule } from './preflight.ts';
import { readSource } from './source.ts';
import { type Entry, type Run, runIdOf, ScheduleStore } from './store.ts';
import { describeEntry, type ListedSchedule, renderList, renderRuns } from './text.ts';
import { newRun, performRun } from './tick.ts';
import { tickWork, watchSignals } from './tick-command.ts';
import { localTimezone, readTimetable } from './timetable.ts';
import { findWaker, whyNotWoken } from './waking.ts';
import type { ScheduleOptions, Work } from './work.ts';

const SHOWN_TIMES = 3;
const WAITING_EXIT_CODE = ERROR_CODES.APPROVAL_TIMEOUT.exitCode;

/** Resolves with the exit code. */
export async function schedule(
  command: Exclude<ScheduleCommand, { readonly action: 'tick' }>,
  options: ScheduleOptions,
): Promise<number> {
  const { settings, writeError, writeOut } = options;
  const work: Work = {
    ...options,
    context: options,
    store: new ScheduleStore(settings.stateDir),
    questions: await options.openQuestions(),
    print: (json, text) => writeOut(command.isJson ? renderJson(json) : text),
    say: (text) => writeError(text),
  };
  const handlers = { add, check, list, log, pause, remove, run, show, system, resume };
  return carryOut(handlers, command, work);
}

async function add(line: LineFor<ScheduleCommand, 'add'>, work: Work): Promise<number> {
  const { name } = line;
  const { say, store } = work;
  if (await store.has(name)) {
    throw new BridgeError('USAGE_INVALID', `there is a schedule '${name}' already`, {
      hint: `To replace it, run first: ${COMMAND} schedule remove ${name}`,
    });
  }
  const entry = entryOf(line);
  readTimetable(entry.when, entry.timezone, new Date(entry.from));
  const source = await readSource(entry, work);
  await store.write(name, entry);
  if (work.terminal === undefined && !line.isSure) {
    say('No one is here to see its first run, so it is not run and not due yet.\n');
    say(`To run it, and accept what it may call, type at a terminal: ${COMMAND} schedule run ${name}\n`);
    return show(line, work);
  }
  const claim = await claimRuns(name, store);
  try {
    const exitCode = await attend({ name, entry, source, isSure: line.isSure }, work);
    if (exitCode !== 0) {
      return exitCode;
    }
  } finally {
    await claim.release();
  }
  await offerWaker(line.isSure, work);
  return show(line, work);
}

/** Asks before anything of the system is changed. */
async function offerWaker(isSure: boolean, work: Work): Promise<void> {
  const { say, settings } = work;
  const found = await findWaker(settings.stateDir);
  if (!('why' in found) && !(await found.isInstalled())) {
    say(`${found.describe()}\n`);
    if (await isAgreed(`Let ${found.name} look each minute for what is due?`, isSure, work)) {
      await found.install();
      say(`${found.name} looks for what is due each minute now.\n`);
    }
  }
  const why = await whyNotWoken(settings.stateDir);
  say(why === undefined ? '' : `${why}\n`);
}

async function system({ what = 'show' }: LineFor<ScheduleCommand, 'system'>, work: Work): Promise<number> {
  const found = await findWaker(work.settings.stateDir);
  if ('why' in found) {
    const why = (await whyNotWoken(work.settings.stateDir)) ?? '';
    work.print({ name: null, isInstalled: false, why: found.why }, `${why}\n`);
    return what === 'install' ? ERROR_CODES.STATE_WRITE_FAILED.exitCode : 0;
  }
  if (what === 'install') {
    await found.install();
  } else if (what === 'remove') {
    await found.remove();
  } else if (what !== 'show') {
    throw new BridgeError('USAGE_INVALID', `'${what}' is none of show, install and remove`);
  }
  const isInstalled = await found.isInstalled();
  const state = isInstalled
    ? `${found.name} looks each minute for what is due.`
    : `${found.name} does not look for what is due.`;
  const text = what === 'show' ? `${found.describe()}\n` : '';
  work.print({ name: found.name, isInstalled, description: found.describe() }, `${text}${state}\n`);
  return 0;
}

function entryOf(line: LineFor<ScheduleCommand, 'add'>): Entry {
  const { calls, callsPerDay, code, file, report, reportArguments, reportTo, timeoutMs, tokens, tool } = line;
  const source =
    tool === undefined
      ? file === undefined
        ? { code: code ?? '' }
        : { file: resolve(file) }
      : { tool, arguments: [...line.words] };
  const seconds = (ms: number | undefined): number | undefined => ms && Math.ceil(ms / 1_000);
  return {
    version: 1,
    when: line.when,
    timezone: line.timezone ?? localTimezone(),
    source,
    servers: [...line.servers],
    missed: line.missed,
    overlap: line.overlap,
    isPaused: false,
    from: new Date().toISOString(),
    perRun: { calls, seconds: seconds(timeoutMs), tokens },
    perDay: { calls: callsPerDay, seconds: seconds(line.timePerDayMs), tokens: line.tokensPerDay },
    reportFile: report && resolve(report),
    reportCall: reportTo === undefined ? undefined : reportCallOf(reportTo, reportArguments ?? '{}'),
  };
}

function reportCallOf(target: string, json: string): Entry['reportCall'] {
  const at = target.lastIndexOf('.');
  if (at < 1 || at === target.length - 1) {
    throw new BridgeError('USAGE_INVALID', `'${target}' is no tool`, { hint: 'Write it as SERVER.TOOL.' });
  }
  try {
    readJsonArguments(json);
  } catch {
    throw new BridgeError('USAGE_INVALID', '--report-args is no JSON object', {
      hint: `For example --report-args '{"channel": "C42", "text": "{report}"}'`,
    });
  }
  return { server: target.slice(0, at), tool: target.slice(at + 1), arguments: json };
}

async function list(_line: LineFor<ScheduleCommand, 'list'>, work: Work): Promise<number> {
  const names = await work.store.names();
  const listed = await Promise.all(
    names.map((name) => lookAt(name, work).catch((error: unknown) => damaged(name, error))),
  );
  work.print(listed, renderList(listed));
  const why = names.length === 0 ? undefined : await whyNotWoken(work.settings.stateDir);
  work.say(why === undefined ? '' : `${why}\n`);
  return 0;
}

/** One of which the file cannot be read does not hide the others. */
function damaged(name: string, error: unknown): ListedSchedule {
  const { code, hint = null, message } = toBridgeError(error);
  const nothing = { when: '', timezone: 'UTC', isPaused: false, next: [], last: null, questions: 0 };
  return { name, ...nothing, problems: [{ code, message, hint }] };
}

async function lookAt(name: string, { context, questions, store }: Work): Promise<ListedSchedule> {
  const [entry, runs] = [await store.read(name), await store.runs(name)];
  const now = new Date();
  const { problems } = await examineSchedule({ name, entry, runs, now }, context);
  const { timezone, when } = entry;
  const timetable = readTimetable(when, timezone, new Date(entry.from));
  const next: Date[] = [];
  for (let at = timetable.next(now); at !== undefined && next.length < SHOWN_TIMES; at = timetable.next(at)) {
    next.push(at);
  }
  const last = runs.at(-1);
  return {
    name,
    when,
    timezone,
    isPaused: entry.isPaused,
    next: entry.isPaused ? [] : next.map((date) => date.toISOString()),
    last:
      last === undefined
        ? null
        : {
            id: last.id,
            status: last.run.status,
            reason: last.run.reason ?? null,
            reportProblem: last.run.reportProblem ?? null,
          },
    questions: (await questions.open()).filter((one) => one.schedule === name).length,
    problems: problems.map(({ code, hint = null, message }) => ({ code, message, hint })),
  };
}

async function show({ name }: Pick<LineFor<ScheduleCommand, 'show'>, 'name'>, work: Work): Promise<number> {
  const entry = await work.store.read(name);
  const listed = await lookAt(name, work);
  work.print({ ...listed, entry }, describeEntry(entry, listed));
  return 0;
}

async function check({ name }: LineFor<ScheduleCommand, 'check'>, work: Work): Promise<number> {
  const { problems } = await lookAt(name, work);
  const lines = problems.map(
    ({ code, hint, message }) => `${code}: ${message}\n${hint === null ? '' : `Hint: ${hint}\n`}`,
  );
  work.print(problems, lines.length === 0 ? 'A run can work now.\n' : lines.join(''));
  const [first] = problems;
  return first === undefined ? 0 : ERROR_CODES[first.code].exitCode;
}

async function run({ isSure, name }: LineFor<ScheduleCommand, 'run'>, work: Work): Promise<number> {
  const { print, questions, store } = work;
  const entry = await store.read(name);
  const claim = await claimRuns(name, store);
  try {
    const source = await readSource(entry, work);
    if (entry.rights?.source !== source.hash) {
      return await attend({ name, entry, source, isSure }, work);
    }
    const now = new Date();
    const id = runIdOf(now, true);
    const begun = newRun(now, now, true);
    await store.addRun(name, id, begun);
    await performRun(
      { name, entry, id, run: begun },
      tickWork({ ...work, isWatched: true }, questions, watchSignals(work).signal),
    );
    const ended = (await store.readRun(name, id)) ?? begun;
    print({ id, ...ended }, shown(describeEnd(ended, await questions.open({ schedule: name, run: id })), work));
    return exitCodeOf(ended);
  } finally {
    await claim.release();
  }
}

/** Rejects with `USAGE_INVALID` while another process runs the schedule. */
async function claimRuns(name: string, store: ScheduleStore): Promise<{ release(): Promise<void> }> {
  const claim = await claimSession(join(store.folderOf(name), 'claim'));
  if ('pid' in claim) {
    throw new BridgeError('USAGE_INVALID', `process ${claim.pid} runs '${name}' now`, {
      hint: 'Wait until it has ended, or end that process.',
    });
  }
  return claim;
}

function describeEnd({ output, reason, reportProblem, status }: Run, waiting: readonly WaitingQuestion[]): string {
  const states: Readonly<Partial<Record<Run['status'], string>>> = {
    succeeded: '',
    waiting: describeWaiting(waiting),
    running: 'The run has not ended. If its process was interrupted, the next look goes on with it.\n',
  };
  const said = output === '' || output.endsWith('\n') ? output : `${output}\n`;
  const lines = [reason, reportProblem].filter((line) => line !== undefined).map((line) => `${line}\n`);
  return `${said}${states[status] ?? `The run has ended: ${status}.\n`}${lines.join('')}`;
}

function describeWaiting(waiting: readonly WaitingQuestion[]): string {
  if (waiting.length === 0) {
    return 'The run has its answers, and goes on at the next look.\n';
  }
  const lines = waiting.map(({ id, question }) => {
    const [call] = question.mode === 'form' ? (question.calls ?? []) : [];
    const about = call === undefined ? question.message.split('\n')[0] : `${call.server}.${call.tool}: ${call.reason}`;
    return `  ${id}  ${about}\n`;
  });
  return `The run has stopped, and waits for ${counted(waiting.length, 'answer')}:\n${lines.join('')}To answer: ${COMMAND} approvals allow ID, or deny ID\n`;
}

function exitCodeOf({ exitCode, status }: Run): number {
  return status === 'waiting' ? WAITING_EXIT_CODE : status === 'succeeded' ? 0 : (exitCode ?? 1);
}

async function pause({ names }: LineFor<ScheduleCommand, 'pause'>, work: Work): Promise<number> {
  return change(names, { isPaused: true }, 'paused', work);
}

async function resume({ names }: LineFor<ScheduleCommand, 'resume'>, work: Work): Promise<number> {
  return change(names, { isPaused: false, from: new Date().toISOString() }, 'due again', work);
}

async function change(names: readonly string[], changes: Partial<Entry>, word: string, work: Work): Promise<number> {
  const entries = await Promise.all(names.map((name) => work.store.read(name)));
  for (const [index, name] of names.entries()) {
    await work.store.write(name, { ...(entries[index] as Entry), ...changes });
  }
  work.print(
    names,
    renderTable(
      names.map((name) => [name, word]),
      '',
    ),
  );
  return 0;
}

async function remove({ names }: LineFor<ScheduleCommand, 'remove'>, work: Work): Promise<number> {
  const { questions, store } = work;
  await Promise.all(names.map(async (name) => ((await store.has(name)) ? undefined : store.read(name))));
  for (const name of names) {
    // What runs would write its end into a folder that is gone.
    await (await claimRuns(name, store)).release();
    await store.remove(name);
    await questions.forget({ schedule: name });
  }
  if ((await work.store.names()).length === 0) {
    const found = await findWaker(work.settings.stateDir);
    await ('why' in found ? undefined : found.remove());
  }
  work.print(
    names,
    renderTable(
      names.map((name) => [name, 'removed']),
      '',
    ),
  );
  return 0;
}

async function log({ name, run: wanted }: LineFor<ScheduleCommand, 'log'>, work: Work): Promise<number> {
  const entry = await work.store.read(name);
  const runs = await work.store.runs(name);
  if (wanted === undefined) {
    work.print(
      runs.map(({ id, run: one }) => ({ id, ...one })),
      renderRuns(runs, entry),
    );
    return 0;
  }
  const found = wanted === 'last' ? runs.at(-1) : runs.find(({ id }) => id === wanted);
  if (found === undefined) {
    throw new BridgeError('USAGE_INVALID', `'${name}' has no run '${wanted}'`, {
      hint: `To list its runs, type: ${COMMAND} schedule log ${name}`,
    });
  }
  const waiting = await work.questions.open({ schedule: name, run: found.id });
  work.print({ id: found.id, ...found.run }, shown(describeEnd(found.run, waiting), work));
  return 0;
}

function shown(text: string, { isShown }: Work): string {
  return isShown ? escapeInLines(text) : text;
}
