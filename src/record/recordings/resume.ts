/**
 * Continues an interrupted run: calls that it had answered successfully get the recorded answer again, all others are made. The run
 * goes on in the same file. Each answer is on disk before code gets it, so that whatever the code saw is not done twice.
 */
import { constants } from 'node:fs';
import { type FileHandle, truncate } from 'node:fs/promises';
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
import { openRegularFile, refuseSecondLink } from '../../core/state/state-files.ts';
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
  /** Its steps, in the order in which they ended. */
  readonly steps: readonly KeptStep[];
  readonly stepCalls: StepCalls;
  /** The highest number of a call. */
  readonly lastNumber: number;
  /** Lets another process continue it. */
  release(): Promise<void>;
}

/** A step that was done. */
export interface KeptStep {
  readonly key: string;
  /** Numbers of its calls, those of steps within it included. */
  readonly calls: readonly number[];
  /** Its line in the file, if that has its result. */
  readonly place: { readonly at: number; readonly bytes: number } | undefined;
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
  const file = await openRegularFile(path, constants.O_RDONLY).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw cannotResume(path, messageOf(error));
  });
  const empty = { recorded: [], calls: [], steps: [], stepCalls: new StepCalls(), lastNumber: 0 };
  if (file === undefined) {
    return { path, isNew: true, hasHead: false, ...empty };
  }
  try {
    const stats = await file.stat();
    refuseSecondLink(stats);
    const { size } = stats;
    if (size > MAX_RECORDING_BYTES) {
      throw cannotResume(path, `it has more than ${MAX_RECORDING_BYTES.toLocaleString('en-US')} bytes`);
    }
    return size === 0 ? { path, isNew: false, hasHead: false, ...empty } : await readLines(path, file, size);
  } finally {
    await file.close();
  }
}

async function readLines(path: string, file: FileHandle, size: number): Promise<Omit<ResumableRun, 'release'>> {
  const calls: RecordedCall[] = [];
  const steps: KeptStep[] = [];
  let last: RecordedLine | undefined;
  let [count, bytes] = [0, 0];
  for await (const { at, text } of wholeLines(file)) {
    const line = parse(path, text, count);
    count += 1;
    bytes = at + Buffer.byteLength(text) + 1;
    if (count === 1 && line.type !== 'recording') {
      throw cannotResume(path, 'it is not a recording');
    }
    if (line.type === 'call') {
      calls.push(line);
    } else if (line.type === 'step') {
      // Results stay in the file: a gigabyte of them may be there.
      const { calls: made, data, key } = line;
      steps.push({ key, calls: made, place: data === undefined ? undefined : { at, bytes: bytes - at } });
    } else if (line.type === 'cell' || line.type === 'cell_ended') {
      last = line;
    }
  }
  if (count === 0) {
    throw cannotResume(path, 'it is not a recording');
  }
  if (last?.type === 'cell_ended' && last.status === 'success') {
    throw new BridgeError('USAGE_INVALID', `the run in ${path} has finished, so nothing is left to resume`, {
      hint: 'To run it again, name a new file.',
    });
  }
  if (bytes < size) {
    await truncate(path, bytes);
  }
  return {
    path,
    isNew: false,
    hasHead: true,
    recorded: calls,
    calls: calls.filter(({ error }) => error === undefined),
    steps,
    stepCalls: new StepCalls(),
    lastNumber: calls.reduce((most, { number }) => Math.max(most, number), 0),
  };
}

/** Not the last line if it was not finished. @yields each with its place in bytes. */
async function* wholeLines(file: FileHandle): AsyncGenerator<{ readonly at: number; readonly text: string }> {
  let parts: Buffer[] = [];
  let at = 0;
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false }) as AsyncIterable<Buffer>) {
    let rest = chunk;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]);
      yield { at, text: line.toString('utf8') };
      at += line.length + 1;
      parts = [];
      rest = rest.subarray(end + 1);
    }
    parts.push(rest);
  }
}

function parse(path: string, text: string, index: number): RecordedLine {
  const parsed = parseLine(text);
  if (typeof parsed === 'string') {
    throw cannotResume(path, `line ${index + 1} ${parsed}`);
  }
  return parsed;
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

/** The result in a line of a step, in base64. The file only grows. */
async function readResult(path: string, { at, bytes }: NonNullable<KeptStep['place']>): Promise<string> {
  const file = await openRegularFile(path, constants.O_RDONLY);
  try {
    const buffer = Buffer.alloc(bytes);
    await file.read(buffer, 0, bytes, at);
    const line = parse(path, buffer.toString('utf8'), 0);
    return (line.type === 'step' ? line.data : undefined) ?? '';
  } finally {
    await file.close();
  }
}

/** Answers the calls of a run from what was recorded of it. */
export class RunAnswers {
  readonly #run: ResumableRun;
  readonly #mask: <Value>(value: Value) => Value;
  /** By server, tool and arguments. */
  readonly #left = new Map<string, RecordedCall[]>();
  /** By number, those whose answer was not given again, and which no result of a step stands for. */
  readonly #unused: Map<number, RecordedCall>;
  #reused = 0;
  readonly #kept = { steps: 0, rows: 0 };
  #unusable = 0;

  constructor(run: ResumableRun, mask: <Value>(value: Value) => Value) {
    this.#run = run;
    this.#mask = mask;
    this.#unused = new Map(run.recorded.map((call) => [call.number, call]));
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
    this.#unused.delete(recorded.number);
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
    const left = new Map<string, KeptStep[]>();
    for (const step of this.#run.steps) {
      const same = left.get(step.key) ?? [];
      same.push(step);
      left.set(step.key, same);
    }
    return {
      take: async (key) => {
        // A step within another one, or around it, may have been used with it; and other code may have got its answers.
        const isLeft = (step: KeptStep): boolean => step.calls.every((number) => this.#unused.has(number));
        const step = left.get(key)?.find(isLeft);
        if (step?.place === undefined) {
          return undefined;
        }
        left.set(
          key,
          (left.get(key) ?? []).filter((each) => each !== step),
        );
        const made = step.calls.flatMap((number) => this.#unused.get(number) ?? []);
        step.calls.forEach((number) => this.#unused.delete(number));
        const use = (by: BegunStep): void => {
          made.forEach((call) => this.#forget(call));
          this.#run.stepCalls.note({ ...by, step: by.number }, step.calls);
          this.#kept[by.isRow ? 'rows' : 'steps'] += 1;
          answeredCalls(made).forEach(onSkipped);
        };
        return { data: await readResult(this.#run.path, step.place), use };
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
    const { rows, steps: whole } = this.#kept;
    const kept = [whole > 0 && counted(whole, 'step'), rows > 0 && counted(rows, 'row')].filter(Boolean);
    const steps = kept.length === 0 ? '' : ` ${kept.join(' and ')} done before and not done again.`;
    const notices =
      this.#run.calls.length === 0 && steps === ''
        ? []
        : [
            `Resumed: ${counted(this.#reused, 'call')} answered from ${this.#run.path} and not made again.${steps}${again}`,
          ];
    return { ...answer, notices: [...answer.notices, ...notices] };
  }
}
