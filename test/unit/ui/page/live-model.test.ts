/** The page's picture of running bridges, from an overview and the events since. */
import { beforeEach, describe, expect, it } from 'vitest';
import { LiveModel, sessionKey } from '../../../../src/record/ui/page/live-model.ts';
import type { UiEvent, UiOverview, UiSession, UiStep } from '../../../../src/record/ui/schema.ts';

const NOW = '2026-11-27T10:00:00.000Z';
const after = (ms: number): string => new Date(Date.parse(NOW) + ms).toISOString();
const B = 'b1';
const KEY = sessionKey({ bridge: B, name: 'default' });
const CELL = 'b1/default/1/4';

const SESSION: UiSession = {
  bridge: B,
  name: 'default',
  state: 'idle',
  generation: 1,
  cells: 3,
  waiting: 0,
  servers: [],
  names: [],
};
const RUNNING: NonNullable<UiSession['cell']> = {
  id: CELL,
  code: 'print(1)',
  servers: ['files'],
  started: after(-1_000),
  deadline: after(29_000),
  output: 'two\n',
  output_chars: 8,
  calls: [{ call: 1, server: 'files', tool: 'read', started: after(-500), status: 'running' }],
  calls_running: 1,
  calls_ended: 0,
};

function overview(
  ...sessions: UiSession[]
): Pick<UiOverview, 'approvals' | 'bridges' | 'now' | 'servers' | 'sessions'> {
  return {
    now: NOW,
    bridges: [],
    approvals: [{ bridge: B, id: 'q', session: 'default', asked: NOW, mode: 'form', message: 'May it?' }],
    servers: [{ bridge: B, name: 'files', state: 'idle', in_flight: 0, calls: 0, failed: 0 }],
    sessions,
  };
}

const of = { bridge: B, session: 'default', cell: CELL };
const START: UiEvent = { type: 'cell_started', at: after(100), ...of, code: 'x', servers: [], timeout_ms: 30_000 };

let model: LiveModel;
beforeEach(() => {
  model = new LiveModel();
  model.load(overview(SESSION), true);
});

const print = (text: string, from = 0, dropped = 0): UiEvent => ({
  type: 'cell_output',
  at: after(200),
  ...of,
  stream: 'stdout',
  from_char: from,
  text,
  ...(dropped > 0 && { dropped_chars: dropped }),
});
const call = (number: number, ms = 200): UiEvent => ({
  type: 'call_started',
  at: after(ms),
  ...of,
  call: number,
  server: 's',
  tool: 't',
});
const callEnd = (number: number, status: 'ok' | 'error' = 'ok'): UiEvent => ({
  type: 'call_ended',
  at: after(300),
  ...of,
  call: number,
  server: 's',
  tool: 't',
  status,
  duration_ms: 100,
});

