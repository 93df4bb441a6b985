/** What `top` shows, in terminals of any size, and whatever names and output contain. */
import { expect, it } from 'vitest';
import { renderTop, type ShownBridge, type TopView } from '../../../src/record/live/top-view.ts';
import { readFences } from '../../support/documented-samples.ts';

const NOW = Date.parse('2026-11-26T00:01:00Z');
const VIEW: TopView = {
  columns: 100,
  rows: undefined,
  selected: undefined,
  hasColors: false,
  footer: undefined,
  now: NOW,
};

function bridge(more: Partial<ShownBridge> = {}): ShownBridge {
  return {
    pid: 42,
    version: '1',
    started: '2026-11-26T00:00:00Z',
    transport: 'stdio',
    client: 'claude-code',
    memory_bytes: 1,
    folder: '/work',
    state_dir: '/state',
    settings: {
      runtime: 'auto',
      memory_bytes: 1,
      timeout_seconds: 30,
      idle_seconds: 1,
      max_sessions: 16,
      checkpoint: 'auto',
      audit: 'on',
    },
    servers: [],
    approvals: [],
    sessions: [
      {
        name: 'default',
        state: 'running',
        engine: 'podman',
        generation: 1,
        cells: 7,
        waiting: 0,
        servers: [],
        age_ms: 200_000,
        variables: 12,
        names: [],
        cell: {
          id: 'b/default/1/7',
          code: 'import time\nfor i in range(3):\n    work(i)\n    time.sleep(1)\nprint("a")\nprint("b")\n',
          servers: ['files'],
          started: '2026-11-26T00:00:55Z',
          deadline: '2026-11-26T00:01:25Z',
          output: 'one\ntwo\n',
          output_chars: 8,
          calls: [
            { call: 1, server: 'files', tool: 'read', started: '2026-11-26T00:00:55Z', status: 'ok', duration_ms: 40 },
            { call: 2, server: 'files', tool: 'list', started: '2026-11-26T00:00:59Z', status: 'running' },
          ],
          calls_running: 1,
          calls_ended: 1,
        },
      },
      {
        name: 'old',
        state: 'hibernated',
        generation: 2,
        cells: 3,
        waiting: 0,
        servers: [],
        names: [],
      },
    ],
    ...more,
  };
}

it('sessions, then what runs', () => {
  expect(renderTop([bridge()], VIEW)).toEqual([
    '1 bridge, 2 sessions, 1 cell running, 1 call running',
    'BRIDGE  CLIENT       SESSION  STATE       ENGINE  AGE    VARS  CELL         CALLS',
    '42      claude-code  default  running     podman  3 min  12    7 for 5.0 s  1 of 2',
    '42      claude-code  old      hibernated                       3',
    '',
    'Session default of bridge 42: cell b/default/1/7, deadline in 25.0 s',
    '  | import time',
    '  | for i in range(3):',
    '  |     work(i)',
    '  |     time.sleep(1)',
    '  | … 2 more lines',
    '    files.read  ok  40 ms',
    '    files.list  running  1.0 s',
    '  > one',
    '  > two',
  ]);
});

it('is what the documentation shows', () => {
  const [session, old] = bridge().sessions;
  const cell = session?.cell && {
    ...session.cell,
    id: '9f2c61d0-5b1e/default/1/7',
    code: 'for issue in issues:\n    await mcp_github.create_issue(**issue)\n',
    output: '13 of 40\n14 of 40\n'.slice(9),
    calls: session.cell.calls.map((call) => ({ ...call, server: 'github', tool: 'create_issue' })),
  };
  const [first, second] = cell?.calls ?? [];
  const shown = [
    bridge({
      pid: 4242,
      sessions: [
        { ...session, cell: { ...cell, calls: [{ ...first, duration_ms: 412 }, second] } },
        { ...old, name: 'report' },
      ] as ShownBridge['sessions'],
    }),
    bridge({
      pid: 4310,
      client: 'cursor',
      sessions: [
        { ...session, state: 'idle', age_ms: 3_700_000, variables: 4, cells: 22, cell: undefined },
      ] as ShownBridge['sessions'],
    }),
  ];
  expect(renderTop(shown, VIEW).join('\n')).toBe(readFences('docs/live.md', 'text')[0]?.trimEnd());
});

