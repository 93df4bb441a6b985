/**
 * How to write a case of the suite `npm test -- build faults`.
 *
 * A case is one object in `test/faults/cases/`: a title, the expected result, and a function that runs it and checks with
 * `expect` what is specific to it. `run-case.ts` checks the eight gates (`gates.ts`) around it, so a case repeats none of them:
 *
 *     {
 *       id: 'P01',
 *       title: 'a loop that never ends',
 *       expected: 'ends at its timeout; variables are kept',
 *       quick: true,
 *       async run({ run }) {
 *         const answer = await run('while True: pass', { timeout: 1 });
 *         expect(answer.status).toBe('timeout');
 *       },
 *     }
 *
 * The cases of one file in `test/faults/*.test.ts` share one bridge (an `Arena`): `describeFaults({ name, cases, arena })`.
 * Each case starts in a new session `attacked`, and every session it uses is reset afterwards. A case that ends the bridge, or
 * needs other servers, settings or a failing engine, belongs in a separate group or sets `bridge: 'own'`: then it gets its own
 * bridge, which is closed afterwards.
 *
 * Servers of the arena: `ledger` (`record`, `record_slowly`), `forbidden` (the same, but no cell loads it), `echo`,
 * `neighbour`, and those in `ArenaOptions`. They record every call (G7); `allow` lists the permitted ones. If a gate does not
 * apply to a case, leave it out with `without: { G4: 'why' }`. If a case needs more memory than its gate allows, declare that
 * with `growth`. A case that fails is a bug in the product.
 */
import type { BeginningCell } from '../begun.ts';
import type { Capability } from '../capabilities.ts';
import type { Arena } from './arena.ts';
import type { Gate } from './gates.ts';

export interface RunOptions {
  /** In seconds; 5 by default. */
  readonly timeout?: number;
  /** `attacked` by default. */
  readonly session?: string;
  /** `ledger` and `echo` by default. */
  readonly servers?: readonly string[];
  /** Cancels the cell. */
  readonly signal?: AbortSignal;
  /** Gets the progress reports of the bridge. */
  readonly onProgress?: BeginningCell['onProgress'];
}

/** One answer of `run_python`, as the client gets it. */
export interface SeenAnswer {
  /** Everything that an agent without structured content sees. */
  readonly text: string;
  readonly status: string;
  /** Joined lines; empty if there are none. Same for the next three. */
  readonly stdout: string;
  readonly stderr: string;
  /** Text of the last expression. */
  readonly result: string;
  readonly error: string;
  /** Notices about lost state. */
  readonly notices: string;
}

/** What a case gets to work with. */
export interface Attack {
  readonly arena: Arena;
  /** Runs a cell and checks G1. Rejects if there is no answer at all. */
  run(code: string, options?: RunOptions): Promise<SeenAnswer>;
  /** Permits these calls, as `server.tool`; all others fail G7. */
  allow(...calls: readonly string[]): void;
  /** Calls to servers since the case began, as `server.tool`, without those of `neighbour`. */
  calls(): string[];
  /** What the bridge has logged since the case began, at level DEBUG. */
  log(): string;
}

export interface FaultCase {
  /** For example `F01`. */
  readonly id: string;
  /** What the case does, in a few words. */
  readonly title: string;
  /** What must happen. */
  readonly expected: string;
  /** Also run on engines other than the main one. */
  readonly quick?: boolean;
  /** Only on engines that run containers, because the case uses their command. */
  readonly containers?: boolean;
  /** Skipped on engines whose Python lacks one of these. */
  readonly needs?: readonly Capability[];
  readonly bridge?: 'shared' | 'own';
  /** Gates that do not apply, and why. */
  readonly without?: Readonly<Partial<Record<Gate, string>>>;
  /**
   * Memory by which the bridge may grow during the case instead of the 64 MiB of G2, what it may keep instead of 16 MiB, and
   * why. glibc keeps small freed blocks for later use; a case that allows for them does its work twice.
   */
  readonly growth?: { readonly mib: number; readonly keptMib?: number; readonly why: string };
  run(attack: Attack): Promise<void>;
}

/** A case that another suite runs. */
export interface CaseElsewhere {
  readonly id: string;
  readonly title: string;
  /** Where it runs instead, or that there is no such surface yet. */
  readonly where: string;
}

/** The result of a case: for each gate `ok`, why it does not apply, or what failed. */
export interface FaultReport {
  readonly id: string;
  readonly title: string;
  readonly engine: string;
  readonly gates: Readonly<Record<Gate, GateResult>>;
  readonly figures: Figures;
}

export type GateResult =
  | { readonly state: 'ok' }
  | { readonly state: 'not applicable' | 'failed'; readonly why: string };

/** Measured around a case. */
export interface Figures {
  readonly seconds: number;
  readonly growthMib?: number;
  readonly loopMaxMs?: number;
  readonly loopP99Ms?: number;
  /** Median time of a call in the other session, during the case and before it. */
  readonly neighbourMs?: number;
  readonly neighbourBeforeMs?: number;
}
