/**
 * What the answers of a session say besides their outcome, each thing once: what became of its state, which engine runs it, and what code
 * has brought in. An answer that no one reads has said nothing.
 */
import type { EngineReport } from '../base/cell.ts';
import { MAX_REPORTED_NAMES } from '../base/limits.ts';
import type { MaybePromise } from '../base/maybe-promise.ts';
import { standInNotice } from './engine-report.ts';
import type { Keeper, Restored } from './keeper.ts';
import { describePrevious, describeRestored, describeTroubles, describeUnsaid } from './restored.ts';
import { type CellOutcome, isPythonName } from './run-cell.ts';

/** A lost kernel. */
export interface Loss {
  readonly reason: string;
  readonly names: CellOutcome['names'];
  /** Number of the last cell that ended in it. */
  readonly cell: number;
  /** Whether it was ended because it was idle, so that nothing failed. */
  readonly isIdle: boolean;
}

/** What an answer says of the state that its cell has found. */
interface FirstNotices {
  readonly notices: readonly string[];
  /** Undefined if an answer has reported the same engine already. */
  readonly engine: EngineReport | undefined;
  /** No client reads the answer, so the next one says the same. */
  repeat(): void;
}

type Facts = Pick<
  Keeper,
  'heldBy' | 'older' | 'previous' | 'previousReached' | 'saved' | 'takeTroubles' | 'takeUnsaid'
>;

export class SessionNotices {
  readonly #session: string;
  readonly #keeper: Facts | undefined;
  readonly #isDue: ((notice: string) => Promise<boolean>) | undefined;
  #loss: Loss | undefined;
  /** What the sandbox got from an earlier one; or a sentence that says why it got nothing. */
  #restored: Restored | string | undefined;
  #engine: EngineReport | undefined;
  #standIn: { readonly notice: string; readonly isDue: Promise<boolean> | undefined } | undefined;
  #isHeldReported = false;
  #isPreviousReported = false;
  /** What became of a checkpoint that a cell has asked for but did not wait for. */
  #savedLate: string[] = [];
  #loadedByCode: string[] = [];
  #defined: readonly string[] = [];

  /** @param isDue whether a notice about the machine was not said today; always by default. */
  constructor(session: string, keeper: Facts | undefined, isDue?: (notice: string) => Promise<boolean>) {
    this.#session = session;
    this.#keeper = keeper;
    this.#isDue = isDue;
  }

  /** Undefined if what was lost is of no interest any more. */
  lost(loss: Loss | undefined): void {
    this.#loss = loss;
  }

  restored(restored: Restored): void {
    this.#restored = restored;
  }

  /** @param reason a sentence; undefined if there was nothing to restore. */
  notRestored(reason: string | undefined): void {
    this.#restored = reason;
  }

  savedLate(sentence: string): void {
    this.#savedLate.push(sentence);
  }

  /** Whoever approved the cell did not see the server. */
  loadedByCode(server: string): void {
    this.#loadedByCode.push(server);
  }

  /** Functions from earlier sessions, which code of this one may call unseen. */
  defined(names: readonly string[]): void {
    this.#defined = names;
  }

