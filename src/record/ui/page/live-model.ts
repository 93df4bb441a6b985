/**
 * What the page knows about running bridges: an overview, and the events since. Changed in place, because a cell can write thousands
 * of lines; whoever shows it draws again once per frame. Bounded: see `OutputLines` and the limits below.
 */
import type { UiApproval, UiBridge, UiEvent, UiOverview, UiServerState, UiSession, UiStep } from '../schema.ts';
import { OutputLines } from './output-lines.ts';
import type { TimedCall } from './waterfall.ts';

export interface LiveCall extends TimedCall {
  readonly call: number;
  readonly server: string;
  readonly tool: string;
  readonly status: 'running' | 'ok' | 'error';
  readonly errorCode: string | undefined;
}

/** A cell that runs, or the last one of its session. */
export interface LiveCell {
  readonly id: string;
  readonly code: string;
  readonly servers: readonly string[];
  readonly startedAt: number;
  deadlineAt: number;
  /** What is left until the deadline, as long as that time stands still. */
  pausedMs: number | undefined;
  /** `ended`: it ended while the connection was lost. */
  status: Extract<UiEvent, { type: 'cell_ended' }>['status'] | 'running' | 'ended';
  durationMs: number | undefined;
  errorCode: string | undefined;
  readonly output: OutputLines;
  /** Characters that it has written, as far as they are in `output` or counted as missing there. */
  outputChars: number;
  /** By number. */
  readonly calls: Map<number, LiveCall>;
  callsLeftOut: number;
  callsEnded: number;
  callsFailed: number;
  /** By number. */
  readonly steps: Map<number, UiStep>;
  stepsLeftOut: number;
}

export interface PageSession extends UiSession {
  readonly key: string;
}

/** What happened to a question that this page has shown. */
export interface PastQuestion {
  readonly id: string;
  readonly session: string;
  readonly answeredBy: 'client' | 'operator' | 'nobody';
  readonly action: 'accept' | 'decline' | 'cancel' | undefined;
  readonly at: string;
}

/** Of one cell; more are counted. */
const MAX_CALLS = 5_000;
/** Of one cell; of more, those that ended first are counted. About twice what can run at once. */
const MAX_STEPS = 2_000;
/** Sessions whose last cell is kept. */
const MAX_CELLS = 100;
const MAX_ANSWERED = 20;

/** Sessions of two bridges or principals may have the same name. */
export function sessionKey({
  bridge,
  name,
  principal,
  profile,
}: Pick<UiSession, 'bridge' | 'name' | 'principal' | 'profile'>): string {
  return JSON.stringify([bridge, principal ?? '', profile ?? '', name]);
}

export class LiveModel {
  #loadedAt = 0;
  #sessions = new Map<string, PageSession>();
  #cells = new Map<string, LiveCell>();
  bridges: readonly UiBridge[] = [];
  approvals: readonly UiApproval[] = [];
  servers: readonly UiServerState[] = [];
  answered: readonly PastQuestion[] = [];
  /** Set by events that say too little; whoever reads the overview again clears it. */
  needsOverview = false;
  /** Events are missing, so what was built from them is thrown away. */
  needsAll = false;

