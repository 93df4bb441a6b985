/**
 * The calls of a run that may change something: noted on disk before they are sent, and compared with the answers that were recorded, so
 * that none is sent twice, and each of which nobody knows whether it was made is named.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { join } from 'node:path';
import { BridgeError, type ErrorCode, messageOf, toBridgeError } from '../../core/base/errors.ts';
import type { ToolCall } from '../../core/calls/contract.ts';
import { oneLine } from '../../core/catalog/visible.ts';
import { canonicalJson } from '../../core/protocol/exact-json.ts';
import { openRegularFile, readBounded } from '../../core/state/state-files.ts';
import type { AnsweredCall, RunParts } from '../../edges/terminal/command.ts';

const SENT_FILE = 'sent.jsonl';
const MAX_SENT_BYTES = 64 * 1024 * 1024;
const MAX_NAME_CHARS = 200;
/** In the data of the error of a call that was sent, or about to be. */
const SENT = 'sent';

/** Errors of calls that did not reach their server: they are made when the run goes on. */
const NOT_SENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'AUDIT_UNAVAILABLE',
  'LOGIN_FAILED',
  'LOGIN_REQUIRED',
  'SECRET_UNAVAILABLE',
  'SERVER_START_FAILED',
]);
/** Errors after which it is not known whether the call was made. */
const UNKNOWN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CALL_CANCELLED',
  'CALL_TIMEOUT',
  'SERVER_EXITED',
  'SERVER_PROTOCOL',
  'SERVER_UNREACHABLE',
]);

/** What is known of calls with the same server, tool and arguments. */
interface Tally {
  name: string;
  /** Noted, and perhaps sent. */
  sent: number;
  /** With an answer that is given again. */
  usable: number;
  /** With an answer that was not kept. */
  made: number;
  readonly failed: BridgeError[];
}

/** The same error, which is recorded as that of a call that was sent. Errors of gates before it are not. */
export function markSent(thrown: unknown): BridgeError {
  const { code, data, hint, message } = toBridgeError(thrown);
  return new BridgeError(code, message, { hint, cause: thrown, data: { ...data, [SENT]: true } });
}

/** The names of calls that a run has sent, and of which it is not known whether they were made. */
export async function unknownCalls(folder: string, calls: readonly AnsweredCall[]): Promise<string[]> {
  const { tallies } = await readTallies(folder, calls);
  return [...tallies.values()].flatMap((tally) => Array.from({ length: unknownOf(tally) }, () => tally.name));
}

export class SentCalls {
  readonly #path: string;
  readonly #mask: RunParts['mask'];
  readonly #tallies: ReadonlyMap<string, Tally>;
  /** Whether the last line was not finished. */
  #isTorn: boolean;

  private constructor(path: string, mask: RunParts['mask'], { isTorn, tallies }: Tallies) {
    this.#path = path;
    this.#mask = mask;
    this.#tallies = tallies;
    this.#isTorn = isTorn;
  }

  static async open(folder: string, calls: readonly AnsweredCall[], mask: RunParts['mask']): Promise<SentCalls> {
    return new SentCalls(join(folder, SENT_FILE), mask, await readTallies(folder, calls));
  }

  /** The error of a call that must not be sent again, because no recorded answer is left for it; undefined if it was not sent. */
  errorBefore({ arguments: given, server, tool }: ToolCall): BridgeError | undefined {
    const masked = this.#mask(given);
    const tally = this.#tallies.get(keyOf(server.name, tool.name, masked));
    if (tally === undefined) {
      return undefined;
    }
    const error = tally.failed.shift();
    if (error !== undefined) {
      tally.sent -= 1;
      return error;
    }
    // Answers to arguments with secrets are not given again.
    const hasSecret = canonicalJson(masked) !== canonicalJson(given);
    if (tally.made > 0 || (hasSecret && tally.usable > 0)) {
      tally.sent -= 1;
      tally[tally.made > 0 ? 'made' : 'usable'] -= 1;
      return notAgain(tally.name, 'was made before this run was interrupted, and its answer was not kept');
    }
    if (unknownOf(tally) > 0) {
      tally.sent -= 1;
      return notAgain(tally.name, 'was sent before this run was interrupted, and whether it was made is not known');
    }
    return undefined;
  }

