/**
 * Continues an interrupted run: calls that it had answered successfully get the recorded answer again, all others are made. The run
 * goes on in the same file. Each answer is on disk before code gets it, so that whatever the code saw is not done twice.
 */
import { truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CellAnswer } from '../../core/base/cell.ts';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { MAX_RECORDING_BYTES } from '../../core/base/limits.ts';
import { counted } from '../../core/base/units.ts';
import type { CallGate } from '../../core/calls/contract.ts';
import type { BegunStep } from '../../core/calls/events.ts';
import type { KeptResults } from '../../core/calls/steps.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { makeFolders } from '../../core/state/file-system.ts';
import { readBounded } from '../../core/state/state-files.ts';
import type { AnsweredCall } from '../../edges/terminal/command.ts';
import type { LineOfType, RecordedLine } from './format.ts';
import { StepCalls } from './kept-steps.ts';
import { callKey, errorOf, parseLine } from './replay.ts';

export type RecordedCall = LineOfType<'call'>;

/** What is in the file of a run. */
export interface ResumableRun {
  readonly path: string;
  /** Whether there is no file yet. */
  readonly isNew: boolean;
  /** Whether the file has its first line. */
  readonly hasHead: boolean;
  /** All, in the order in which they were recorded. */
  readonly recorded: readonly RecordedCall[];
  /** Those that succeeded. */
  readonly calls: readonly RecordedCall[];
  /** Results of its steps. */
  readonly steps: readonly LineOfType<'step'>[];
  readonly stepCalls: StepCalls;
  /** The highest number of a call. */
  readonly lastNumber: number;
  /** Lets another process continue it. */
  release(): Promise<void>;
}

/** Takes a file for this process, or says which one has it. */
type ClaimFile = (path: string) => Promise<{ release(): Promise<void> } | { readonly pid: number }>;

/**
 * Reads what an interrupted run has left, and cuts off a line that it had not finished. Rejects with `USAGE_INVALID` if the run has
 * finished, if another process continues it, or if the file is something else.
 */
export async function openRun(path: string, claimFile: ClaimFile): Promise<ResumableRun> {
  const claim = await makeFolders(dirname(path))
    .then(() => claimFile(`${path}.claim`))
    .catch((error: unknown) => {
      throw cannotResume(path, messageOf(error));
    });
  if ('pid' in claim) {
    throw new BridgeError('USAGE_INVALID', `process ${claim.pid} is running the run in ${path}`, {
      hint: 'Both would make the same calls. Wait until it has ended, or name another file.',
    });
  }
  try {
    return { ...(await readRun(path)), release: () => claim.release() };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

async function readRun(path: string): Promise<Omit<ResumableRun, 'release'>> {
  const data = await readBounded(path, MAX_RECORDING_BYTES).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw cannotResume(path, messageOf(error));
  });
  const bytes = data === undefined ? 0 : data.lastIndexOf('\n') + 1;
  if (data === undefined || data.length === 0) {
    const none = { recorded: [], calls: [], steps: [], stepCalls: new StepCalls(), lastNumber: 0 };
    return { path, isNew: data === undefined, hasHead: false, ...none };
  }
  const lines = data.subarray(0, bytes).toString('utf8').split('\n').slice(0, -1).map(parse(path));
  if (lines[0]?.type !== 'recording') {
    throw cannotResume(path, 'it is not a recording');
  }
  const last = lines.findLast((line) => line.type === 'cell' || line.type === 'cell_ended');
  if (last?.type === 'cell_ended' && last.status === 'success') {
    throw new BridgeError('USAGE_INVALID', `the run in ${path} has finished, so nothing is left to resume`, {
      hint: 'To run it again, name a new file.',
    });
  }
  if (bytes < data.length) {
    await truncate(path, bytes);
  }
  const calls = lines.filter((line) => line.type === 'call');
  return {
    path,
    isNew: false,
    hasHead: true,
    recorded: calls,
    calls: calls.filter(({ error }) => error === undefined),
    steps: lines.filter((line) => line.type === 'step'),
    stepCalls: new StepCalls(),
    lastNumber: Math.max(0, ...calls.map(({ number }) => number)),
  };
}

