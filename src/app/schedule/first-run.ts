/** A run in front of a person, from which the rights of later ones are learned. */
import type { CellAnswer } from '../../core/base/cell.ts';
import { BridgeError, ERROR_CODES, toBridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { textTokens } from '../../core/base/token-estimate.ts';
import { counted } from '../../core/base/units.ts';
import { confirm } from '../../edges/terminal/confirm.ts';
import { createTerminalPerson } from '../../edges/terminal/terminal-person.ts';
import { callsFile, DEFAULT_SECONDS, outputOf, runCode } from './execute.ts';
import { sendReport } from './report.ts';
import { describeRights, learnRights } from './rights.ts';
import type { ScheduledCode } from './source.ts';
import { type Entry, type Run, runIdOf } from './store.ts';
import { newRun } from './tick.ts';
import { watchSignals } from './tick-command.ts';
import type { Work } from './work.ts';

export interface FirstRun {
  readonly name: string;
  readonly entry: Entry;
  readonly source: ScheduledCode;
  /** Whether what it does is accepted without a question. */
  readonly isSure: boolean;
}

/** Resolves with its exit code. Rejects with `APPROVAL_UNAVAILABLE` if there is no one, and with `APPROVAL_DENIED` without a yes. */
export async function attend(first: FirstRun, work: Work): Promise<number> {
  const { entry, isSure, name, source } = first;
  const { context, say, store, terminal } = work;
  const why =
    entry.rights === undefined ? 'nobody has accepted what it may call' : 'its code has changed since it was accepted';
  if (terminal === undefined && !isSure) {
    throw new BridgeError('APPROVAL_UNAVAILABLE', `'${name}' was not run: ${why}, and there is no terminal to ask at`, {
      hint: `Run it at a terminal: ${COMMAND} schedule run ${name}`,
    });
  }
  const now = new Date();
  const id = runIdOf(now, true);
  const begun = newRun(now, now, true);
  // Its calls are not noted before they are sent, so that it must not go on if its process ends.
  await store.addRun(name, id, { ...begun, status: 'failed', reason: 'It was interrupted.' });
  say(entry.rights === undefined ? `First run of '${name}':\n` : `Run of '${name}', because ${why}:\n`);
  const started = performance.now();
  const answer = await runCode({ context, entry, id, name, store }, source, {
    seconds: entry.perRun.seconds ?? DEFAULT_SECONDS,
    signal: watchSignals(work).signal,
    person: terminal && createTerminalPerson(terminal),
    bridge: {},
  });
  const { calls } = await context.openReplay(callsFile(store, name, id));
  const run = {
    ...endOf(answer, begun, work),
    calls: calls.length,
    seconds: Math.round((performance.now() - started) / 1_000),
  };
  await store.writeRun(name, id, run);
  say(run.output === '' || run.output.endsWith('\n') ? run.output : `${run.output}\n`);
  if (run.status !== 'succeeded') {
    say(`The schedule is not due before a run has succeeded. When it is corrected: ${COMMAND} schedule run ${name}\n`);
    return run.exitCode ?? 1;
  }
  await acceptRights(first, calls, work);
  await tryReport({ name, entry, id, run }, work);
  return 0;
}

function endOf(answer: CellAnswer, begun: Run, { settings }: Work): Run {
  const output = outputOf(answer, settings.maxOutputChars);
  const code = answer.error?.code;
  const exitCode =
    answer.status === 'success' ? 0 : code === undefined ? answer.exitCode || 1 : ERROR_CODES[code].exitCode;
  return {
    ...begun,
    status: exitCode === 0 ? 'succeeded' : 'failed',
    exitCode,
    output,
    tokens: textTokens(Buffer.byteLength(output)),
    endedAt: new Date().toISOString(),
  };
}

type MadeCalls = Awaited<ReturnType<Work['context']['openReplay']>>['calls'];

async function acceptRights({ isSure, name, source }: FirstRun, calls: MadeCalls, work: Work): Promise<void> {
  const { say, store } = work;
  const made = calls.filter(({ error }) => error === undefined);
  const tools = learnRights(made, (call) =>
    made.some((one) => one.isReading && one.server === call.server && one.tool === call.tool),
  );
  const { perRun } = await store.read(name);
  const isOver = calls.length > (perRun.calls ?? Infinity);
  say(`Later runs may do this, and whatever else they try waits for your answer:\n${describeRights({ tools })}`);
  say(
    isOver
      ? `This run made ${counted(calls.length, 'call')}, and --max-calls allows ${perRun.calls}: later ones will fail.\n`
      : '',
  );
  if (!(await isAgreed('Accept this?', isSure, work))) {
    throw new BridgeError(
      'APPROVAL_DENIED',
      `the run was made, and later ones are not accepted, so '${name}' is not due`,
      {
        hint: `To run it again and accept it: ${COMMAND} schedule run ${name}`,
      },
    );
  }
  const now = new Date().toISOString();
  await store.write(name, {
    ...(await store.read(name)),
    rights: { acceptedAt: now, source: source.hash, tools },
    from: now,
  });
  say('Accepted.\n');
}

/** A report that cannot be sent is seen now rather than tomorrow. */
async function tryReport(one: Parameters<typeof sendReport>[0], { context, say, store }: Work): Promise<void> {
  if (one.entry.reportFile !== undefined || one.entry.reportCall !== undefined) {
    const end = await sendReport(one, context);
    await store.writeRun(one.name, one.id, { ...one.run, ...end });
    say(`${end.reportProblem ?? 'The report was sent.'}\n`);
  }
}

/** Whether the person says yes. */
export async function isAgreed(question: string, isSure: boolean, work: Pick<Work, 'findPerson'>): Promise<boolean> {
  try {
    await confirm(question, isSure, work);
    return true;
  } catch (error) {
    if (toBridgeError(error).code === 'APPROVAL_DENIED') {
      return false;
    }
    throw error;
  }
}
