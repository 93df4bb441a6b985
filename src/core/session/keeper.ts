/**
 * Keeps the state of one session beyond its sandbox: decides when a checkpoint is taken, and gives it to the next sandbox.
 */

import { DEFAULT_SESSION } from '../base/cell.ts';
import { BridgeError, messageOf } from '../base/errors.ts';
import {
  LAST_CHECKPOINT_MS,
  MAX_CHECKPOINT_AGE_MS,
  MAX_NAMED_CHECKPOINTS,
  QUIET_BEFORE_CHECKPOINT_MS,
  UNSAVED_MS,
} from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { CellWatch, type OpenCell } from './cell-watch.ts';
import type { RemovedState } from './checkpoint-room.ts';
import type { CheckpointFacts, CheckpointStore, CheckpointWriter, StoredCheckpoint } from './checkpoint-store.ts';
import {
  type CheckpointSink,
  GAVE_WAY,
  omittedOf,
  type RestoreReport,
  SANDBOX_ENDED,
  type SaveReport,
} from './checkpoint-traffic.ts';
import type { Kernel } from './kernel.ts';
import type { SavePace } from './save-pace.ts';
import type { Claim } from './session-claim.ts';
import type { UnsaidEntry } from './unsaid.ts';

/** After a checkpoint that took long, the next one waits for this many times as long. Chosen: at most a tenth of a core. */
const REST_FACTOR = 10;
/** How often it is noted which cell runs: the first one at once. Chosen: an agent runs few cells in that time. */
const NOTE_EVERY_MS = 100;

const RESET = 'the session was reset';
const TAKEN = 'another bridge has taken the session';
/** Why a checkpoint was not taken, if that is no loss or another sentence says so. */
const EXPECTED_FAILURES: ReadonlySet<string> = new Set([GAVE_WAY, RESET, SANDBOX_ENDED, TAKEN]);

export interface KeeperOptions {
  /** For sessions that end with the bridge. */
  readonly store: CheckpointStore;
  /** For sessions that the agent has named: a later bridge in the same project continues them. */
  readonly lasting: CheckpointStore;
  /** When checkpoints are taken: also after cells, or only when the sandbox is about to be ended. */
  readonly mode: 'auto' | 'idle';
  readonly memoryBytes: number;
  /** Whether sessions that last are only copied: nothing that happens to them is kept. */
  readonly isTrial: boolean;
  /** Whether the last state of the session `default` is left to the next bridge. */
  readonly leavesDefault: boolean;
  /** Whether the session `default` lasts as one with a name does. Then nothing of it is left. */
  readonly defaultLasts?: boolean | undefined;
  /** How long the end of the bridge waits for the last checkpoint. */
  readonly lastMs?: number | undefined;
  readonly logger: Logger;
  /** Of all sessions of the process. Without it, only the session itself is considered. */
  readonly pace?: SavePace | undefined;
  /** Whether a cell of the session runs or waits. */
  readonly isBusy: () => boolean;
  /** Of its variables and functions after the last cell. */
  readonly names: () => readonly string[];
  /** By default none is ever open. */
  readonly openCell?: (() => OpenCell | undefined) | undefined;
  /** Masks secrets in code that is noted. */
  readonly mask?: ((text: string) => string) | undefined;
}

interface SaveOptions {
  /** Whether the session may stand still, if its process cannot be copied. */
  readonly mayBlock: boolean;
}

/** Reasons of the kernel why it has not kept something: it was running. */
const RUNNING: ReadonlySet<string> = new Set([
  'a background job',
  'a running process',
  'a running task',
  'a running thread',
]);

/** The name under which a checkpoint is kept that could not be restored. */
export const NOT_RESTORED = 'not-restored';

type NamedFacts = CheckpointFacts & { readonly name: string };

/** The name of what an earlier bridge has left of the session `default`. */
export const PREVIOUS = 'previous';