describe('a cell', () => {
  it('is shown from its start to its end', () => {
    for (const event of [START, print('a\nb'), call(1), callEnd(1, 'error'), print('c\n', 3)]) {
      model.apply(event);
    }
    expect(model.session(KEY)?.state).toBe('running');
    expect(model.cell(KEY)).toMatchObject({ status: 'running', callsEnded: 1, callsFailed: 1 });
    expect(model.cell(KEY)?.output.lines.map(({ text }) => text)).toEqual(['a', 'bc']);
    expect(model.needsOverview).toBe(false);
    model.apply({ type: 'cell_ended', at: after(400), ...of, status: 'success', duration_ms: 300 });
    expect(model.session(KEY)?.state).toBe('idle');
    expect(model.cell(KEY)).toMatchObject({ status: 'success', durationMs: 300 });
    expect(model.needsOverview).toBe(true);
  });

  it('that runs already comes with the end of its output and its calls', () => {
    model.load(overview({ ...SESSION, state: 'running', cell: RUNNING }), true);
    const cell = model.cell(KEY);
    expect(cell?.output).toMatchObject({ droppedChars: 4, lines: [{ text: 'two' }] });
    expect([...(cell?.calls.values() ?? [])]).toMatchObject([{ tool: 'read', endedAt: undefined }]);
  });

  it('does not get twice what the overview had', () => {
    model.load(overview({ ...SESSION, state: 'running', cell: RUNNING }), true);
    model.apply(print('two\n', 4));
    model.apply(print('three\n', 8));
    expect(model.cell(KEY)?.output.lines.map(({ text }) => text)).toEqual(['two', 'three']);
  });

  it('gets the rest of an event whose beginning the overview had, and counts what no one has sent', () => {
    model.load(overview({ ...SESSION, state: 'running', cell: RUNNING }), true);
    // Both may have the time of the overview, so times cannot tell them apart.
    model.apply(print('one\ntwo\nthree\n', 0));
    expect(model.cell(KEY)?.output.lines.map(({ text }) => text)).toEqual(['two', 'three']);
    expect(model.cell(KEY)?.output.droppedChars).toBe(4);
    model.apply(print('five\n', 19, 100));
    expect(model.cell(KEY)?.output.droppedChars).toBe(109);
    model.apply(print('six\n', 124));
    expect(model.cell(KEY)?.output.lines.at(-1)?.text).toBe('six');
    expect(model.cell(KEY)?.output.droppedChars).toBe(109);
  });

  it('keeps its output when the overview is read again, unless events are missing', () => {
    model.apply(START);
    model.apply(print('one\ntwo\n'));
    const again = overview({ ...SESSION, state: 'running', cell: RUNNING });
    model.load(again, false);
    expect(model.cell(KEY)?.output.lines).toHaveLength(2);
    model.load(again, true);
    expect(model.cell(KEY)?.output.lines).toHaveLength(1);
  });

  it('that ended while the connection was lost no longer runs', () => {
    model.load(overview({ ...SESSION, state: 'running', cell: RUNNING }), true);
    model.load(overview(SESSION), true);
    expect(model.cell(KEY)?.status).toBe('ended');
  });

  it('that began after an overview was made still runs', () => {
    model.apply(START);
    model.load(overview(SESSION), false);
    expect(model.cell(KEY)?.status).toBe('running');
    // It said "idle", without a button to interrupt the cell.
    expect(model.session(KEY)?.state).toBe('running');
  });

  it('that ended while the overview was on its way no longer runs', () => {
    model.apply(START);
    model.apply({ type: 'cell_ended', at: after(400), ...of, status: 'success', duration_ms: 300 });
    model.load(overview({ ...SESSION, state: 'running', cell: RUNNING }), false);
    expect(model.session(KEY)?.state).toBe('idle');
    expect(model.cell(KEY)?.status).toBe('success');
  });

  it('shows at most 5,000 calls and counts the others', () => {
    model.apply(START);
    for (let number = 1; number <= 5_010; number += 1) {
      model.apply(call(number));
    }
    expect(model.cell(KEY)?.calls.size).toBe(5_000);
    expect(model.cell(KEY)?.callsLeftOut).toBe(10);
  });

  describe('in steps', () => {
    const step = (number: number, changes: Partial<UiStep> = {}): UiStep => ({
      step: number,
      name: 'load',
      after: [],
      started: after(200),
      status: 'running',
      ...changes,
    });
    const changed = (...args: Parameters<typeof step>): UiEvent => ({
      type: 'step_changed',
      at: after(200),
      ...of,
      ...step(...args),
    });
    const running = (...steps: UiStep[]) => overview({ ...SESSION, state: 'running', cell: { ...RUNNING, steps } });
    const steps = () => [...(model.cell(KEY)?.steps.values() ?? [])].toSorted((a, b) => a.step - b.step);

    it('shows each from its beginning to its end', () => {
      for (const event of [
        START,
        changed(1),
        changed(2, { after: [1] }),
        changed(1, { status: 'ok', duration_ms: 5 }),
      ]) {
        model.apply(event);
      }
      expect(steps()).toMatchObject([
        { status: 'ok', duration_ms: 5 },
        { after: [1], status: 'running' },
      ]);
    });

    it('takes them and the rows of a map from the overview, and asks for it while a map runs', () => {
      model.load(running(step(1), step(2, { rows: 9, rows_ended: 3 })), true);
      expect([steps().length, model.isMapRunning]).toEqual([2, true]);
      model.load(running(step(1), step(2, { rows: 9, rows_ended: 5, rows_failed: 1 })), false);
      // Its beginning, which the overview already had, does not set its rows back.
      model.apply(changed(2, { rows: 9, rows_ended: 0 }));
      expect(steps()[1]).toMatchObject({ rows_ended: 5, rows_failed: 1 });
      model.apply(changed(2, { rows: 9, rows_ended: 9, status: 'ok', duration_ms: 7 }));
      expect([steps()[1]?.status, model.isMapRunning]).toEqual(['ok', false]);
    });

    it('leaves a step ended that an earlier overview says runs', () => {
      model.load(running(step(1)), true);
      model.apply(changed(1, { status: 'error', exception: 'KeyError' }));
      model.load(running(step(1)), false);
      expect(steps()).toMatchObject([{ status: 'error' }]);
    });

    it('keeps 2,000, with all that run and the last to end, and counts the others once', () => {
      model.apply(START);
      model.apply(changed(1));
      model.apply(changed(2));
      for (let number = 3; number <= 2_010; number += 1) {
        model.apply(changed(number, { status: 'ok' }));
      }
      const last = [2, 2_011].map((number) => step(number, { status: 'ok' }));
      for (const { step: number } of last) {
        model.apply(changed(number, { status: 'ok' }));
      }
      // It has the last to end, and brings none back.
      model.load(running(step(1), ...last), false);
      const numbers = steps().map((each) => each.step);
      expect([numbers.length, ...numbers.slice(0, 3)]).toEqual([2_000, 1, 2, 14]);
      expect(model.cell(KEY)?.stepsLeftOut).toBe(11);
    });
  });

  it('ignores events of another cell', () => {
    model.apply(START);
    model.apply({ ...print('x'), cell: 'b1/default/1/3' } as UiEvent);
    expect(model.cell(KEY)?.output.lines).toEqual([]);
  });
});

