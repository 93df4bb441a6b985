/**
 * What one bridge does now: its sessions, running cells, calls, questions and servers. It turns what happens into events of the
 * local API. Over HTTP, a process has one for each principal.
 */
import { CappedMap } from '../../core/base/capped-map.ts';
import type { CellAnswer, CellRequest, Person, Reply } from '../../core/base/cell.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { choiceIn } from '../../core/base/replies.ts';
import type { ToolCall } from '../../core/calls/contract.ts';
import { type BegunStep, type EventOfType, errorCodeOf, type Watcher } from '../../core/calls/events.ts';
import type { CatalogServer } from '../../core/catalog/known.ts';
import type { ServerDirectory } from '../../core/directory/server-directory.ts';
import type { BegunCell, CellIdentity } from '../../core/session/events.ts';
import { BY_OPERATOR } from '../../core/session/run-cell.ts';
import type { SessionView } from '../../core/session/session.ts';
import type { Sessions } from '../../core/session/sessions.ts';
import type { UpstreamPool } from '../../edges/upstream/pool.ts';
import { describeQuestion } from '../local-api/approval.ts';
import type { LiveApproval, LiveEvent, LiveServer, LiveSession, LiveStep } from '../local-api/schema.ts';
import type { EventStreams } from './event-streams.ts';
import { type OpenQuestion, Questions } from './questions.ts';
import { isoTimeOf, RunningCell } from './running-cell.ts';
import { ServerStatistics } from './server-statistics.ts';

/** Servers as the API shows and controls them. */
export interface WatchedServers {
  readonly known: Pick<ServerDirectory, 'servers' | 'metadata' | 'refresh'>;
  readonly pool: Pick<UpstreamPool, 'states' | 'stop' | 'forgetListing'>;
  /** Reads the configuration as of now. */
  refresh(): unknown;
}

/** A question that the operator has answered over the API. */
export interface AnsweredQuestion {
  readonly session: string;
  readonly cell: CellIdentity | undefined;
  readonly action: Reply['action'];
  /** What was chosen, if the form offers choices. */
  readonly choice: string | undefined;
}

export interface WatchedBridgeOptions {
  /** Start of the ids of cells, as in the audit log. */
  readonly id: string;
  /** Whose bridge it is; undefined for the user of this machine. */
  readonly principal: string | undefined;
  readonly profile: string | undefined;
  /** Name of the client, once it is known. */
  readonly client: () => string;
  readonly mask: (text: string) => string;
  readonly events: EventStreams;
  readonly sessions: () => Pick<Sessions, 'views' | 'kill' | 'hibernate'>;
  readonly servers: WatchedServers;
  /** Deadline of cells that the operator runs. */
  readonly timeoutMs: number;
  /** Records who has answered. */
  readonly onAnswered: (answered: AnsweredQuestion) => void;
}

/** The end of the reason that the next answer of a session gives. */
const BY_HAND = 'the operator ended it';
const HIBERNATED = 'the operator let it hibernate';

/** What the next answers of a session say about cells of the operator. Chosen. */
const MAX_NOTICES = 20;
/** Sessions that have any. Chosen. */
const MAX_SESSIONS = 1_000;

/** Nobody at a client can answer what a cell of the operator asks; the API can. */
const OPERATOR: Person = {
  opensPages: false,
  ask: (_, signal) =>
    new Promise((_resolve, reject) => {
      const withdraw = (): void => reject(new Error('the question was withdrawn'));
      signal.addEventListener('abort', withdraw, { once: true });
      if (signal.aborted) {
        withdraw();
      }
    }),
};

type RunCell = (request: CellRequest) => Promise<CellAnswer>;
type EventOf = LiveEvent extends infer Each
  ? Each extends LiveEvent
    ? Omit<Each, 'at' | 'principal' | 'profile'>
    : never
  : never;

export class WatchedBridge {
  readonly #options: WatchedBridgeOptions;
  readonly #whose: { readonly principal?: string; readonly profile?: string };
  readonly #statistics = new ServerStatistics();
  /** By session. */
  readonly #running = new Map<string, RunningCell>();
  readonly #cells = new WeakMap<BegunCell, RunningCell>();
  readonly #interrupts = new WeakMap<CellRequest, AbortController>();
  readonly #questions: Questions;
  /** Called with the id of the cell when it has begun. */
  readonly #begun = new WeakMap<CellRequest, (id: string) => void>();
  /** For the next answer to a client, by session. */
  readonly #notices = new CappedMap<string, readonly string[]>(MAX_SESSIONS);
  #run: RunCell | undefined;
  /** As they were when events last said so. */
  #serverStates = new Map<string, LiveServer['state']>();
  #engine: string | undefined;