/** What a sandbox got from the checkpoint of an earlier one. */
export interface Restored {
  readonly facts: CheckpointFacts;
  readonly report: RestoreReport;
  /** The last cell of an earlier bridge in the session, if it is known. */
  readonly reached?: number | undefined;
}

/** What a person who relies on the state must know, until an answer has said it. */
export interface StateTroubles {
  /** Why the session is not saved. */
  readonly unsaved: string | undefined;
  /** Checkpoints of it that were removed. */
  readonly removed: readonly RemovedState[];
}

export class Keeper {
  readonly #session: string;
  readonly #options: KeeperOptions;
  #store: CheckpointStore;
  #claim: Claim | undefined;
  /** The process of another bridge that has this session; what is here is a copy. */
  #heldBy: number | undefined;
  #isAttached = false;
  #releasing: Promise<void> | undefined;
  /** What an earlier bridge has left of the session `default`. */
  #previous: CheckpointFacts | undefined;
  #previousReached = 0;
  /** What bridges before that have left, or those that ran at the same time. The newest first. */
  #older: readonly NamedFacts[] = [];
  /** Of named checkpoints of its own, as they were listed last. */
  #ownNames: readonly string[] = [];
  #forgetting: Promise<void> | undefined;
  #saved: CheckpointFacts | undefined;
  /** Whether something ran beside the cells when the newest checkpoint was taken: it may have changed the session since. */
  #goesOn = false;
  /** Since when a cell has run that no checkpoint holds, in ms of `performance.now()`. */
  #unsavedSince: number | undefined;
  #hasHeir = false;
  #cell = 0;
  /** The last cell that has begun, and the one that an earlier bridge has noted. */
  #begun = 0;
  #reached = 0;
  #noting: Promise<void> | undefined;
  #noteTimer: NodeJS.Timeout | undefined;
  #notedAt = Number.NEGATIVE_INFINITY;
  #servers: readonly string[] = [];
  #saving: Promise<unknown> | undefined;
  #nextAt = 0;
  /** Why the last checkpoint was not taken. */
  #failure = '';
  /** The reason that an answer has given, and the one that none has. */
  #said: string | undefined;
  #unsaid: string | undefined;
  #removed: readonly RemovedState[] = [];
  /** Set if the session could not be claimed: when the checkpoint from which it goes on was saved, if there was one. */
  #unclaimed: { readonly savedAt: string | undefined } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Checkpoints taken before are not committed afterwards. */
  #epoch = 0;
  readonly #watch: CellWatch;