  get sessions(): readonly PageSession[] {
    return [...this.#sessions.values()];
  }

  session(key: string): PageSession | undefined {
    return this.#sessions.get(key);
  }

  /** Whether it waits for a person. An answer counts at once, before the next overview. */
  isAsking({ key, questions = 0 }: PageSession): boolean {
    return questions > 0 && this.approvals.some((one) => sessionKey({ ...one, name: one.session ?? '' }) === key);
  }

  /** The cell that runs in a session, or its last one. */
  cell(key: string): LiveCell | undefined {
    return this.#cells.get(key);
  }

  /** Events do not say how far a map is. */
  get isMapRunning(): boolean {
    return [...this.#cells.values()].some(
      (cell) =>
        cell.status === 'running' &&
        [...cell.steps.values()].some(({ rows, status }) => rows !== undefined && status === 'running'),
    );
  }

  /** Takes what the server says now. `isFresh`: events may be missing, so nothing that was built from them is kept. */
  load(overview: Pick<UiOverview, 'approvals' | 'bridges' | 'now' | 'servers' | 'sessions'>, isFresh: boolean): void {
    this.#loadedAt = Date.parse(overview.now);
    this.bridges = overview.bridges;
    // One that was answered while the overview was on its way no longer waits.
    this.approvals = overview.approvals.filter(({ id }) => !this.answered.some((question) => question.id === id));
    this.servers = overview.servers;
    this.#sessions = new Map(
      overview.sessions.map((session) => {
        const key = sessionKey(session);
        return [key, { ...session, key, state: this.#stateOf(key, session) }];
      }),
    );
    for (const [key, session] of this.#sessions) {
      this.#loadCell(key, session, isFresh);
    }
    for (const key of this.#cells.keys()) {
      if (!this.#sessions.has(key)) {
        this.#cells.delete(key);
      }
    }
  }

  /** What events say of a cell that has begun or ended since the overview was asked for counts. */
  #stateOf(key: string, { cell, state }: UiSession): UiSession['state'] {
    const known = this.#cells.get(key);
    if (known?.status === 'running' && known.startedAt >= this.#loadedAt) {
      return 'running';
    }
    const hasEnded = known !== undefined && known.id === cell?.id && known.durationMs !== undefined;
    return hasEnded && state === 'running' ? 'idle' : state;
  }

  #loadCell(key: string, { cell }: UiSession, isFresh: boolean): void {
    const known = this.#cells.get(key);
    if (cell === undefined) {
      // An overview may be older than the start of a cell, which an event has reported.
      if (known?.status === 'running' && (isFresh || known.startedAt < this.#loadedAt)) {
        known.status = 'ended';
      }
      return;
    }
    const deadlineAt = Date.parse(cell.deadline);
    const pausedMs = cell.paused === true ? deadlineAt - this.#loadedAt : undefined;
    if (known?.id === cell.id && !isFresh) {
      Object.assign(known, { deadlineAt, pausedMs });
      cell.steps?.forEach((step) => setStep(known, step));
      return;
    }
    // Its end was reported after this overview was made.
    if (known?.id === cell.id && known.status !== 'running' && known.status !== 'ended') {
      return;
    }
    const output = new OutputLines();
    output.droppedChars = Math.max(0, cell.output_chars - cell.output.length);
    output.append('stdout', cell.output);
    const calls = cell.calls.map((call): [number, LiveCall] => {
      const startedAt = Date.parse(call.started);
      const endedAt = call.duration_ms === undefined ? undefined : startedAt + call.duration_ms;
      const { call: number, error_code: errorCode, server, status, tool } = call;
      return [number, { call: number, server, tool, status, errorCode, startedAt, endedAt }];
    });
    this.#keep(key, {
      ...newCell(cell.id, cell.code, cell.servers, Date.parse(cell.started)),
      deadlineAt,
      pausedMs,
      output,
      outputChars: cell.output_chars,
      calls: new Map(calls),
      callsLeftOut: Math.max(0, cell.calls_ended + cell.calls_running - calls.length),
      callsEnded: cell.calls_ended,
      callsFailed: cell.calls.filter(({ status }) => status === 'error').length,
      steps: new Map(cell.steps?.map((step) => [step.step, step])),
    });
  }

  #keep(key: string, cell: LiveCell): void {
    this.#cells.delete(key);
    this.#cells.set(key, cell);
    for (const [old, { status }] of this.#cells) {
      if (this.#cells.size > MAX_CELLS && status !== 'running') {
        this.#cells.delete(old);
      }
    }
  }

  apply(event: UiEvent): void {
    switch (event.type) {
      case 'bridge_started':
      case 'session_started':
      case 'session_ended':
      case 'approval_asked':
        this.needsOverview = true;
        break;
      case 'end':
      case 'lost':
        this.needsAll = true;
        break;
      case 'bridge_ended':
        this.#endBridge(event.bridge);
        break;
      case 'approval_answered':
        this.#endQuestion(event);
        break;
      case 'server_state':
        this.#setState(event);
        break;
      case 'cell_started':
      case 'cell_output':
      case 'cell_ended':
      case 'call_started':
      case 'call_ended':
      case 'step_changed':
        this.#applyToCell(event);
        break;
      default:
      // Newer bridges may send other events.
    }
  }

  #endBridge(bridge: string): void {
    const others = <Item extends { bridge: string }>(items: readonly Item[]) =>
      items.filter((item) => item.bridge !== bridge);
    this.bridges = others(this.bridges);
    this.approvals = others(this.approvals);
    this.servers = others(this.servers);
    for (const [key, session] of this.#sessions) {
      if (session.bridge === bridge) {
        this.#sessions.delete(key);
        this.#cells.delete(key);
      }
    }
  }

  #endQuestion(event: Extract<UiEvent, { type: 'approval_answered' }>): void {
    const { action, answered_by: answeredBy, at, id, session } = event;
    this.approvals = this.approvals.filter((approval) => approval.id !== id || approval.bridge !== event.bridge);
    // The time of its cell goes on.
    this.needsOverview = true;
    this.answered = [{ id, session, answeredBy, action, at }, ...this.answered].slice(0, MAX_ANSWERED);
  }

  #setState({ bridge, principal, profile, server, state }: Extract<UiEvent, { type: 'server_state' }>): void {
    const isSame = (each: UiServerState): boolean =>
      each.name === server && each.bridge === bridge && each.principal === principal && each.profile === profile;
    this.needsOverview ||= !this.servers.some(isSame);
    this.servers = this.servers.map((each) => (isSame(each) ? { ...each, state } : each));
  }

  #applyToCell(event: CellEvent): void {
    const key = sessionKey({ ...event, name: event.session });
    if (event.type === 'cell_started') {
      const startedAt = Date.parse(event.at);
      if (this.#cells.get(key)?.id !== event.cell) {
        const cell = newCell(event.cell, event.code, event.servers, startedAt);
        this.#keep(key, { ...cell, deadlineAt: startedAt + event.timeout_ms });
      }
      const session = this.#sessions.get(key);
      if (session === undefined) {
        this.needsOverview = true;
      } else {
        this.#sessions.set(key, { ...session, state: 'running' });
      }
      return;
    }
    const cell = this.#cells.get(key);
    if (cell?.id !== event.cell) {
      return;
    }
    if (event.type === 'cell_output') {
      addOutput(cell, event);
    } else if (event.type === 'cell_ended') {
      this.#endCell(key, cell, event);
    } else if (event.type === 'step_changed') {
      // An overview that had its beginning knows more of its rows.
      if (event.status !== 'running' || !cell.steps.has(event.step)) {
        setStep(cell, event);
      }
    } else {
      applyCall(cell, event);
    }
  }

  #endCell(key: string, cell: LiveCell, event: Extract<UiEvent, { type: 'cell_ended' }>): void {
    cell.status = event.status;
    cell.durationMs = event.duration_ms;
    cell.errorCode = event.error_code;
    const session = this.#sessions.get(key);
    if (session !== undefined) {
      this.#sessions.set(key, { ...session, state: 'idle' });
    }
    // Its variables are known only now.
    this.needsOverview = true;
  }
}