it('nothing runs', () => {
  expect(renderTop([], VIEW)).toEqual(['No bridge runs on this state directory, or none has been used yet.']);
  expect(renderTop([bridge({ sessions: [] })], VIEW)).toEqual([
    '1 bridge, 0 sessions, 0 cells running, 0 calls running',
  ]);
});

it('a question that waits', () => {
  const approvals = [
    { id: 'x', session: 'default', asked: '', mode: 'form', message: 'Code wants to call a tool.\n\nTool: x' } as const,
  ];
  const lines = renderTop([bridge({ approvals, sessions: [] })], VIEW);
  expect(lines[0]).toContain('1 question waits for a person');
  expect(lines[1]).toBe('? Session default of bridge 42: Code wants to call a tool.');
});

it('a session that waits for a person, whose time stands still', () => {
  const [session, old] = bridge().sessions;
  const cell = session?.cell && { ...session.cell, paused: true as const };
  const lines = renderTop(
    [bridge({ sessions: [{ ...session, questions: 1, cell }, old] as ShownBridge['sessions'] })],
    VIEW,
  );
  expect(lines[2]).toContain('default  waits for you  podman');
  expect(lines[5]).toBe('Session default of bridge 42: cell b/default/1/7, deadline paused with 25.0 s left');
});

it.each([20, 40, 60, 80, 200])('no line is longer than a terminal of %i columns', (columns) => {
  for (const selected of [undefined, 0, 1]) {
    const lines = renderTop([bridge()], { ...VIEW, columns, selected, footer: 'up/down choose, q quit' });
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
  }
});

it('a narrow terminal keeps the session and its state', () => {
  const lines = renderTop([bridge()], { ...VIEW, columns: 39 });
  expect(lines.slice(1, 3)).toEqual(['SESSION  STATE       CELL', 'default  running     7 for 5.0 s']);
});

it.each([5, 8, 24])('fits in %i rows, and the chosen session can be seen', (rows) => {
  const sessions = Array.from({ length: 50 }, (_, index) => ({
    name: `s${index}`,
    state: 'idle' as const,
    generation: 1,
    cells: 1,
    waiting: 0,
    servers: [],
    names: [],
  }));
  for (const selected of [0, 20, 49]) {
    const lines = renderTop([bridge({ sessions })], { ...VIEW, rows, selected, footer: 'keys' });
    expect([lines.length, lines.at(-1)]).toEqual([rows, 'keys']);
    expect(lines.find((line) => line.startsWith('> '))).toContain(` s${selected} `);
  }
});

it('hostile names, code and output cannot control the terminal', () => {
  const evil = '\u001b[2J\u001b]0;owned\u0007\u202e\r\n\u009b31mX';
  const [session] = bridge().sessions;
  const cell = session?.cell && {
    ...session.cell,
    code: evil,
    output: evil,
    calls: session.cell.calls.map((call) => ({ ...call, server: evil, tool: evil })),
  };
  const approvals = [{ id: 'x', session: evil, asked: '', mode: 'form', message: evil } as const];
  const hostile = bridge({
    client: evil,
    approvals,
    sessions: session === undefined ? [] : [{ ...session, ...(cell && { cell }), name: evil, engine: evil }],
  });
  for (const columns of [30, 100, 1_000]) {
    const lines = renderTop([hostile], { ...VIEW, columns, footer: `done for ${evil}` });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
    expect(lines.filter((line) => /[\u0000-\u001f\u007f-\u009f\u202e]/.test(line))).toEqual([]);
  }
});

it('colors are the only control sequences', () => {
  const lines = renderTop([bridge()], { ...VIEW, selected: 0, hasColors: true, footer: 'keys' });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
  const found = lines.join('').match(/\u001b\[[^m]*m/g);
  expect(new Set(found)).toEqual(new Set(['\u001b[1m', '\u001b[7m', '\u001b[2m', '\u001b[0m']));
});
