/**
 * How a case of the suite `npm run test:faults` is written.
 *
 * A case is one object in `test/faults/cases/`: what is done, what must come of it, and a function that does it and checks
 * with `expect` what is special to it. The eight gates (`gates.ts`) are checked around it by `run-case.ts`, so a case
 * repeats none of them:
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
 * Each case begins in a fresh session `attacked`, and every session it uses is reset after it. A case that ends the bridge, or
 * needs other servers, settings or an engine that is made to fail, stands in a group of its own, or says
 * `bridge: 'own'`: then it gets a bridge that is started for it and closed after it.
 *
 * Servers of the arena: `ledger` (`record`, `record_slowly`), `forbidden` (the same, which nobody names), `echo`,
 * `neighbour`, and those given in `ArenaOptions`. Each call they get is noted (G7); `allow` says which may come.
 * A gate that cannot say anything about a case is left out with `without: { G4: 'why' }`; a case that carries more than the
 * gate allows on purpose says how much with `growth`. A case that fails is a bug of the product.
 */
import type { BeginningCell } from '../begun.ts';
import type { Capability } from '../capabilities.ts';
import type { Arena } from './arena.ts';
import type { Gate } from './gates.ts';

export interface RunOptions {
  /** Seconds; 5 when left out. */
  readonly timeout?: number;
  /** `attacked` when left out. */
  readonly session?: string;
  /** `ledger` and `echo` when left out. */
  readonly servers?: readonly string[];
  /** Gives the cell up. */
  readonly signal?: AbortSignal;
  /** Gets what the bridge reports of the progress. */
  readonly onProgress?: BeginningCell['onProgress'];
}

/** One answer of `run_python`, as the client got it. */
export interface SeenAnswer {
  /** All that an agent without structured content sees. */
  readonly text: string;
  readonly status: string;
  /** Lines joined; empty when there is none. The same for the next three. */
  readonly stdout: string;
  readonly stderr: string;
  /** Text of the last expression. */
  readonly result: string;
  readonly error: string;
  /** What is said of lost state. */
  readonly notices: string;
}

/** What a case is given to work with. */
export interface Attack {
  readonly arena: Arena;
  /** Runs a cell and checks G1. Rejects when there is no answer at all. */
  run(code: string, options?: RunOptions): Promise<SeenAnswer>;
  /** Says which calls of servers are right, as `server.tool`; all others fail G7. */
  allow(...calls: readonly string[]): void;
  /** Calls that servers got since the case began, as `server.tool`, without those of `neighbour`. */
  calls(): string[];
  /** What the bridge has logged since the case began, at level DEBUG. */
  log(): string;
}

export interface FaultCase {
  /** For example `F01`. */
  readonly id: string;
  /** What is done, in a few words. */
  readonly title: string;
  /** What must come of it. */
  readonly expected: string;
  /** Also run on engines other than the main one. */
  readonly quick?: boolean;
  /** Only on engines that run containers: what is done is done with their command. */
  readonly containers?: boolean;
  /** Left out on engines whose Python lacks it. */
  readonly needs?: readonly Capability[];
  readonly bridge?: 'shared' | 'own';
  /** Gates that do not apply, and why. */
  readonly without?: Readonly<Partial<Record<Gate, string>>>;
  /**
   * Memory that the bridge may take on during the case instead of the 64 MiB of G2, and keep instead of the 16 MiB, and
   * why. What was freed in small blocks stays with glibc for the next use; a case that lets it stay does its work twice.
   */
  readonly growth?: { readonly mib: number; readonly keptMib?: number; readonly why: string };
  run(attack: Attack): Promise<void>;
}

/** A case that is not run by this suite. */
export interface CaseElsewhere {
  readonly id: string;
  readonly title: string;
  /** Where it is run instead, or that there is no such surface yet. */
  readonly where: string;
}

/** What became of a case: per gate `ok`, why it does not apply, or what failed. */
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
  /** Median time of a call in the other session, while the case ran and before. */
  readonly neighbourMs?: number;
  readonly neighbourBeforeMs?: number;
}
