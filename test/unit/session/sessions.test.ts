/** All sessions of a bridge: side by side, in limited number, and ended together. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { CheckpointStore } from '../../../src/core/session/checkpoint-store.ts';
import { type BegunCell, openSessions, settle } from '../../support/fake-session.ts';

vi.mock('../../../src/core/base/limits.ts', async (original) => ({
  ...(await original<object>()),
  MAX_SESSIONS: 2,
}));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('cells of different sessions', () => {
  it('run in parallel, each in its own sandbox', async () => {
    const { begin, engine } = openSessions();
    const a = await begin({ session: 'a' });
    const b = await begin({ session: 'b' });
    expect(engine.sandboxes).toHaveLength(2);
    expect(await b.end()).toMatchObject({ session: 'b', cell: 1 });
    expect(await a.end()).toMatchObject({ session: 'a', cell: 1 });
  });
});

describe('the list of sessions', () => {
  it('has those with a sandbox or a cell, and creates none', async () => {
    const { begin, sessions } = openSessions();
    expect([sessions.list(), await sessions.reset('a')]).toEqual([[], false]);
    const b = await begin({ session: 'b', servers: ['two', 'one'] });
    await (await begin({ session: 'a' })).end();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(sessions.list()).toEqual([
      { name: 'a', engine: expect.any(String), isBusy: false, cells: 1, servers: [], ageMs: 5_000, idleMs: 5_000 },
      {
        name: 'b',
        engine: expect.any(String),
        isBusy: true,
        cells: 1,
        servers: ['one', 'two'],
        ageMs: 5_000,
        idleMs: undefined,
      },
    ]);
    await b.end();
  });
});

// The records of two cells had the same id.
it('a session that was forgotten goes on counting its sandboxes', async () => {
  const { begin, sessions } = openSessions();
  for (let number = 0; number <= 1_000; number += 1) {
    await (await begin({ session: `s${number}` })).end();
    await sessions.reset(`s${number}`);
  }
  await (await begin({ session: 's0' })).end();
  expect(sessions.views()).toMatchObject([{ name: 's0', generation: 2, cells: 1 }]);
});

describe('a reset', () => {
  it('ends the sandbox without a report of lost state, and unloads servers', async () => {
    const { begin, sessions } = openSessions();
    const first = await begin({ session: 'a', servers: ['one'] });
    await first.end({ names: { variables: ['x'], functions: [], imports: [], omitted: 0 } });
    expect(await sessions.reset('a')).toBe(true);
    expect(first.sandbox.kills).toBeGreaterThan(0);
    expect(sessions.list()).toEqual([]);
    expect(await (await begin({ session: 'a' })).end()).toMatchObject({ notices: [], servers: [] });
  });

  it('ends a cell that runs', async () => {
    const { begin, sessions } = openSessions();
    const cell = await begin({ session: 'a' });
    await sessions.reset('a');
    expect(await cell.answer).toMatchObject({
      status: 'error',
      error: { code: 'SESSION_LOST', message: expect.stringContaining('it was reset') },
    });
  });

  it('comes before a cell that wants a session without state', async () => {
    const { begin } = openSessions();
    const first = await begin({ session: 'a' });
    await first.end();
    const second = await begin({ session: 'a', isFresh: true });
    expect([first.sandbox.kills > 0, second.sandbox === first.sandbox]).toEqual([true, false]);
    expect(await second.end()).toMatchObject({ notices: [] });
  });
});

describe('a session above the limit', () => {
  it('ends the one that has been idle longest, whose next answer says so', async () => {
    const { begin } = openSessions();
    const ends = async (cell: BegunCell) => {
      await cell.end();
      await vi.advanceTimersByTimeAsync(1_000);
      return cell.sandbox;
    };
    const a = await ends(await begin({ session: 'a' }));
    const b = await ends(await begin({ session: 'b' }));
    await ends(await begin({ session: 'a' }));
    const c = await ends(await begin({ session: 'c' }));
    expect([a.kills, b.kills > 0, c.kills]).toEqual([0, true, 0]);
    const { notices } = await (await begin({ session: 'b' })).end();
    expect(notices).toEqual([expect.stringMatching(/2 sessions.*idle longest/)]);
  });

  it('is refused, with the names of the others, if all of them run cells', async () => {
    const { begin, run } = openSessions();
    const a = await begin({ session: 'a' });
    await begin({ session: 'b' });
    await expect(run({ session: 'c' })).rejects.toMatchObject({
      code: 'SESSION_LIMIT',
      message: expect.stringContaining('2 sessions'),
      hint: expect.stringContaining('a, b'),
    });
    await a.end();
    await settle();
    expect(await (await begin({ session: 'c' })).end()).toMatchObject({ status: 'success' });
  });

  it('is not one that is live already', async () => {
    const { begin, engine } = openSessions();
    await (await begin({ session: 'a' })).end();
    await begin({ session: 'b' });
    expect(await (await begin({ session: 'a' })).end()).toMatchObject({ cell: 2 });
    expect(engine.sandboxes.map(({ kills }) => kills)).toEqual([0, 0]);
  });
});

describe('a session whose sandbox still starts after its cell was cancelled', () => {
  it('counts towards the limit and is not the one that is ended', async () => {
    const { begin, run, engine } = openSessions();
    engine.isReadyAtOnce = false;
    for (const session of ['a', 'b']) {
      const client = new AbortController();
      const cell = run({ session, signal: client.signal });
      cell.catch(() => undefined);
      await settle();
      client.abort();
      await expect(cell).rejects.toMatchObject({ code: 'CELL_CANCELLED' });
    }
    await expect(run({ session: 'c' })).rejects.toMatchObject({ code: 'SESSION_LIMIT' });
    engine.sandboxes.forEach((sandbox) => sandbox.becomeReady());
    await settle();
    engine.isReadyAtOnce = true;
    expect(await (await begin({ session: 'c' })).end()).toMatchObject({ status: 'success' });
    expect(engine.sandboxes.map(({ kills }) => kills > 0)).toEqual([true, false, false]);
  });
});

describe('a bridge that shuts down', () => {
  it('answers running cells with the reason and ends every sandbox', async () => {
    const { begin, sessions, engine } = openSessions();
    const a = await begin({ session: 'a' });
    await (await begin({ session: 'b' })).end();
    await sessions.close();
    expect(await a.answer).toMatchObject({ error: { code: 'SESSION_LOST' } });
    expect(engine.sandboxes.map(({ kills }) => kills > 0)).toEqual([true, true]);
  });

  it('answers waiting cells like later ones, and starts no sandbox for them', async () => {
    const { begin, run, sessions, engine } = openSessions();
    await begin();
    const waiting = run();
    waiting.catch(() => undefined);
    await sessions.close();
    await expect(waiting).rejects.toMatchObject({ code: 'CELL_CANCELLED', message: 'the bridge is shutting down' });
    expect(engine.sandboxes).toHaveLength(1);
  });

  it('starts no sandbox for a cell that waits for room for its answer', async () => {
    const { run, sessions, engine } = openSessions();
    const room = createDeferred<void>();
    const cell = run({ untilRoom: () => room.promise });
    cell.catch(() => undefined);
    await settle();
    await sessions.close();
    room.resolve();
    await expect(cell).rejects.toMatchObject({ code: 'CELL_CANCELLED' });
    expect(engine.sandboxes).toEqual([]);
  });

  it('refuses later cells', async () => {
    const { run, sessions } = openSessions();
    await sessions.close();
    await expect(run()).rejects.toMatchObject({ code: 'CELL_CANCELLED' });
  });
});

describe('what an earlier bridge left of `default`', () => {
  // With MCP_BRIDGE_PREINSTALL, the bridge is made before the client has said its name, and was that of no client.
  it('is looked for with the first cell, and said again if no one has seen the answer', async () => {
    vi.useRealTimers();
    const root = mkdtempSync(join(tmpdir(), 'left-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const lasting = vi.fn<() => CheckpointStore>(
      () => new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false }),
    );
    const facts = { session: 'default', cell: 1, savedAt: '2026-11-23T12:04:00Z', python: '3.14.0', engine: 'podman' };
    const writer = await lasting().begin('default');
    await writer.commit({ ...facts, variables: 1, files: 0, lost: [], servers: [] });
    lasting.mockClear();
    const store = new CheckpointStore(join(root, 'own'), silentLogger, { isOwn: true });
    const { begin } = openSessions({
      checkpoints: { store, lasting, mode: 'idle', memoryBytes: 1, isTrial: false, leavesDefault: true },
    });
    expect(lasting).not.toHaveBeenCalled();
    const client = new AbortController();
    const unseen = await begin({ signal: client.signal });
    expect(lasting).toHaveBeenCalledOnce();
    client.abort();
    expect((await unseen.end({ outcome: 'interrupted' })).status).toBe('cancelled');
    const notice = expect.stringMatching(/^An earlier state of this session is saved: 1 variable and 0 files/);
    expect((await (await begin()).end()).notices).toEqual([notice]);
    expect((await (await begin()).end()).notices).toEqual([]);
  });
});
