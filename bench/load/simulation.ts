/**
 * A discrete-event simulation of clients, their sessions, and the cores on which bridge and sandboxes run. It knows nothing of Python or
 * HTTP: everything costs what it was measured to cost. What it assumes is in bench/load/README.md.
 */
import { createRandom, type Random } from '../../test/soak/random.ts';
import { Cores, EventLoop, Timeline } from './queues.ts';
import { exponential, geometric } from './sampling.ts';

/** Processor time in ms, and what a thing takes besides. */
export interface Work {
  /** On the event loop of a bridge. */
  readonly bridgeMs: number;
  /** In sandbox and server. */
  readonly belowMs: number;
  /** On the client, if that runs on the same machine. */
  readonly clientMs: number;
  /** From begin to end without any other load. Work that does not fit into it is done in the background. */
  readonly wallMs: number;
}

export interface WorkOfKind extends Work {
  /** Of all cells. */
  readonly share: number;
}

export interface Behaviour {
  /** Between an answer, or in an open system the last arrival, and the next cell: mean of an exponential distribution. */
  readonly thinkMs: number;
  /** Cells of one task: mean of a geometric distribution. `Infinity` for work without an end. */
  readonly cellsPerTask: number;
  /** Between two tasks: mean of an exponential distribution. */
  readonly pauseMs: number;
  /** Whether cells come whether or not the last one was answered (a Poisson process), as in the load benchmark. */
  readonly isOpen: boolean;
}

export interface Scenario {
  readonly clients: number;
  readonly behaviour: Behaviour;
  readonly kinds: readonly WorkOfKind[];
  readonly restore: Work;
  /** Saving a session that is quiet; it happens beside everything else. */
  readonly checkpoint: Work;
  readonly cores: number;
  /** Processes of the bridge, each with one event loop. Sessions are spread evenly. */
  readonly bridges: number;
  /** Whether clients run on the same cores, in one process. */
  readonly hasClientsOnCores: boolean;
  readonly maxLive: number;
  /** After this time without a cell, a session loses its sandbox. */
  readonly idleMs: number;
  /** Sessions that have a sandbox at the start. */
  readonly isWarm: boolean;
  /** Measured after `warmUpS`, for `seconds`. */
  readonly warmUpS: number;
  readonly seconds: number;
  readonly seed: number;
}

export interface Simulated {
  readonly warmMs: number[];
  readonly restoredMs: number[];
  /** Cells for which no sandbox was idle, so the bridge refused them. */
  readonly refused: number;
  readonly cellsPerS: number;
  /** Mean number of cores in use. */
  readonly coresUsed: number;
  /** Live sandboxes at each second. */
  readonly live: number[];
}

/** A session without a cell for this long is saved. From the bridge: `QUIET_BEFORE_CHECKPOINT_MS`. */
const QUIET_MS = 300;
/** What the scheduler and the event loop give to one before the next. Chosen: the order of a time slice of Linux. */
const SLICE_MS = 3;
const SECOND = 1_000;

interface SimulatedSession {
  readonly loop: EventLoop;
  readonly waiting: { readonly dueMs: number; readonly done: () => void }[];
  isLive: boolean;
  isBusy: boolean;
  isRestored: boolean;
  lastUsedMs: number;
  /** Changes with each cell, so that a timer knows that it is out of date. */
  turn: number;
}

