/**
 * Notes for a later bridge which cell of a session runs, and which answers no client has taken, as long as that is so. What earlier
 * bridges have noted is said once.
 */
import { randomUUID } from 'node:crypto';
import type { CheckpointStore } from './checkpoint-store.ts';
import { answerEntry, firstLineOf, type UnsaidEntry } from './unsaid.ts';

/** Cells that end before are not noted. Chosen: most do, and writing takes a millisecond. */
const FIRST_MS = 1_000;
/** How long it takes at most until it is noted that a cell still runs: what is said of its time may be less by as much. Chosen. */
const AGAIN_MS = 20_000;

/** The cell that runs, or is the next to do so. */
export interface OpenCell {
  /** Undefined if it has not begun. */
  readonly cell: number | undefined;
  readonly code: string;
  /** In ms since 1970. */
  readonly beganAt: number;
  /** Cells that wait for it. */
  readonly waiting: number;
}

interface CellWatchOptions {
  readonly session: string;
  readonly openCell: () => OpenCell | undefined;
  /** The last cell that is saved; 0 if none is. */
  readonly saved: () => number;
  readonly mask: ((text: string) => string) | undefined;
  /** Where a later bridge looks; undefined if none does. */
  readonly store: () => Promise<CheckpointStore | undefined>;
}

export class CellWatch {
  readonly #options: CellWatchOptions;
  readonly #by = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #cutOff: readonly UnsaidEntry[] = [];
  #answers: readonly UnsaidEntry[] = [];
  /** Of earlier bridges, with the store that has it. */
  #earlier: { readonly store: CheckpointStore; readonly entries: readonly UnsaidEntry[] } | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: CellWatchOptions) {
    this.#options = options;
  }

  /** A cell is the next to run, or begins. */
  begin(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#note(), FIRST_MS).unref();
  }

  /** More is known of it. */
  refresh(): void {
    if (this.#cutOff.length > 0) {
      this.#note();
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    if (this.#cutOff.length > 0 && !this.#isClosed) {
      this.#cutOff = [];
      void this.#write();
    }
  }

  /** The answers that no client has taken, instead of those before. */
  async keepAnswers(texts: readonly string[]): Promise<void> {
    if (this.#isClosed) {
      return;
    }
    this.#answers = texts.map((text) => answerEntry(this.#by, text));
    await this.#write();
  }

  /** Finds what earlier bridges have noted. */
  async attach(store: CheckpointStore): Promise<void> {
    const entries = (await store.unsaid(this.#options.session)).filter(({ by }) => by !== this.#by);
    this.#earlier = entries.length === 0 ? undefined : { store, entries };
  }

  /** What an answer says now, once. */
  takeEarlier(): readonly UnsaidEntry[] {
    const earlier = this.#earlier;
    if (earlier === undefined) {
      return [];
    }
    this.#earlier = undefined;
    const said = new Set(earlier.entries.map(({ by }) => by));
    void this.#change(earlier.store, (all) => all.filter(({ by }) => !said.has(by)));
    return earlier.entries;
  }

  /** The bridge ends. What is open now is cut off. */
  async close(): Promise<void> {
    this.#note();
    clearTimeout(this.#timer);
    this.#isClosed = true;
    await this.#writing;
  }

  #note(): void {
    clearTimeout(this.#timer);
    const open = this.#options.openCell();
    if (open === undefined || this.#isClosed) {
      return;
    }
    const { mask = (text) => text, saved } = this.#options;
    const { beganAt, cell, code, waiting } = open;
    const [began, seenAt] = [beganAt, Date.now()].map((ms) => new Date(ms).toISOString()) as [string, string];
    const facts = { beganAt: began, seenAt, line: firstLineOf(mask(code)), saved: saved(), waiting };
    this.#cutOff = [{ kind: 'cut_off', by: this.#by, ...(cell !== undefined && { cell }), ...facts }];
    void this.#write();
    const againMs = Math.min(AGAIN_MS, Math.max(FIRST_MS, Date.now() - beganAt));
    this.#timer = setTimeout(() => this.#note(), againMs).unref();
  }

  #write(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      const store = await this.#options.store().catch(() => undefined);
      const own = [...this.#answers, ...this.#cutOff];
      await (store && this.#change(store, (all) => [...all.filter(({ by }) => by !== this.#by), ...own]));
    });
    return this.#writing;
  }

  /** If it cannot be written, no checkpoint can, which an answer says. */
  async #change(store: CheckpointStore, change: Parameters<CheckpointStore['changeUnsaid']>[1]): Promise<void> {
    await store.changeUnsaid(this.#options.session, change).catch(() => undefined);
  }
}