  /** Its answer, or its error, is not given again. */
  skip({ arguments: given, error, isUsable, server, tool }: AnsweredCall): void {
    const tally = this.#tallies.get(keyOf(server, tool, given));
    if (tally === undefined || tally.sent === 0) {
      return;
    }
    if (error === undefined) {
      tally.sent -= 1;
      tally[isUsable ? 'usable' : 'made'] -= 1;
    } else if (error.data[SENT] === true && !NOT_SENT.has(error.code)) {
      tally.sent -= 1;
      if (!UNKNOWN.has(error.code)) {
        tally.failed.shift();
      }
    }
  }

  /** Resolves when it is on disk. Rejects with `STATE_WRITE_FAILED`. */
  async note({ arguments: given, server, tool }: ToolCall): Promise<void> {
    const key = keyOf(server.name, tool.name, this.#mask(given));
    const name = oneLine(`${server.name}.${tool.name}`, MAX_NAME_CHARS);
    try {
      const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
      const file = await openRegularFile(this.#path, flags);
      try {
        await file.writeFile(`${this.#isTorn ? '\n' : ''}${key} ${name}\n`);
        await file.datasync();
        this.#isTorn = false;
      } finally {
        await file.close();
      }
    } catch (error) {
      this.#isTorn = true;
      throw new BridgeError('STATE_WRITE_FAILED', `${name} was not called: ${messageOf(error)}`, {
        hint: 'A run without a person sends nothing that it cannot note before.',
      });
    }
  }
}

interface Tallies {
  readonly tallies: Map<string, Tally>;
  readonly isTorn: boolean;
}

async function readTallies(folder: string, calls: readonly AnsweredCall[]): Promise<Tallies> {
  const data = await readBounded(join(folder, SENT_FILE), MAX_SENT_BYTES).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return Buffer.alloc(0);
    }
    throw error;
  });
  const tallies = new Map<string, Tally>();
  // A line that was not finished was not sent.
  const lines = data.toString('utf8').split('\n');
  const isTorn = lines.pop() !== '';
  for (const line of lines) {
    const [, key, name] = /^([0-9a-f]{64}) (.*)$/.exec(line) ?? [];
    if (key !== undefined && name !== undefined) {
      tallyOf(tallies, key, name).sent += 1;
    }
  }
  for (const call of calls) {
    const tally = tallies.get(keyOf(call.server, call.tool, call.arguments));
    if (tally !== undefined) {
      addOutcome(tally, call);
    }
  }
  return { tallies, isTorn };
}

function addOutcome(tally: Tally, { error, isUsable }: AnsweredCall): void {
  if (error === undefined) {
    tally[isUsable ? 'usable' : 'made'] += 1;
  } else if (error.data[SENT] === true && NOT_SENT.has(error.code)) {
    tally.sent -= 1;
  } else if (error.data[SENT] === true && !UNKNOWN.has(error.code)) {
    tally.failed.push(error);
  }
}

function tallyOf(tallies: Map<string, Tally>, key: string, name: string): Tally {
  const tally = tallies.get(key) ?? { name, sent: 0, usable: 0, made: 0, failed: [] };
  tallies.set(key, tally);
  return tally;
}

function unknownOf({ failed, made, sent, usable }: Tally): number {
  return Math.max(0, sent - usable - made - failed.length);
}

function notAgain(name: string, what: string): BridgeError {
  return new BridgeError('OUTCOME_UNKNOWN', `${name} ${what}, so it is not sent again`, {
    hint: 'Check at the server what it has done.',
  });
}

function keyOf(server: string, tool: string, given: Readonly<Record<string, unknown>>): string {
  return createHash('sha256')
    .update(canonicalJson([server, tool, given]))
    .digest('hex');
}
