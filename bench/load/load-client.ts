/**
 * A client with its own token and session, which sends cells at random times whether or not the last one was answered. A cell is
 * timed from when it was due, not from when it was sent: a slow answer, or a generator that is late, cannot hide the wait of the
 * next one.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/core/base/errors.ts';
import type { Random } from '../../test/soak/random.ts';
import type { HttpBridge, HttpClient } from '../../test/support/http-bridge.ts';
import { cellOf, firstCell, isRefused, isRestored, KIND_NAMES, type KindName, kindAt, SERVER } from './cells.ts';
import { Ledger } from './ledger.ts';
import { exponential } from './sampling.ts';

export interface CellTime {
  readonly kind: KindName;
  readonly ms: number;
  /** Its session had to be restored first. */
  readonly isRestored: boolean;
}

/** What happened in one step. */
export interface Tally {
  readonly times: CellTime[];
  /** Cells that were refused because every sandbox was busy. */
  refused: number;
  /** What was lost or mixed up. */
  readonly faults: string[];
  /** By how much the generator itself was late. */
  readonly latenessMs: number[];
}

export function emptyTally(): Tally {
  return { times: [], refused: 0, faults: [], latenessMs: [] };
}

const WORK = { session: 'work', servers: [SERVER], timeout: 60 };
const ANSWER_LIMIT_MS = 120_000;

export class LoadClient {
  readonly #name: string;
  readonly #ledger = new Ledger(randomUUID());
  readonly #random: Random;
  #client: HttpClient | undefined;

  constructor(name: string, random: Random) {
    this.#name = name;
    this.#random = random;
  }

  async connect(bridge: HttpBridge, token: string): Promise<void> {
    this.#client = await bridge.connect({ era: '2026-07-28', token });
  }

  /** Starts the session, and runs each kind once, so that what follows is warm. */
  async begin(): Promise<void> {
    const text = await this.#client?.run(firstCell(this.#ledger.secret), WORK);
    if (text?.includes('ready') !== true) {
      throw new Error(`${this.#name}: ${text}`);
    }
    const tally = emptyTally();
    for (const kind of KIND_NAMES) {
      await this.send(kind, tally);
    }
    if (tally.faults[0] !== undefined) {
      throw new Error(tally.faults[0]);
    }
  }

  async close(): Promise<void> {
    await this.#client?.close();
  }

  /** Sends `perSecond` cells on average until `endMs` (of `performance.now()`); resolves when all are answered. */
  async sendUntil(endMs: number, perSecond: number, tally: Tally): Promise<void> {
    const sent: Promise<void>[] = [];
    let dueMs = performance.now();
    for (;;) {
      dueMs += exponential(this.#random, 1_000 / perSecond);
      if (dueMs >= endMs) {
        break;
      }
      await sleep(Math.max(0, dueMs - performance.now()));
      tally.latenessMs.push(Math.max(0, performance.now() - dueMs));
      sent.push(this.send(kindAt(this.#random.next()), tally, dueMs));
    }
    await Promise.all(sent);
  }

  /** Sends one cell and checks its answer. Never rejects. */
  async send(kind: KindName, tally: Tally, dueMs = performance.now()): Promise<void> {
    this.#ledger.sent();
    try {
      const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
      const text = (await this.#client?.run(cellOf(kind), WORK, { signal })) ?? '';
      if (isRefused(text)) {
        this.#ledger.unanswered();
        tally.refused += 1;
        return;
      }
      tally.times.push({ kind, ms: performance.now() - dueMs, isRestored: isRestored(text) });
      const fault = this.#ledger.answered(text);
      if (fault !== undefined) {
        tally.faults.push(`${this.#name}, ${kind}: ${fault}`);
      }
    } catch (error) {
      this.#ledger.unanswered();
      tally.faults.push(`${this.#name}, ${kind}: ${messageOf(error).slice(0, 300)}`);
    }
  }

  /** Runs a last cell, so that a session that has lost its end is found; returns what is missing. */
  async finish(): Promise<string[]> {
    const tally = emptyTally();
    await this.send('small', tally);
    const missing = this.#ledger.missing();
    return missing === undefined ? tally.faults : [...tally.faults, `${this.#name}: ${missing}`];
  }
}