  constructor(options: WatchedBridgeOptions) {
    this.#options = options;
    const { principal, profile } = options;
    this.#whose = { ...(principal !== undefined && { principal }), ...(profile !== undefined && { profile }) };
    this.#questions = new Questions({
      asked: ({ id, session }) => this.#emit(() => ({ type: 'approval_asked', session, id })),
      answered: (open, by, reply) => this.#noteAnswer(open, by, reply),
    });
  }

  get whose(): { readonly principal?: string; readonly profile?: string } {
    return this.#whose;
  }

  get client(): string {
    return this.#options.client();
  }

  /** Engine of the last sandbox. */
  get engine(): string | undefined {
    return this.#engine;
  }

  /** The same request, which can be interrupted and whose questions can be answered here. */
  open(given: CellRequest): CellRequest {
    const interrupt = new AbortController();
    const { signal, person } = given;
    const pass = (): void => interrupt.abort(signal?.reason);
    if (signal?.aborted === true) {
      pass();
    }
    signal?.addEventListener('abort', pass, { once: true });
    const request: CellRequest = {
      ...given,
      signal: interrupt.signal,
      onClock: (clock) => {
        given.onClock?.(clock);
        const running = this.#runningFor(request);
        if (running !== undefined) {
          running.clock = clock;
        }
      },
      ...(person !== undefined && { person: this.#questions.watch(person, () => this.#askerOf(request)) }),
    };
    this.#interrupts.set(request, interrupt);
    const begun = this.#begun.get(given);
    if (begun !== undefined) {
      this.#begun.set(request, begun);
    }
    return request;
  }

  /** How cells of the operator are run; without this, they cannot be. `run` calls `open` and `noticed`. */
  runWith(run: RunCell): void {
    this.#run = run;
  }

  /** Runs a cell of the operator, with the servers that the session has. Resolves with its id when it has begun; rejects if it does not run. */
  async run({ name, servers }: Pick<LiveSession, 'name' | 'servers'>, code: string): Promise<string> {
    const run = this.#run;
    if (run === undefined) {
      throw new BridgeError('CALL_REFUSED', 'this bridge runs no cells of the operator');
    }
    const { timeoutMs } = this.#options;
    const request: CellRequest = { code, servers, session: name, timeoutMs, person: OPERATOR, ranBy: 'operator' };
    return new Promise((resolve, reject) => {
      this.#begun.set(request, resolve);
      run(request).then(
        ({ error }) => reject(new BridgeError(error?.code ?? 'INTERNAL', error?.message ?? 'the cell did not run')),
        reject,
      );
    });
  }

  /** The answer, with what the operator did meanwhile. That of a cell of the operator reaches no client, so its notices wait. */
  noticed({ ranBy, session }: CellRequest, answer: CellAnswer): CellAnswer {
    const waiting = this.#notices.get(session) ?? [];
    if (ranBy === undefined) {
      this.#notices.delete(session);
      return waiting.length === 0 ? answer : { ...answer, notices: [...waiting, ...answer.notices] };
    }
    const { cell } = answer;
    const ran =
      cell === undefined ? [] : [`The operator ran cell ${cell} in this session; variables may have changed.`];
    this.#notices.set(session, [...waiting, ...answer.notices, ...ran].slice(-MAX_NOTICES));
    return answer;
  }

  readonly watch: Watcher = (event) => {
    switch (event.type) {
      case 'session_started':
        this.#engine = event.engine.name;
        return this.#emit(() => ({ type: 'session_started', ...event.run, engine: event.engine.name }));
      case 'session_ended':
        return this.#emit(() => ({ type: 'session_ended', ...event.run, reason: this.#options.mask(event.reason) }));
      case 'cell_started':
        return this.#noteStart(event.cell);
      case 'cell_output':
        return this.#noteOutput(event);
      case 'cell_ended':
        return this.#noteEnd(event);
      case 'call_started':
        this.#cellOf(event.made.cell)?.callStarted(event.made);
        return this.#emit(() => ({ type: 'call_started', ...this.#callOf(event.made.call) }));
      case 'call_ended':
        return this.#noteCallEnd(event);
      case 'step_started':
        return this.#noteStep(event.step, this.#cellOf(event.step.of)?.stepStarted(event.step, this.#options.mask));
      case 'step_ended':
        return this.#noteStep(event.step, this.#cellOf(event.step.of)?.stepEnded(event, this.#options.mask));
      default:
        return undefined;
    }
  };

  sessions(): LiveSession[] {
    return this.#options
      .sessions()
      .views()
      .map((view) => this.#showSession(view));
  }

  approvals(): LiveApproval[] {
    return this.#questions.list().map(({ id, session, askedAt, question }) => ({
      id,
      ...this.#whose,
      session,
      asked: isoTimeOf(askedAt),
      ...describeQuestion(question),
    }));
  }

  question(id: string): OpenQuestion | undefined {
    return this.#questions.list().find((open) => open.id === id);
  }

  /** False if it was answered in the meantime. */
  answer(id: string, reply: Reply): boolean {
    return this.#questions.answer(id, reply);
  }

  servers(): LiveServer[] {
    const { known, pool, refresh } = this.#options.servers;
    refresh();
    const states = new Map(pool.states().map((state) => [state.name, state]));
    return known.servers().map((server) => {
      const { state = 'idle', pid, requests = 0, lastError } = states.get(server.name) ?? {};
      const { calls, failed, p50Ms, p95Ms } = this.#statistics.of(server.name);
      const tools = known.metadata(server)?.tools.length;
      return {
        name: server.name,
        ...this.#whose,
        state,
        ...(pid !== undefined && { pid }),
        ...(tools !== undefined && { tools }),
        in_flight: requests,
        calls,
        failed,
        ...(p50Ms !== undefined && { p50_ms: p50Ms }),
        ...(p95Ms !== undefined && { p95_ms: p95Ms }),
        ...(state === 'failing' && lastError !== undefined && { error: lastError.message }),
      };
    });
  }

  /** Emits an event for each server whose state has changed since the last call. */
  lookAtServers(): void {
    const states = new Map(this.#options.servers.pool.states().map(({ name, state }) => [name, state]));
    for (const [server, state] of states) {
      if ((this.#serverStates.get(server) ?? 'idle') !== state) {
        this.#emit(() => ({ type: 'server_state', server, state }));
      }
    }
    this.#serverStates = states;
  }

  /** False if no cell of the session runs. */
  interrupt(session: string): boolean {
    const running = this.#running.get(session);
    const controller = running && this.#interrupts.get(running.begun.request);
    controller?.abort(BY_OPERATOR);
    return controller !== undefined;
  }

  /** False if it has no sandbox. */
  end(session: string): Promise<boolean> {
    return this.#options.sessions().kill(session, BY_HAND);
  }

  /** False if it has no sandbox, is busy, or cannot be saved. */
  hibernate(session: string): Promise<boolean> {
    return this.#options.sessions().hibernate(session, HIBERNATED);
  }

  findServer(name: string): CatalogServer | undefined {
    const { known, refresh } = this.#options.servers;
    refresh();
    return known.servers().find((server) => server.name === name);
  }

  /** Starts it if need be, and reads its tools. Rejects with a `BridgeError`. */
  async startServer(server: CatalogServer, isReadAgain: boolean): Promise<void> {
    const { known, pool } = this.#options.servers;
    if (isReadAgain) {
      pool.forgetListing(server.name);
    }
    await known.refresh(server, new AbortController().signal);
  }

  /** Rejects with a `BridgeError`. */
  stopServer(server: CatalogServer): Promise<void> {
    return this.#options.servers.pool.stop(server.name);
  }

  #showSession(view: SessionView): LiveSession {
    const { name, engine, memoryBytes, names, saved, ageMs, idleMs } = view;
    const cell = this.#running.get(name);
    const questions = this.#questionsOf(name);
    return {
      name,
      ...this.#whose,
      state: view.state,
      ...(questions > 0 && { questions }),
      ...(engine !== undefined && { engine }),
      generation: view.generation,
      cells: view.cells,
      waiting: view.waiting,
      servers: [...view.servers],
      ...(ageMs !== undefined && { age_ms: ageMs }),
      ...(idleMs !== undefined && { idle_ms: idleMs }),
      ...(memoryBytes !== undefined && { memory_bytes: memoryBytes }),
      ...(names !== undefined && { variables: countOf(names) }),
      names: [...(names?.variables ?? [])],
      ...(saved !== undefined && { saved: saved.savedAt }),
      ...(cell !== undefined && { cell: cell.show(this.#options.mask) }),
    };
  }

  #noteStart(begun: BegunCell): void {
    const { request, servers, session } = begun;
    const cell = new RunningCell(this.#cellId(begun), begun);
    this.#cells.set(begun, cell);
    this.#running.set(session, cell);
    this.#begun.get(request)?.(cell.id);
    this.#emit(() => ({
      type: 'cell_started',
      session,
      cell: cell.id,
      code: this.#options.mask(request.code),
      servers: [...servers],
      timeout_ms: request.timeoutMs,
    }));
  }

  #noteOutput({ cell, stream, text }: EventOfType<'cell_output'>): void {
    const from = this.#cellOf(cell)?.addOutput(text) ?? 0;
    const { events } = this.#options;
    if (events.isWatched) {
      const names = { session: cell.session, cell: this.#cellId(cell) };
      events.addOutput({ type: 'cell_output', ...this.#head(), ...names, stream, from_char: from, text });
    }
  }

  #noteEnd({ cell, durationMs, outcome: { error, status } }: EventOfType<'cell_ended'>): void {
    this.#running.delete(cell.session);
    this.#emit(() => ({
      type: 'cell_ended',
      session: cell.session,
      cell: this.#cellId(cell),
      status,
      ...(error?.code !== undefined && { error_code: error.code }),
      duration_ms: durationMs,
    }));
  }

  #noteCallEnd({ durationMs, made, outcome, sent }: EventOfType<'call_ended'>): void {
    const { call, cell } = made;
    if (sent !== undefined) {
      this.#statistics.note(call.server.name, sent);
    }
    const errorCode = errorCodeOf(outcome);
    this.#cellOf(cell)?.callEnded(made, durationMs, errorCode);
    this.#emit(() => {
      const { job: _job, ...names } = this.#callOf(call);
      return {
        type: 'call_ended',
        ...names,
        status: errorCode === undefined ? 'ok' : 'error',
        ...(errorCode !== undefined && { error_code: errorCode }),
        duration_ms: durationMs,
      };
    });
  }

  #noteStep(step: BegunStep, shown: LiveStep | undefined): void {
    if (shown !== undefined) {
      this.#emit(() => ({ type: 'step_changed', session: step.session, cell: this.#cellId(step), ...shown }));
    }
  }

  #noteAnswer(open: OpenQuestion, by: 'client' | 'operator' | 'nobody', reply: Reply | undefined): void {
    const { cell, id, question, session } = open;
    this.#emit(() => ({
      type: 'approval_answered',
      session,
      id,
      answered_by: by,
      ...(reply !== undefined && { action: reply.action }),
    }));
    if (by === 'operator' && reply !== undefined) {
      this.#options.onAnswered({ session, cell, action: reply.action, choice: choiceIn(question, reply) });
    }
  }

  #cellOf(cell: BegunCell | undefined): RunningCell | undefined {
    return cell && this.#cells.get(cell);
  }

  /** Before its cell runs, a request asks for none: that of another one may run. */
  #askerOf(request: CellRequest): Pick<OpenQuestion, 'session' | 'cell'> {
    const { session } = request;
    const running = this.#runningFor(request);
    return { session, cell: running?.begun };
  }

  #runningFor(request: CellRequest): RunningCell | undefined {
    const running = this.#running.get(request.session);
    return running?.begun.request === request ? running : undefined;
  }

  /** What the running cell asks, or, if none runs, the one that is about to begin. */
  #questionsOf(session: string): number {
    const running = this.#running.get(session);
    return this.#questions
      .list()
      .filter(({ cell, ...open }) => open.session === session && cell?.cell === running?.begun.cell).length;
  }

  #callOf({ context, server, tool }: ToolCall) {
    const { session, call, job } = context;
    const cell = this.#cellId(context);
    return { session, cell, call, ...(job !== undefined && { job }), server: server.name, tool: tool.name };
  }

  #cellId({ session, generation, cell }: CellIdentity): string {
    return `${this.#options.id}/${session}/${generation}/${cell}`;
  }

  /** The event is made only if someone reads it. */
  #emit(make: () => EventOf): void {
    const { events } = this.#options;
    if (events.isWatched) {
      const { type, ...rest } = make();
      events.add({ type, ...this.#head(), ...rest } as LiveEvent);
    }
  }

  #head() {
    return { at: isoTimeOf(Date.now()), ...this.#whose };
  }
}

function countOf({ variables, functions, imports, omitted }: NonNullable<SessionView['names']>): number {
  return variables.length + functions.length + imports.length + omitted;
}
