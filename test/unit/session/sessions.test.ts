/** All sessions of a bridge: side by side, in limited number, and ended together. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type BegunCell, openSessions, settle } from '../../support/fake-session.ts';

vi.mock('../../../src/base/limits.ts', async (original) => ({
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

describe('a bridge that shuts down', () => {
  it('answers running cells with the reason and ends every sandbox', async () => {
    const { begin, sessions, engine } = openSessions();
    const a = await begin({ session: 'a' });
    await (await begin({ session: 'b' })).end();
    await sessions.close();
    expect(await a.answer).toMatchObject({ error: { code: 'SESSION_LOST' } });
    expect(engine.sandboxes.map(({ kills }) => kills > 0)).toEqual([true, true]);
  });

  it('refuses later cells', async () => {
    const { run, sessions } = openSessions();
    await sessions.close();
    await expect(run()).rejects.toMatchObject({ code: 'CELL_CANCELLED' });
  });
});
