/** `top` in a terminal: keys, the screen and its end. The bridge is an API on a real socket. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { QuestionQueue } from '../../../src/features/waiting-questions/question-queue.ts';
import { EventStreams } from '../../../src/record/live/event-streams.ts';
import { listenLocally } from '../../../src/record/live/listen.ts';
import { top } from '../../../src/record/live/top.ts';
import type { WatchedBridge } from '../../../src/record/live/watched-bridge.ts';
import type { LiveSession } from '../../../src/record/local-api/schema.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) {
    await close();
  }
});

const session = (name: string): LiveSession => ({
  name,
  state: 'idle',
  generation: 1,
  cells: 1,
  waiting: 0,
  servers: [],
  names: [],
});

/** A bridge with two sessions that notes what it is asked, and `top` at a terminal of 60 columns. */
async function open(env: Record<string, string> = {}) {
  const stateDir = mkdtempSync(join(tmpdir(), 'top-'));
  closing.push(() => rmSync(stateDir, { recursive: true, force: true }));
  const settings = loadSettings({ HOME: stateDir, MCP_BRIDGE_STATE_DIR: stateDir });
  const done: string[] = [];
  const bridge: Partial<WatchedBridge> = {
    whose: {},
    client: 'tests',
    sessions: () => [session('first'), session('second')],
    approvals: () => [],
    servers: () => [],
    interrupt: (name) => done.push(`interrupt ${name}`) > 0,
    end: async (name) => done.push(`end ${name}`) > 0,
    hibernate: async () => false,
  };
  const waiting = new QuestionQueue(stateDir);
  const parts = {
    settings,
    startedAt: 0,
    transport: 'stdio',
    bridges: () => [bridge as WatchedBridge],
    waiting,
  } as const;
  const api = await listenLocally(parts, new EventStreams());
  closing.push(() => api.close());
  const raw: boolean[] = [];
  const input = Object.assign(new PassThrough(), { setRawMode: (is: boolean) => raw.push(is) });
  const screen = { text: '' };
  const options = {
    env,
    input,
    settings,
    hasColors: false,
    isShown: true,
    screenSize: () => ({ columns: 60, rows: 10 }),
    writeOut: (text: string) => {
      screen.text += text;
    },
  };
  const press = async (keys: string, shown: string): Promise<void> => {
    screen.text = '';
    input.write(keys);
    await expect.poll(() => screen.text, { timeout: 10_000 }).toContain(shown);
  };
  return { done, input, options, press, raw, screen };
}

const LINE = { command: 'top', isOnce: false, isJson: false } as const;

it('keys choose a session and act on it; ending one needs a yes', async () => {
  const { done, input, options, press, raw, screen } = await open();
  const ended = top(LINE, options);
  await expect.poll(() => screen.text, { timeout: 10_000 }).toContain('> ');
  expect(screen.text).toContain('\u001b[?1049h');
  await press('\u001b[B', '> ');
  await press('i', 'interrupt: done for session second');
  await press('e', 'y ends session second');
  await press('n', 'up/down choose');
  await press('e', 'y ends session second');
  await press('y', 'end: done for session second');
  await press('\u001b[Ah', "The session 'first' was not let go.");
  input.write('q');
  expect(await ended).toBe(0);
  expect([done, raw]).toEqual([
    ['interrupt second', 'end second'],
    [true, false],
  ]);
  expect(screen.text.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

it.each([
  ['a dumb terminal', { TERM: 'dumb' }, LINE],
  ['--once', {}, { ...LINE, isOnce: true }],
])('prints plain text once: %s', async (_, env, line) => {
  const { options, raw, screen } = await open(env);
  expect(await top(line, options)).toBe(0);
  expect(screen.text).toMatch(/^1 bridge, 2 sessions, [^\u001b]*\n$/);
  expect(raw).toEqual([]);
});

it('prints one JSON object', async () => {
  const { options, screen } = await open();
  expect(await top({ ...LINE, isJson: true }, { ...options, isShown: false })).toBe(0);
  expect(JSON.parse(screen.text)).toMatchObject({
    bridges: [{ pid: process.pid, client: 'tests', sessions: [{ name: 'first' }, { name: 'second' }] }],
  });
});