  /** Before a cell runs. `names` are those of the state that it finds. */
  takeFirst(engine: EngineReport, names: readonly string[]): FirstNotices {
    const [loss, restored] = [this.#loss, this.#restored];
    const isPreviousReported = this.#isPreviousReported;
    const reported = this.#takeEngine(engine);
    return {
      engine: reported,
      notices: this.#takeState(names),
      repeat: () => {
        this.#isPreviousReported = isPreviousReported;
        this.#loss ??= loss;
        this.#restored ??= restored;
        this.#engine = undefined;
      },
    };
  }

  /** After a cell whose answer someone reads. */
  takeLast(): MaybePromise<string[]> {
    const keeper = this.#keeper;
    const late = this.#savedLate;
    this.#savedLate = [];
    const troubles = keeper === undefined ? [] : describeTroubles(keeper.takeTroubles(), keeper.saved);
    const unsaid = keeper?.takeUnsaid().map(describeUnsaid) ?? [];
    const notices = [...unsaid, ...this.#takeDefined(), ...this.#takeLoaded(), ...late, ...troubles];
    const standIn = this.#takeStandIn();
    return standIn === undefined ? notices : standIn.then((said) => [...said, ...notices]);
  }

  #takeState(names: readonly string[]): string[] {
    const [loss, restored] = [this.#loss, this.#restored];
    this.#loss = undefined;
    this.#restored = undefined;
    const held = this.#takeHeld();
    if (typeof restored === 'object') {
      return [describeRestored(restored, loss, names), ...held];
    }
    const failure = restored === undefined ? [] : [restored];
    const lost = loss === undefined ? failure : [[describeLoss(loss), ...failure].join(' ')];
    return [...lost, ...held, ...this.#takePrevious()];
  }

  #takePrevious(): string[] {
    const previous = this.#isPreviousReported ? undefined : this.#keeper?.previous;
    this.#isPreviousReported = true;
    const { older = [], previousReached = 0 } = this.#keeper ?? {};
    return previous === undefined ? [] : [describePrevious(previous, previousReached, older)];
  }

  #takeHeld(): string[] {
    const pid = this.#isHeldReported ? undefined : this.#keeper?.heldBy;
    this.#isHeldReported ||= pid !== undefined;
    return pid === undefined
      ? []
      : [
          `Another client (process ${pid}) uses the session '${this.#session}', so this is a copy that is not kept. To keep state, run cells with session='${this.#session}-2'.`,
        ];
  }

  #takeEngine(engine: EngineReport): EngineReport | undefined {
    const reported = this.#engine;
    this.#engine = engine;
    // Another sandbox has a report of its own, usually the same.
    const isSame = engine === reported || JSON.stringify(engine) === JSON.stringify(reported);
    if (isSame) {
      return undefined;
    }
    this.#noteStandIn(engine);
    return engine;
  }

  /** While the cell runs, it is asked whether the notice is due. One that no client has read is. */
  #noteStandIn(engine: EngineReport): void {
    const notice = standInNotice(engine);
    if (notice !== this.#standIn?.notice) {
      this.#standIn = notice === undefined ? undefined : { notice, isDue: this.#isDue?.(notice) };
    }
  }

  #takeStandIn(): Promise<string[]> | undefined {
    const standIn = this.#standIn;
    this.#standIn = undefined;
    return standIn && Promise.resolve(standIn.isDue).then((isDue) => (isDue === false ? [] : [standIn.notice]));
  }

  #takeLoaded(): string[] {
    const names = this.#loadedByCode;
    this.#loadedByCode = [];
    return names.length === 0 ? [] : [`Servers loaded by the code: ${names.join(', ')}.`];
  }

  #takeDefined(): string[] {
    const names = this.#defined;
    this.#defined = [];
    const more = names.length > MAX_REPORTED_NAMES ? ` and ${names.length - MAX_REPORTED_NAMES} more` : '';
    return names.length === 0 ? [] : [`Functions saved by earlier sessions: ${reportable(names)}${more}.`];
  }
}

/** Names from the sandbox that may appear in a sentence of ours: only identifiers, few and short. */
function reportable(names: readonly string[]): string {
  return names.filter(isPythonName).slice(0, MAX_REPORTED_NAMES).join(', ');
}

function describeLoss({ reason, names }: Loss): string {
  const parts = (['variables', 'functions', 'imports'] as const)
    .map((kind) => ({ kind, list: reportable(names?.[kind] ?? []) }))
    .filter(({ list }) => list !== '')
    .map(({ kind, list }) => `${kind} ${list}`);
  if (names !== undefined && names.omitted > 0) {
    parts.push(`${names.omitted} more`);
  }
  const gone = parts.length === 0 ? 'variables, files and background jobs, if there were any' : parts.join('; ');
  return `State was lost: the earlier sandbox of this session ended because ${reason}. Gone: ${gone}.`;
}