type CellEvent = Extract<
  UiEvent,
  { type: 'call_ended' | 'call_started' | 'cell_ended' | 'cell_output' | 'cell_started' | 'step_changed' }
>;

function newCell(id: string, code: string, servers: readonly string[], startedAt: number): LiveCell {
  return {
    id,
    code,
    servers,
    startedAt,
    deadlineAt: startedAt,
    pausedMs: undefined,
    status: 'running',
    durationMs: undefined,
    errorCode: undefined,
    output: new OutputLines(),
    outputChars: 0,
    calls: new Map(),
    callsLeftOut: 0,
    callsEnded: 0,
    callsFailed: 0,
    steps: new Map(),
    stepsLeftOut: 0,
  };
}

/** An overview may have had the first characters of an event already: counted, so that none is missing and none is there twice. */
function addOutput(cell: LiveCell, event: Extract<UiEvent, { type: 'cell_output' }>): void {
  const { dropped_chars: dropped = 0, from_char: from, stream, text } = event;
  const known = Math.max(0, cell.outputChars - from);
  const missing = Math.max(0, from - cell.outputChars);
  cell.output.droppedChars += missing + Math.max(0, dropped - Math.max(0, known - text.length));
  cell.output.append(stream, text.slice(known));
  cell.outputChars = Math.max(cell.outputChars, from + text.length + dropped);
}

/** A step that has ended stays so: an overview may have been made before. */
function setStep(cell: LiveCell, step: UiStep): void {
  const { steps } = cell;
  if ((steps.get(step.step)?.status ?? 'running') !== 'running') {
    return;
  }
  // In the order in which they end, so that an overview, which has the last ones, brings none back.
  steps.delete(step.step);
  steps.set(step.step, step);
  if (steps.size > MAX_STEPS) {
    const oldest = [...steps.values()].find(({ status }) => status !== 'running') ?? step;
    steps.delete(oldest.step);
    cell.stepsLeftOut += 1;
  }
}

function applyCall(cell: LiveCell, event: Extract<UiEvent, { type: 'call_ended' | 'call_started' }>): void {
  const { call, server, tool } = event;
  const known = cell.calls.get(call);
  if (known !== undefined && known.status !== 'running') {
    // The overview had it already.
    return;
  }
  const at = Date.parse(event.at);
  const isEnd = event.type === 'call_ended';
  if (isEnd) {
    cell.callsEnded += 1;
    cell.callsFailed += event.status === 'error' ? 1 : 0;
  }
  if (known === undefined && cell.calls.size >= MAX_CALLS) {
    cell.callsLeftOut += isEnd ? 0 : 1;
    return;
  }
  cell.calls.set(call, {
    call,
    server,
    tool,
    startedAt: known?.startedAt ?? (isEnd ? at - event.duration_ms : at),
    endedAt: isEnd ? at : undefined,
    status: isEnd ? event.status : 'running',
    errorCode: isEnd ? event.error_code : undefined,
  });
}