function parse(path: string): (line: string, index: number) => RecordedLine {
  return (line, index) => {
    const parsed = parseLine(line);
    if (typeof parsed === 'string') {
      throw cannotResume(path, `line ${index + 1} ${parsed}`);
    }
    return parsed;
  };
}

function cannotResume(path: string, reason: string): BridgeError {
  return new BridgeError('USAGE_INVALID', `cannot resume '${path}': ${reason}`, {
    hint: 'Name a file from an earlier --resume, or a new one.',
  });
}

/** The recorded calls, with whether `RunAnswers` can give the answer again. */
export function answeredCalls(recorded: readonly RecordedCall[]): readonly AnsweredCall[] {
  return recorded.map(({ arguments: given, error, left_out_bytes, masked, server, tool }) => ({
    server,
    tool,
    arguments: given,
    isUsable: error === undefined && masked !== true && left_out_bytes === undefined,
    error: error && errorOf(error),
  }));
}

/** Answers the calls of a run from what was recorded of it. */
export class RunAnswers {
  readonly #run: ResumableRun;
  readonly #mask: <Value>(value: Value) => Value;
  /** By server, tool and arguments. */
  readonly #left = new Map<string, RecordedCall[]>();
  #reused = 0;
  #takenSteps = 0;
  #unusable = 0;

  constructor(run: ResumableRun, mask: <Value>(value: Value) => Value) {
    this.#run = run;
    this.#mask = mask;
    for (const call of run.calls) {
      const key = callKey(call.server, call.tool, call.arguments);
      const same = this.#left.get(key) ?? [];
      same.push(call);
      this.#left.set(key, same);
    }
  }

  /** The innermost gate: policies, approvals and pins apply to a call that was answered before, too. */
  readonly gate: CallGate = async (call, next) => {
    const given = this.#mask(call.arguments);
    const recorded = this.#left.get(callKey(call.server.name, call.tool.name, given))?.shift();
    if (recorded === undefined) {
      return next(call);
    }
    const hasSecret = stringifyExact(given) !== stringifyExact(call.arguments);
    if (hasSecret || recorded.masked === true || recorded.left_out_bytes !== undefined) {
      this.#unusable += 1;
      return next(call);
    }
    this.#reused += 1;
    this.#run.stepCalls.note(call.context, [recorded.number]);
    return { ok: true, result: recorded.result, isResumed: true };
  };

  /** Results of steps. @param onSkipped called for each call that such a result stands for. */
  keptResults(onSkipped: (call: AnsweredCall) => void): KeptResults {
    const left = new Map<string, LineOfType<'step'>[]>();
    this.#run.steps.forEach((line) => left.set(line.key, [...(left.get(line.key) ?? []), line]));
    const calls = new Map(this.#run.recorded.map((call) => [call.number, call]));
    return {
      take: (key) => {
        const line = left.get(key)?.shift();
        const use = (step: BegunStep): void => {
          const made = (line?.calls ?? []).flatMap((number) => calls.get(number) ?? []);
          this.#run.stepCalls.note({ ...step, step: step.number }, line?.calls ?? []);
          this.#takenSteps += step.isRow ? 0 : 1;
          made.forEach((call) => this.#forget(call));
          answeredCalls(made).forEach(onSkipped);
        };
        return line?.data === undefined ? undefined : { data: line.data, use };
      },
    };
  }

  #forget({ arguments: given, number, server, tool }: RecordedCall): void {
    const key = callKey(server, tool, given);
    const same = this.#left.get(key);
    if (same !== undefined) {
      this.#left.set(
        key,
        same.filter((call) => call.number !== number),
      );
    }
  }

  /** The answer of the cell, with a notice of what was not made again. */
  withNotice(answer: CellAnswer): CellAnswer {
    const again =
      this.#unusable === 0
        ? ''
        : ` ${counted(this.#unusable, 'call')} had to be made again: what was recorded has masked secrets, or was too long to be recorded.`;
    const steps = this.#takenSteps === 0 ? '' : ` ${counted(this.#takenSteps, 'step')} done before and not done again.`;
    const notices =
      this.#run.calls.length === 0 && steps === ''
        ? []
        : [
            `Resumed: ${counted(this.#reused, 'call')} answered from ${this.#run.path} and not made again.${steps}${again}`,
          ];
    return { ...answer, notices: [...answer.notices, ...notices] };
  }
}
