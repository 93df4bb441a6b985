/** Reads a recording, and answers calls from it: each with the next recorded outcome of the same call. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { CellAnswer } from '../../core/base/cell.ts';
import { BridgeError, ERROR_CODES, type ErrorCode, messageOf } from '../../core/base/errors.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import { counted } from '../../core/base/units.ts';
import { canonicalJson, parseExact, stringifyExact } from '../../core/protocol/exact-json.ts';
import { summarizeCellError } from '../../core/render/cell-error.ts';
import { type LineOfType, RECORDING_VERSION, type RecordedLine, RecordedLineSchema } from './format.ts';

/** Arguments in a message are cut to this length. */
const MAX_SHOWN_CHARS = 200;
/** Tools that a message names. */
const MAX_NAMED_TOOLS = 10;

/** A recorded cell, its end, and its calls in the order in which they began. */
export interface ReplayedCell {
  readonly cell: LineOfType<'cell'>;
  readonly calls: readonly LineOfType<'call'>[];
  /** Undefined if the bridge ended first. */
  readonly ended: LineOfType<'cell_ended'> | undefined;
}

export interface Replay {
  readonly head: LineOfType<'recording'>;
  readonly servers: readonly LineOfType<'server'>[];
  readonly cells: readonly ReplayedCell[];
  /** Calls of background jobs, which belong to no cell. */
  readonly jobCalls: readonly LineOfType<'call'>[];
  /** Rejects with the recorded error, or with `CALL_NOT_RECORDED`. */
  answer(server: string, tool: string, given: JsonObject): Promise<unknown>;
}

/** Rejects with `USAGE_INVALID` if the file is not a recording. */
export async function readRecording(path: string): Promise<Replay> {
  const lines = await readLines(path);
  const [head] = lines;
  if (head?.type !== 'recording') {
    throw notRecording(path, 'its first line is not that of a recording');
  }
  const servers = new Map<string, LineOfType<'server'>>();
  const cells = new Map<
    string,
    { cell: LineOfType<'cell'>; calls: LineOfType<'call'>[]; ended?: LineOfType<'cell_ended'> }
  >();
  const calls: LineOfType<'call'>[] = [];
  for (const line of lines) {
    switch (line.type) {
      case 'recording':
      case 'step':
        break;
      case 'server':
        servers.set(line.name, line);
        break;
      case 'cell':
        // A run that was resumed has the same cell again.
        cells.set(keyOf(line), { cell: line, calls: cells.get(keyOf(line))?.calls ?? [] });
        break;
      case 'call':
        calls.push(line);
        cells.get(keyOf(line))?.calls.push(line);
        break;
      case 'cell_ended': {
        const cell = cells.get(keyOf(line));
        if (cell !== undefined) {
          cell.ended = line;
        }
      }
    }
  }
  const inOrder = (some: readonly LineOfType<'call'>[]) => some.toSorted((a, b) => a.number - b.number);
  const answers = new RecordedAnswers(inOrder(calls));
  return {
    head,
    servers: [...servers.values()],
    cells: [...cells.values()].map((each) => ({ ended: undefined, ...each, calls: inOrder(each.calls) })),
    jobCalls: inOrder(calls.filter((call) => !cells.has(keyOf(call)))),
    answer: async (server, tool, given) => answers.take(server, tool, given),
  };
}

/** Whether a cell ended as it did when it was recorded. True if its end was not recorded. */
export function endedAsRecorded({ ended }: ReplayedCell, answer: CellAnswer): boolean {
  return (
    ended === undefined ||
    (ended.status === answer.status &&
      ended.stdout === answer.stdout.head + answer.stdout.tail &&
      ended.value === answer.value &&
      ended.error === (answer.error && summarizeCellError(answer.error)))
  );
}

interface Who {
  readonly session: string;
  readonly generation: number;
  readonly cell: number;
}

function keyOf({ session, generation, cell }: Who): string {
  return `${session}\n${generation}\n${cell}`;
}

async function readLines(path: string): Promise<RecordedLine[]> {
  const lines: RecordedLine[] = [];
  const text = createReadStream(path);
  // A bridge that was killed may have left half a line.
  let torn: string | undefined;
  let number = 0;
  try {
    for await (const line of createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (torn !== undefined) {
        throw notRecording(path, torn);
      }
      number += 1;
      const parsed = parseLine(line);
      if (typeof parsed === 'string') {
        torn = `line ${number} ${parsed}`;
      } else {
        lines.push(parsed);
      }
      if (number === 1 && torn !== undefined) {
        throw notRecording(path, torn);
      }
    }
  } catch (error) {
    throw error instanceof BridgeError ? error : notRecording(path, messageOf(error));
  } finally {
    text.destroy();
  }
  return lines;
}