it('forgets a bridge that has ended, with all that is its own', () => {
  model.apply({ type: 'bridge_ended', at: NOW, bridge: B });
  expect([model.sessions, model.approvals, model.servers]).toEqual([[], [], []]);
});

it('removes an answered question at once, and says who answered', () => {
  model.apply({
    type: 'approval_answered',
    at: NOW,
    bridge: B,
    session: 'default',
    id: 'q',
    answered_by: 'client',
    action: 'decline',
  });
  expect(model.approvals).toEqual([]);
  expect(model.answered).toMatchObject([{ answeredBy: 'client', action: 'decline' }]);
  // An overview that was asked for before does not bring it back.
  model.load(overview(SESSION), false);
  expect(model.approvals).toEqual([]);
});

it('sets the state of a server, and asks for one that it does not know', () => {
  model.apply({ type: 'server_state', at: NOW, bridge: B, server: 'files', state: 'ready' });
  expect(model.servers).toMatchObject([{ name: 'files', state: 'ready' }]);
  expect(model.needsOverview).toBe(false);
  model.apply({ type: 'server_state', at: NOW, bridge: B, server: 'new', state: 'ready' });
  expect(model.needsOverview).toBe(true);
});

it('asks for everything after lost events', () => {
  model.apply({ type: 'lost', at: NOW, bridge: B, events: 3 });
  expect(model.needsAll).toBe(true);
});

it('ignores events that only newer bridges send', () => {
  model.apply({ type: 'eclipse', at: NOW, bridge: B } as unknown as UiEvent);
  expect(model.sessions).toHaveLength(1);
});

it('keeps sessions of the same name apart', () => {
  model.load(overview(SESSION, { ...SESSION, principal: 'ann' }, { ...SESSION, bridge: 'b2' }), true);
  expect(new Set(model.sessions.map(({ key }) => key)).size).toBe(3);
});

describe('a session that waits for a person', () => {
  const asking = { ...SESSION, state: 'running', questions: 1, cell: { ...RUNNING, paused: true } } as const;

  it('says so until the answer, and its time stands still', () => {
    model.load(overview(asking), false);
    const session = model.session(KEY);
    expect([session && model.isAsking(session), model.cell(KEY)?.pausedMs]).toEqual([true, 29_000]);
    model.needsOverview = false;
    model.apply({
      type: 'approval_answered',
      at: after(1),
      bridge: B,
      session: 'default',
      id: 'q',
      answered_by: 'client',
    });
    expect([session && model.isAsking(session), model.needsOverview]).toEqual([false, true]);
    model.load({ ...overview({ ...SESSION, state: 'running', cell: RUNNING }), approvals: [] }, false);
    expect(model.cell(KEY)?.pausedMs).toBeUndefined();
  });
});