export function simulate(scenario: Scenario): Simulated {
  return new Simulation(scenario).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #timeline = new Timeline();
  readonly #cores: Cores;
  readonly #clientLoop: EventLoop;
  readonly #sessions: SimulatedSession[];
  readonly #random: Random;
  readonly #warmMs: number[] = [];
  readonly #restoredMs: number[] = [];
  readonly #liveAt: number[] = [];
  #live = 0;
  #refused = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#random = createRandom(scenario.seed);
    this.#cores = new Cores(this.#timeline, { count: scenario.cores, sliceMs: SLICE_MS });
    this.#clientLoop = new EventLoop(this.#cores, SLICE_MS);
    const loops = Array.from({ length: scenario.bridges }, () => new EventLoop(this.#cores, SLICE_MS));
    this.#sessions = Array.from({ length: scenario.clients }, (_, index) => ({
      loop: loops[index % loops.length] as EventLoop,
      waiting: [],
      isLive: scenario.isWarm && index < scenario.maxLive,
      isBusy: false,
      isRestored: false,
      lastUsedMs: 0,
      turn: 0,
    }));
    this.#live = this.#sessions.filter(({ isLive }) => isLive).length;
  }

  run(): Simulated {
    const { seconds, warmUpS } = this.#scenario;
    this.#sessions.forEach((session) => this.#startTask(session));
    this.#timeline.runUntil(warmUpS * SECOND);
    const busyMs = this.#cores.busyMs;
    [this.#warmMs, this.#restoredMs].forEach((times) => times.splice(0));
    this.#refused = 0;
    for (let second = 1; second <= seconds; second += 1) {
      this.#timeline.runUntil((warmUpS + second) * SECOND);
      this.#liveAt.push(this.#live);
    }
    return {
      warmMs: this.#warmMs,
      restoredMs: this.#restoredMs,
      refused: this.#refused,
      cellsPerS: (this.#warmMs.length + this.#restoredMs.length) / seconds,
      coresUsed: (this.#cores.busyMs - busyMs) / (seconds * SECOND),
      live: this.#liveAt,
    };
  }

  /** A client may be anywhere in its pause when the simulation begins. */
  #startTask(session: SimulatedSession): void {
    const { cellsPerTask, isOpen, pauseMs, thinkMs } = this.#scenario.behaviour;
    const random = this.#random;
    this.#timeline.after(exponential(random, isOpen ? thinkMs : pauseMs + thinkMs), () => {
      this.#sendNext(session, cellsPerTask === Infinity ? Infinity : geometric(random, cellsPerTask));
    });
  }

  #sendNext(session: SimulatedSession, left: number): void {
    const { isOpen, thinkMs } = this.#scenario.behaviour;
    const goOn = (): void => {
      if (left > 1) {
        this.#timeline.after(exponential(this.#random, thinkMs), () => this.#sendNext(session, left - 1));
      } else {
        this.#startTask(session);
      }
    };
    session.waiting.push({ dueMs: this.#timeline.nowMs, done: isOpen ? () => undefined : goOn });
    this.#runNext(session);
    if (isOpen) {
      goOn();
    }
  }

  #runNext(session: SimulatedSession): void {
    const next = session.isBusy ? undefined : session.waiting.shift();
    if (next === undefined) {
      return;
    }
    if (!session.isLive && !this.#makeRoom()) {
      this.#refused += 1;
      next.done();
      this.#runNext(session);
      return;
    }
    session.isBusy = true;
    session.turn += 1;
    const wasLive = session.isLive;
    if (!wasLive) {
      session.isLive = true;
      this.#live += 1;
    }
    const end = (): void => this.#cellEnded(session, next, wasLive);
    const runCell = (): void => this.#do(session, this.#pickKind(), end);
    if (wasLive) {
      runCell();
    } else {
      this.#do(session, this.#scenario.restore, runCell);
    }
  }

  #cellEnded(session: SimulatedSession, cell: SimulatedSession['waiting'][number], wasLive: boolean): void {
    const { idleMs } = this.#scenario;
    session.isBusy = false;
    session.lastUsedMs = this.#timeline.nowMs;
    (wasLive ? this.#warmMs : this.#restoredMs).push(this.#timeline.nowMs - cell.dueMs);
    const { turn } = session;
    const whenStillIdle = (delayMs: number, action: () => void): void =>
      this.#timeline.after(delayMs, () => {
        if (session.turn === turn && session.isLive) {
          action();
        }
      });
    whenStillIdle(QUIET_MS, () => this.#do(session, this.#scenario.checkpoint, () => undefined));
    whenStillIdle(idleMs, () => this.#end(session));
    cell.done();
    this.#runNext(session);
  }

  /** Ends the idlest session if there is no room; false if none is idle. Its state was saved when it became quiet. */
  #makeRoom(): boolean {
    if (this.#live < this.#scenario.maxLive) {
      return true;
    }
    let idlest: SimulatedSession | undefined;
    for (const session of this.#sessions) {
      if (session.isLive && !session.isBusy && (idlest === undefined || session.lastUsedMs < idlest.lastUsedMs)) {
        idlest = session;
      }
    }
    if (idlest !== undefined) {
      this.#end(idlest);
    }
    return idlest !== undefined;
  }

  #end(session: SimulatedSession): void {
    session.isLive = false;
    this.#live -= 1;
  }

  #pickKind(): Work {
    let at = this.#random.next();
    for (const kind of this.#scenario.kinds) {
      at -= kind.share;
      if (at < 0) {
        return kind;
      }
    }
    return this.#scenario.kinds.at(-1) as Work;
  }

  /** Client, bridge, then sandbox, then what takes no processor. `done` is called when the answer is there. */
  #do({ loop }: SimulatedSession, { belowMs, bridgeMs, clientMs, wallMs }: Work, done: () => void): void {
    const onClient = this.#scenario.hasClientsOnCores ? clientMs : 0;
    const workMs = bridgeMs + belowMs + clientMs;
    // What was done at the same time on several cores is not waited for.
    const part = workMs === 0 ? 0 : Math.min(1, wallMs / workMs);
    const restMs = Math.max(0, wallMs - workMs) + (clientMs - onClient) * part;
    const background = (): void => {
      this.#cores.run(belowMs * (1 - part), () => undefined);
      loop.run(bridgeMs * (1 - part), () => undefined);
      this.#clientLoop.run(onClient * (1 - part), () => undefined);
    };
    this.#clientLoop.run(onClient * part, () =>
      loop.run(bridgeMs * part, () =>
        this.#cores.run(belowMs * part, () => {
          background();
          this.#timeline.after(restMs, done);
        }),
      ),
    );
  }
}