/** A line, or what is wrong with it. */
export function parseLine(line: string): RecordedLine | string {
  let value: unknown;
  try {
    value = parseExact(line);
  } catch {
    return 'is not JSON';
  }
  const parsed = RecordedLineSchema.safeParse(value);
  if (!parsed.success) {
    return 'is not one of a recording';
  }
  const { data } = parsed;
  return data.type === 'recording' && data.version > RECORDING_VERSION
    ? `has version ${data.version}, which a later version of the bridge wrote`
    : data;
}

function notRecording(path: string, reason: string): BridgeError {
  return new BridgeError('USAGE_INVALID', `cannot replay '${path}': ${reason}`, {
    hint: 'Name a file that the bridge wrote with MCP_BRIDGE_RECORD=FOLDER.',
  });
}

type RecordedCall = LineOfType<'call'>;

class RecordedAnswers {
  readonly #calls: readonly RecordedCall[];
  /** By server, tool and arguments: the calls that are left, and how many there were. */
  readonly #same = new Map<string, { left: RecordedCall[]; count: number }>();

  constructor(calls: readonly RecordedCall[]) {
    this.#calls = calls;
    for (const call of calls) {
      const key = callKey(call.server, call.tool, call.arguments);
      const same = this.#same.get(key) ?? { left: [], count: 0 };
      same.left.push(call);
      same.count += 1;
      this.#same.set(key, same);
    }
  }

  take(server: string, tool: string, given: JsonObject): unknown {
    const same = this.#same.get(callKey(server, tool, given));
    const call = same?.left.shift();
    if (call === undefined) {
      throw same === undefined ? this.#unknown(server, tool, given) : tooOften(server, tool, same.count);
    }
    if (call.left_out_bytes !== undefined) {
      throw notRecorded(
        `the result of ${server}.${tool} is not in the recording: it had ${counted(call.left_out_bytes, 'byte')}`,
        'Change the code so that this call returns less, and record it again.',
      );
    }
    if (call.error !== undefined) {
      throw errorOf(call.error);
    }
    return call.result;
  }

  #unknown(server: string, tool: string, given: JsonObject): BridgeError {
    const ofTool = this.#calls.filter((call) => call.server === server && call.tool === tool);
    const [nearest] = ofTool.toSorted(
      (a, b) => differences(a.arguments, given).length - differences(b.arguments, given).length,
    );
    if (nearest !== undefined) {
      const which = differences(nearest.arguments, given).join(', ');
      return notRecorded(
        `the recording has no call ${describeCall(server, tool, given)}`,
        `The nearest is call ${nearest.number}: ${describeCall(server, tool, nearest.arguments)}. It differs in: ${which}.`,
      );
    }
    const tools = [...new Set(this.#calls.map((call) => `${call.server}.${call.tool}`))];
    const more = tools.length > MAX_NAMED_TOOLS ? ' and others' : '';
    return notRecorded(
      `the recording has no call of ${server}.${tool}`,
      tools.length === 0
        ? 'It has no calls at all.'
        : `It has calls of ${tools.slice(0, MAX_NAMED_TOOLS).join(', ')}${more}.`,
    );
  }
}

function tooOften(server: string, tool: string, count: number): BridgeError {
  const times = count === 1 ? 'once' : `${count} times`;
  return notRecorded(
    `the recording has this call of ${server}.${tool} only ${times}`,
    'Every recorded answer is given once, in order. Make the call as often as when it was recorded.',
  );
}

function notRecorded(message: string, hint: string): BridgeError {
  return new BridgeError('CALL_NOT_RECORDED', message, { hint });
}

/** Names of the arguments that are not the same. */
function differences(one: JsonObject, other: JsonObject): string[] {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return names.filter((name) => canonicalJson(one[name]) !== canonicalJson(other[name]));
}

function describeCall(server: string, tool: string, given: JsonObject): string {
  const list = Object.entries(given).map(([name, value]) => `${name}=${stringifyExact(value)}`);
  const text = list.join(', ');
  return `${server}.${tool}(${text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text})`;
}

/** The same for the same call; the order of arguments does not matter. */
export function callKey(server: string, tool: string, given: JsonObject): string {
  return `${server}\n${tool}\n${canonicalJson(given)}`;
}

/** The error of a recorded call. A later version may have recorded a code that this one does not know. */
export function errorOf({ code, data, hint, message }: NonNullable<LineOfType<'call'>['error']>): BridgeError {
  return new BridgeError(isErrorCode(code) ? code : 'TOOL_FAILED', message, { hint, data });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