  constructor(session: string, options: KeeperOptions) {
    this.#session = session;
    this.#options = options;
    this.#store = options.store;
    this.#watch = new CellWatch({
      session,
      openCell: options.openCell ?? (() => undefined),
      saved: () => this.#saved?.cell ?? 0,
      mask: options.mask,
      store: () => this.#storeOfWords(),
    });
  }

  /** The process of another bridge that has this session. */
  get heldBy(): number | undefined {
    return this.#heldBy;
  }

  /** Whether the session would last, but what is saved of it here does not: it is a copy or a trial, or cannot be claimed. */
  get isTemporary(): boolean {
    const lasts = this.#session !== DEFAULT_SESSION || this.#options.defaultLasts === true;
    return lasts && this.#claim === undefined;
  }

  /** What an earlier bridge has left of the session `default`: to be restored under the name `PREVIOUS`. */
  get previous(): CheckpointFacts | undefined {
    return this.#previous;
  }

  /** What others have left, to be restored under these names. */
  get older(): readonly NamedFacts[] {
    return this.#older;
  }

  /** The last cell of the bridge that has left `previous`; 0 if it is not known. */
  get previousReached(): number {
    return this.#previousReached;
  }

  /** Whether the newest checkpoint holds all that cells have done. */
  get isSaved(): boolean {
    return this.#unsavedSince === undefined;
  }

  /** The newest checkpoint; undefined if there is none. */
  get saved(): CheckpointFacts | undefined {
    return this.#saved;
  }

  /** The last cell that an earlier bridge has noted of the session; 0 if there is none. */
  get reached(): number {
    return this.#reached;
  }

  /** Returns what no answer has said yet, once. */
  takeTroubles(): StateTroubles {
    const [unsaved, removed] = [this.#unsaid, this.#removed];
    this.#said = unsaved ?? this.#said;
    this.#unsaid = undefined;
    this.#removed = [];
    return { unsaved, removed };
  }

  /** A cell has come. */
  cellComes(): void {
    clearTimeout(this.#timer);
    this.#watch.refresh();
  }

  /** A cell is the next to run, or begins. */
  cellIsNext(): void {
    this.#watch.begin();
  }

  /** However it ended. */
  cellIsOver(): void {
    this.#watch.end();
  }

  /** The answers of the session that no client has taken, instead of those before. */
  keepAnswers(texts: readonly string[]): Promise<void> {
    return this.#watch.keepAnswers(texts);
  }

  /** What no answer of earlier bridges has said. Returns it once. */
  takeUnsaid(): readonly UnsaidEntry[] {
    return this.#watch.takeEarlier();
  }

  /** Where a later bridge looks for what no answer has said; undefined if none does. */
  async #storeOfWords(): Promise<CheckpointStore | undefined> {
    const { defaultLasts, isTrial, lasting, leavesDefault, store } = this.#options;
    if (isTrial || this.#heldBy !== undefined) {
      return undefined;
    }
    if (this.#session !== DEFAULT_SESSION || defaultLasts === true) {
      return lasting;
    }
    await this.#nameHeir();
    return leavesDefault ? store : undefined;
  }

  /** A cell runs: if all of this ends before it is saved, a later bridge knows. */
  cellRuns(cell: number): void {
    this.#begun = cell;
    this.#note();
  }

  #note(): void {
    const store = this.#storeOfNotes();
    if (store === undefined || this.#noting !== undefined || this.#noteTimer !== undefined) {
      return;
    }
    const waitMs = this.#notedAt + NOTE_EVERY_MS - performance.now();
    if (waitMs > 0) {
      this.#noteTimer = setTimeout(() => {
        this.#noteTimer = undefined;
        this.#note();
      }, waitMs).unref();
      return;
    }
    this.#notedAt = performance.now();
    const cell = this.#begun;
    // If it fails, the checkpoint that follows fails, too, and an answer says so.
    this.#noting = store
      .noteCell(this.#session, cell)
      .catch(() => undefined)
      .finally(() => {
        this.#noting = undefined;
        if (this.#begun !== cell) {
          this.#note();
        }
      });
  }

  /** Where a later bridge looks; undefined if none does. */
  #storeOfNotes(): CheckpointStore | undefined {
    return this.#claim === undefined ? (this.#hasHeir ? this.#options.store : undefined) : this.#options.lasting;
  }

  /** Nothing more is noted: the note says how far the session had got, or is removed if everything is saved. */
  async #endNotes(): Promise<void> {
    await this.#pauseNotes();
    const store = this.#storeOfNotes();
    if (store === undefined || this.#begun === 0) {
      return;
    }
    if ((this.#saved?.cell ?? 0) >= this.#begun) {
      await store.forgetCell(this.#session);
    } else {
      await store.noteCell(this.#session, this.#begun).catch(() => undefined);
    }
  }

  async #pauseNotes(): Promise<void> {
    clearTimeout(this.#noteTimer);
    this.#noteTimer = undefined;
    await this.#noting;
    clearTimeout(this.#noteTimer);
    this.#noteTimer = undefined;
  }

  /** A cell has ended, and its sandbox lives. */
  cellEnded(kernel: Kernel, cell: number, servers: readonly string[]): void {
    const now = performance.now();
    this.#unsavedSince ??= now;
    this.#cell = cell;
    this.#servers = servers;
    if (this.#options.mode !== 'auto') {
      return;
    }
    const restMs = this.#nextAt - now;
    // While cells follow each other, at once or after a moment, copying the process would slow them down.
    const isDue = now - this.#unsavedSince >= UNSAVED_MS && restMs <= 0 && this.#saving === undefined;
    if (isDue && (this.#options.pace?.begin() ?? 0) === 0) {
      // One that has given way to a cell would do so each time.
      void this.#save(kernel, { mayBlock: this.#failure === GAVE_WAY });
    } else if (!this.#options.isBusy()) {
      this.#saveIn(Math.max(QUIET_BEFORE_CHECKPOINT_MS, restMs), kernel);
    }
  }

  /** Before a cell that may run for long, at whose end only the next checkpoint would come. */
  saveBefore(kernel: Kernel): void {
    if (this.#options.mode === 'auto' && !this.isSaved && this.#saving === undefined) {
      void this.#save(kernel, { mayBlock: true });
    }
  }

  #saveIn(waitMs: number, kernel: Kernel): void {
    this.#timer = setTimeout(() => {
      const moreMs = this.isSaved ? 0 : (this.#options.pace?.begin() ?? 0);
      if (moreMs > 0) {
        this.#saveIn(moreMs, kernel);
      } else {
        void this.#saveIfNeeded(kernel, { mayBlock: false });
      }
    }, waitMs).unref();
  }

  /** Takes a checkpoint of a session whose sandbox is about to end. Does nothing while a cell runs. Never rejects. */
  async saveLast(kernel: Kernel): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#goesOn) {
      this.#unsavedSince ??= performance.now();
    }
    await this.#saveIfNeeded(kernel, { mayBlock: true });
  }

  async #saveIfNeeded(kernel: Kernel, options: SaveOptions): Promise<void> {
    await this.#afterSaves(() => {
      const isNeeded = this.#unsavedSince !== undefined && !this.#options.isBusy();
      return isNeeded ? this.#save(kernel, options) : undefined;
    });
  }

  /**
   * Calls `next` while no checkpoint is being written. Several may wait for the same one, and the first of them may begin another, so
   * nothing may be awaited between the look and the call.
   */
  async #afterSaves<Result>(next: () => Result): Promise<Awaited<Result>> {
    while (this.#saving !== undefined) {
      await this.#saving;
    }
    return await next();
  }

  /** Saves the session as it is now, also under a name. Returns what is saved, or the reason why it is not. */
  async saveAs(
    kernel: Kernel,
    cell: number,
    servers: readonly string[],
    name: string | undefined,
  ): Promise<CheckpointFacts | string> {
    const saved = await this.#afterSaves(() => {
      this.#cell = cell;
      this.#servers = servers;
      this.#unsavedSince ??= performance.now();
      return this.#save(kernel, { mayBlock: true });
    });
    if (typeof saved === 'string') {
      // Whoever asked says so.
      [this.#said, this.#unsaid] = [saved, undefined];
      return saved;
    }
    try {
      await (name === undefined ? undefined : this.#store.copy(this.#session, this.#named(name)));
    } catch (error) {
      return whyNotWritten(error);
    }
    return saved;
  }

  /** Keeps a checkpoint that could not be restored, because the next one takes its place. */
  async setAside(): Promise<void> {
    await this.#store.copy(this.#session, this.#named(NOT_RESTORED)).catch(() => undefined);
    this.#saved = undefined;
  }

  /** Rejects if there is no checkpoint to restore, or no room for another one. */
  async check(method: 'checkpoint' | 'restore', name: string | undefined): Promise<void> {
    if (name === undefined) {
      return;
    }
    const names = (await this.list()).map((each) => each.name);
    if (method === 'restore') {
      await this.#checkRestorable(name, names);
    } else if (!this.#ownNames.includes(name) && this.#ownNames.length >= MAX_NAMED_CHECKPOINTS) {
      const { length } = this.#ownNames;
      throw new BridgeError('CALL_REFUSED', `the session has ${length} named checkpoints, which is the limit`, {
        hint: `Use one of their names again: ${this.#ownNames.join(', ')}.`,
      });
    }
  }

  /** Before the session ends for it. */
  async #checkRestorable(name: string, names: readonly string[]): Promise<void> {
    const { store, key } = this.#placeOf(name);
    const stored = await store.open(key).catch(() => {
      const others = names.filter((other) => other !== name);
      throw new BridgeError('CALL_REFUSED', `the checkpoint '${name}' is damaged, so the session goes on as it is`, {
        hint:
          others.length === 0 ? 'Save another one with runtime.checkpoint(NAME).' : `There are: ${others.join(', ')}.`,
      });
    });
    if (stored === undefined) {
      throw new BridgeError('CALL_REFUSED', `there is no checkpoint '${name}'`, {
        hint: names.length === 0 ? 'Save one with runtime.checkpoint(NAME).' : `There are: ${names.join(', ')}.`,
      });
    }
    await stored.close();
  }

  /** Where a named checkpoint is. Names of its own win over those that earlier bridges have left. */
  #placeOf(name: string): { readonly store: CheckpointStore; readonly key: string } {
    const { lasting } = this.#options;
    if (this.#ownNames.includes(name)) {
      return { store: this.#store, key: this.#named(name) };
    }
    if (name === PREVIOUS && this.#previous !== undefined) {
      return { store: lasting, key: this.#session };
    }
    const isOlder = this.#older.some((older) => older.name === name);
    return { store: isOlder ? lasting : this.#store, key: this.#named(name) };
  }

  /** Makes a named checkpoint the one that the next sandbox gets. */
  async restoreFrom(name: string): Promise<void> {
    await this.#afterSaves(() => {
      this.#epoch += 1;
    });
    await this.#pauseNotes();
    this.#begun = 0;
    this.#reached = 0;
    const { store, key } = this.#placeOf(name);
    await this.#store.copyFrom(store, key, this.#session);
    this.#saved = await this.#store.facts(this.#session);
    this.#unsavedSince = undefined;
  }

  /** The named checkpoints of the session, the oldest first. */
  async list(): Promise<readonly NamedFacts[]> {
    const named = (await this.#listIn(this.#store)).toReversed();
    this.#ownNames = named.map(({ name }) => name);
    const left = [
      ...this.#older.toReversed(),
      ...(this.#previous === undefined ? [] : [{ name: PREVIOUS, ...this.#previous }]),
    ];
    return [...left.filter(({ name }) => !this.#ownNames.includes(name)), ...named];
  }

  /** The newest first. */
  async #listIn(store: CheckpointStore): Promise<readonly NamedFacts[]> {
    const found = await store.list(this.#named(''));
    return found.map(({ key, facts }) => ({ name: key.slice(this.#named('').length), ...facts })).toReversed();
  }

  #named(name: string): string {
    return `${this.#session}\n${name}`;
  }

  /** The session starts over: no checkpoint of it remains, except those that it has named. */
  forget(): Promise<void> {
    // A bridge that ends meanwhile waits for it.
    this.#forgetting = Promise.all([this.#forgetSaved(), this.#forgetPrevious()]).then(() => undefined);
    return this.#forgetting;
  }

  /** Otherwise the next bridge would offer what this one has loaded and given up. */
  async #forgetPrevious(): Promise<void> {
    const { lasting, leavesDefault } = this.#options;
    if (this.#session === DEFAULT_SESSION && leavesDefault) {
      this.#previous = undefined;
      this.#older = [];
      await lasting.removeAll(DEFAULT_SESSION);
    }
  }

  async #forgetSaved(): Promise<void> {
    clearTimeout(this.#timer);
    this.#epoch += 1;
    this.#saved = undefined;
    this.#unsavedSince = undefined;
    this.#reached = 0;
    this.#begun = 0;
    await this.#pauseNotes();
    await this.#store.remove(this.#session);
  }

  /** The newest checkpoint, for a new sandbox. Undefined if there is none; rejects if it is damaged. */
  async open(): Promise<StoredCheckpoint | undefined> {
    await this.#afterSaves(() => this.#releasing);
    if (!this.#isAttached) {
      this.#isAttached = true;
      return this.#attach();
    }
    return this.#saved === undefined ? undefined : this.#store.open(this.#session);
  }

  /** Looks for what an earlier bridge has left of this session. */
  async #attach(): Promise<StoredCheckpoint | undefined> {
    const { defaultLasts = false, isTrial, lasting, leavesDefault, logger, store } = this.#options;
    if (this.#session === DEFAULT_SESSION && !defaultLasts) {
      if (leavesDefault) {
        await lasting.inherit(DEFAULT_SESSION);
        this.#previous = await lasting.facts(DEFAULT_SESSION);
        this.#previousReached = await lasting.noted(DEFAULT_SESSION);
        this.#older = await this.#listIn(lasting);
        this.#removed = await lasting.takeRemoved(DEFAULT_SESSION);
        await this.#watch.attach(lasting);
      }
      return undefined;
    }
    let claim: Claim | { readonly pid: number } | undefined;
    try {
      claim = isTrial ? undefined : await lasting.claim(this.#session);
    } catch (error) {
      // What is there can be read; what follows can be written later, if at all.
      logger.warning(`session ${this.#session} cannot last: ${messageOf(error)}`);
      this.#unclaimed = { savedAt: undefined };
      this.#unsaid = whyNotWritten(error);
    }
    if (claim !== undefined && 'pid' in claim) {
      this.#heldBy = claim.pid;
    } else {
      this.#claim = claim;
    }
    this.#store = this.#claim === undefined ? store : lasting;
    const stored = await lasting.open(this.#session);
    if (this.#claim !== undefined) {
      this.#reached = await lasting.noted(this.#session);
      this.#begun = this.#reached;
      this.#removed = await lasting.takeRemoved(this.#session);
      await this.#watch.attach(lasting);
    }
    this.#unclaimed &&= { savedAt: stored?.facts.savedAt };
    // A copy has no checkpoint of its own yet.
    this.#saved = this.#claim === undefined ? undefined : stored?.facts;
    return stored;
  }

  /** The bridge ends. A session that lasts is saved if that does not take long; any other is forgotten. */
  async close(kernel: Kernel | undefined): Promise<void> {
    clearTimeout(this.#timer);
    await this.#forgetting;
    await this.#watch.close();
    if (this.#claim === undefined) {
      const { lasting, leavesDefault, store } = this.#options;
      if (this.#session === DEFAULT_SESSION && leavesDefault) {
        await this.#saveInTime(kernel);
        await this.#endNotes();
        await lasting.takeUnsaid(store, DEFAULT_SESSION).catch(() => undefined);
        if (!(await this.#leaveBehind())) {
          // The next bridge finds it where it is, as if this one had been killed.
          store.keepAll();
          return;
        }
      }
      await this.#forgetSaved();
      return;
    }
    await this.#saveInTime(kernel);
    await this.#endNotes();
    await this.release();
  }

  /** False if that fails. What is there must not be replaced by nothing: a bridge may have run only a cell or two. */
  async #leaveBehind(): Promise<boolean> {
    const { lasting, logger } = this.#options;
    if (this.#saved === undefined || this.#saved.variables + this.#saved.files === 0) {
      return true;
    }
    try {
      const claim = await lasting.claim(this.#session);
      if ('pid' in claim) {
        return false;
      }
      try {
        await lasting.replaceLeft(this.#store, this.#session);
      } finally {
        await claim.release();
      }
      return true;
    } catch (error) {
      logger.warning(`the state of session ${this.#session} stays where it is: ${messageOf(error)}`);
      return false;
    }
  }

  async #saveInTime(kernel: Kernel | undefined): Promise<void> {
    if (kernel !== undefined) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, this.#options.lastMs ?? LAST_CHECKPOINT_MS);
      });
      await Promise.race([this.saveLast(kernel), late]);
      clearTimeout(timer);
    }
  }

  /** False if this bridge was stopped for so long that another one has taken the session: it keeps a copy. */
  async #isStillHeld(): Promise<boolean> {
    const claim = this.#claim;
    if (claim === undefined || (await claim.isHeld())) {
      return true;
    }
    const { lasting, logger, store } = this.#options;
    await this.release();
    if (await this.#claimAgain()) {
      return true;
    }
    this.#store = store;
    this.#saved = undefined;
    this.#heldBy = (await lasting.holder(this.#session))?.pid ?? 0;
    logger.warning(`session ${this.#session}: another bridge has taken it, because this one was stopped for too long`);
    return false;
  }

  /** If only the file is gone, as when someone has emptied the folder. */
  async #claimAgain(): Promise<boolean> {
    const { lasting } = this.#options;
    const found = await lasting.facts(this.#session);
    if (found !== undefined && found.savedAt !== this.#saved?.savedAt) {
      return false;
    }
    const claim = await lasting.claim(this.#session, { isNew: false }).catch(() => undefined);
    if (claim === undefined || 'pid' in claim) {
      return false;
    }
    this.#claim = claim;
    return true;
  }

  /** Lets other bridges have the session. */
  async release(): Promise<void> {
    await this.#claim?.release();
    this.#claim = undefined;
  }

  /** The session was saved, and its sandbox ends: any bridge may continue it, and this one asks again before it does. */
  letGo(): Promise<void> {
    this.#isAttached &&= this.#claim === undefined;
    this.#releasing = this.#endNotes().then(() => this.release());
    return this.#releasing;
  }

  /** The sandbox has ended, so there is nothing to save. */
  sandboxEnded(): void {
    clearTimeout(this.#timer);
    this.#unsavedSince = undefined;
    this.#goesOn = false;
  }

  /** A bridge that is killed cannot leave `default` to the next one itself. */
  async #nameHeir(): Promise<void> {
    const { lasting, leavesDefault, store } = this.#options;
    if (this.#session === DEFAULT_SESSION && leavesDefault && !this.#hasHeir) {
      this.#hasHeir = true;
      await store.leaveTo(lasting);
    }
  }

  /** Resolves with what is saved, or the reason why it is not. */
  #save(kernel: Kernel, options: SaveOptions): Promise<CheckpointFacts | string> {
    // The request goes out before anything is awaited: the next cell must not run before it.
    const saving = this.#saveNow(kernel, options).finally(() => {
      if (this.#saving === saving) {
        this.#saving = undefined;
      }
    });
    this.#saving = saving;
    return saving;
  }

  async #saveNow({ connection, engine, ready }: Kernel, { mayBlock }: SaveOptions): Promise<CheckpointFacts | string> {
    const { logger, memoryBytes } = this.#options;
    const began = performance.now();
    const since = this.#unsavedSince;
    const epoch = this.#epoch;
    this.#unsavedSince = undefined;
    const cell = this.#cell;
    const servers = this.#servers;
    const names = this.#options.names();
    const savedAt = new Date().toISOString();
    const opened = this.#openStore();
    const writer = opened.then((store) => store.begin(this.#session));
    // Whoever writes gets the error.
    writer.catch(() => undefined);
    const report = await connection.checkpoints.save({ memoryBytes, mayBlock }, sinkOf(writer));
    const tookMs = performance.now() - began;
    this.#nextAt = performance.now() + REST_FACTOR * tookMs;
    this.#options.pace?.end(tookMs);
    try {
      if (!report.ok || epoch !== this.#epoch) {
        await (await writer).discard();
        throw new Error(report.ok ? RESET : report.reason);
      }
      if (!(await this.#isStillHeld())) {
        await (await writer).discard();
        throw new Error(TAKEN);
      }
      const facts = { session: this.#session, cell, savedAt, ...contentOf(report, names), servers: [...servers] };
      const saved = { ...facts, python: ready.python_version, engine: engine.name };
      const store = await opened;
      await (await writer).commit(saved);
      if (epoch !== this.#epoch) {
        await store.remove(this.#session);
        return RESET;
      }
      await this.#noteSaved(saved, store);
      logger.debug(`session ${this.#session}: checkpoint after cell ${cell}`);
      return saved;
    } catch (error) {
      this.#unsavedSince ??= epoch === this.#epoch ? since : undefined;
      this.#noteFailure(whyNotWritten(error));
      logger.debug(`session ${this.#session}: no checkpoint after cell ${cell}: ${messageOf(error)}`);
      return this.#failure;
    }
  }

  async #noteSaved(saved: CheckpointFacts, store: CheckpointStore): Promise<void> {
    this.#saved = saved;
    this.#goesOn = saved.lost.some(({ reason }) => RUNNING.has(reason));
    this.#failure = '';
    this.#watch.refresh();
    if (this.#unclaimed === undefined) {
      [this.#said, this.#unsaid] = [undefined, undefined];
    }
    await this.#nameHeir();
    if (store === this.#options.lasting) {
      if ((await store.removeOld(this.#session, MAX_CHECKPOINT_AGE_MS)) > 0) {
        this.#removed = [...this.#removed, ...(await store.takeRemoved(this.#session))];
      }
    }
  }

  #noteFailure(reason: string): void {
    this.#failure = reason;
    if (!EXPECTED_FAILURES.has(reason)) {
      this.#unsaid = reason === this.#said ? undefined : reason;
      this.#nextAt = Math.max(this.#nextAt, performance.now() + UNSAVED_MS);
    }
  }

  /** The store for the next checkpoint. A session that could not be claimed is, if no bridge has saved it since. */
  async #openStore(): Promise<CheckpointStore> {
    const unclaimed = this.#unclaimed;
    const { lasting } = this.#options;
    if (unclaimed !== undefined) {
      const claim = await lasting.claim(this.#session).catch(() => undefined);
      if (claim !== undefined && !('pid' in claim)) {
        if ((await lasting.facts(this.#session))?.savedAt === unclaimed.savedAt) {
          [this.#claim, this.#store, this.#unclaimed] = [claim, lasting, undefined];
        } else {
          await claim.release();
        }
      }
    }
    return this.#store;
  }
}

/** @param names of the variables before they were saved. */
function contentOf({ variables, files, lost, omitted }: SaveReport & { readonly ok: true }, names: readonly string[]) {
  const kept = names.filter((name) => lost.every((one) => one.name !== name));
  return { variables, names: kept, files, lost: [...lost], ...omittedOf(omitted) };
}

function sinkOf(writer: Promise<CheckpointWriter>): CheckpointSink {
  const explain = (error: unknown): never => {
    throw new Error(whyNotWritten(error));
  };
  return {
    restart: async () => writer.then((open) => open.restart()).catch(explain),
    write: async (part) => writer.then((open) => open.write(part)).catch(explain),
  };
}

/** What errors of the operating system mean for the state directory. Its path is no business of the code in the sandbox. */
const WRITE_ERRORS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk of the state directory is full',
  EDQUOT: 'the disk quota of the state directory is used up',
  EROFS: 'the state directory is read-only',
  EACCES: 'the state directory may not be written to',
  EPERM: 'the state directory may not be written to',
};

function whyNotWritten(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return WRITE_ERRORS[code] ?? messageOf(error);
}
