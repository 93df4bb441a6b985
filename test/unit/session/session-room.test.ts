/** Several bridges of one process that share the number of sandboxes. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { CheckpointStore } from '../../../src/core/session/checkpoint-store.ts';
import { SessionRoom } from '../../../src/core/session/session-room.ts';
import type { FakeSandbox } from '../../support/fake-sandbox.ts';
import { type BegunCell, openSessions, settle } from '../../support/fake-session.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Ends a cell, and lets time pass. */
async function rest(cell: BegunCell) {
  await cell.end();
  await vi.advanceTimersByTimeAsync(1_000);
  return cell.sandbox;
}

it('an idle session of the bridge with the most sessions makes room, even if another one was idle longer', async () => {
  const room = new SessionRoom(3);
  const [alice, bob] = [openSessions({ room }), openSessions({ room })];
  const ofBob = await rest(await bob.begin({ session: 'x' }));
  const first = await rest(await alice.begin({ session: 'a' }));
  const second = await rest(await alice.begin({ session: 'b' }));
  await rest(await bob.begin({ session: 'y' }));
  expect([ofBob.kills, first.kills > 0, second.kills]).toEqual([0, true, 0]);
});

it('a session that cannot be saved keeps its sandbox if another one can', async () => {
  const nothing = async () => undefined;
  const writer = { commit: nothing, discard: nothing };
  const store = {
    begin: async () => writer,
    removeOld: nothing,
    claim: nothing,
    open: nothing,
  } as unknown as CheckpointStore;
  const { begin } = openSessions({
    room: new SessionRoom(2),
    checkpoints: { store, mode: 'idle', isTrial: true, leavesDefault: false, memoryBytes: 1, lasting: () => store },
  });
  const [huge, small] = [await rest(await begin({ session: 'huge' })), await rest(await begin({ session: 'small' }))];
  await begin({ session: 'new' });
  const answer = async (sandbox: FakeSandbox, report: { readonly ok: boolean; readonly reason?: string }) => {
    await settle();
    const { checkpoint } = sandbox.framesOf('save_checkpoint').at(-1) ?? expect.fail('nothing is saved');
    sandbox.send({ type: 'checkpoint_end', checkpoint, variables: 1, files: 0, lost: [], omitted: 0, ...report });
    await settle();
  };
  await answer(huge, { ok: false, reason: 'it is larger than the limit' });
  await answer(small, { ok: true });
  expect([huge.kills, small.kills > 0]).toEqual([0, true]);
});

it('one bridge has at most its own number, and leaves the sessions of others alone', async () => {
  const room = new SessionRoom(3);
  const [alice, bob] = [openSessions({ room, maxSessions: 1 }), openSessions({ room })];
  const ofBob = await rest(await bob.begin({ session: 'x' }));
  const first = await rest(await alice.begin({ session: 'a' }));
  const second = await alice.begin({ session: 'b' });
  expect([ofBob.kills, first.kills > 0, second.sandbox.kills]).toEqual([0, true, 0]);
  await expect(alice.run({ session: 'c' })).rejects.toMatchObject({
    code: 'SESSION_LIMIT',
    hint: expect.stringContaining('(b)'),
  });
});

it('a refusal names no session of another bridge', async () => {
  const room = new SessionRoom(2);
  const [alice, bob] = [openSessions({ room }), openSessions({ room })];
  await bob.begin({ session: 'secret-project' });
  await bob.begin({ session: 'x' });
  const refused = await alice.run({ session: 'a' }).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'SESSION_LIMIT',
    message: expect.stringContaining('2 sessions of all clients'),
  });
  expect(JSON.stringify(refused) + String(refused)).not.toMatch(/secret-project|\bx\b/);
});

it('a bridge that has ended takes no room', async () => {
  const room = new SessionRoom(1);
  const [alice, bob] = [openSessions({ room }), openSessions({ room })];
  await alice.begin({ session: 'a' });
  await alice.sessions.close();
  expect(await (await bob.begin({ session: 'x' })).end()).toMatchObject({ status: 'success' });
});

it('several bridges of one owner have its number together', async () => {
  const room = new SessionRoom(5);
  const [one, other] = [1, 2].map(() => openSessions({ room, owner: 'alice', maxSessions: 2 }));
  await one?.begin({ session: 'a' });
  await other?.begin({ session: 'b' });
  await expect(other?.run({ session: 'c' })).rejects.toMatchObject({ code: 'SESSION_LIMIT' });
  await expect(one?.run({ session: 'c' })).rejects.toMatchObject({ code: 'SESSION_LIMIT' });
});

it('a sandbox is started ahead only while those of all bridges are fewer than the limit', async () => {
  const room = new SessionRoom(3);
  const standby = { size: 1, take: () => undefined };
  const [alice, bob] = [openSessions({ room, standby }), openSessions({ room })];
  expect(room.hasSpare()).toBe(true);
  await alice.begin({ session: 'a' });
  expect(room.hasSpare()).toBe(true);
  await bob.begin({ session: 'x' });
  expect(room.hasSpare()).toBe(false);
  // No session waits for it.
  await bob.begin({ session: 'y' });
});

/** Sessions that say nothing when they are asked to save themselves, as code can make them do. */
function neverSaved() {
  const nothing = async () => undefined;
  const writer = { commit: nothing, discard: nothing };
  const store = {
    begin: async () => writer,
    removeOld: nothing,
    claim: nothing,
    open: nothing,
  } as unknown as CheckpointStore;
  return { store, mode: 'idle', isTrial: true, leavesDefault: false, memoryBytes: 1, lasting: () => store } as const;
}

it('sandboxes that are being saved count: with them, an owner has at most twice its number', async () => {
  const room = new SessionRoom(4);
  const alice = openSessions({ room, owner: 'alice', maxSessions: 2, checkpoints: neverSaved() });
  const bob = openSessions({ room, owner: 'bob', maxSessions: 2 });
  for (const session of ['a', 'b', 'c', 'd']) {
    await rest(await alice.begin({ session }));
  }
  const waits = alice.begin({ session: 'e' });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(alice.engine.sandboxes).toHaveLength(4);
  // Others do not wait for her.
  await rest(await bob.begin({ session: 'x' }));
  await alice.engine.sandboxes[0]?.kill();
  await settle();
  await rest(await waits);
  expect(alice.engine.sandboxes).toHaveLength(5);
});

it('a cell that waits for the end of other sandboxes is refused after a while', async () => {
  const { begin, run } = openSessions({ room: new SessionRoom(1), checkpoints: neverSaved() });
  await rest(await begin({ session: 'a' }));
  await rest(await begin({ session: 'b' }));
  const refused = run({ session: 'c', timeoutMs: 1_000 }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await refused).toMatchObject({ code: 'SESSION_LIMIT', message: expect.stringContaining('being saved') });
});
