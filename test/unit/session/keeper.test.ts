import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import { MAX_NAMED_CHECKPOINTS } from '../../../src/core/base/limits.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { CheckpointStore } from '../../../src/core/session/checkpoint-store.ts';
import { Keeper, type KeeperOptions } from '../../../src/core/session/keeper.ts';
import type { Kernel } from '../../../src/core/session/kernel.ts';
import { SavePace } from '../../../src/core/session/save-pace.ts';
import { pause } from '../../support/pause.ts';

const folder = mkdtempSync(join(tmpdir(), 'bridge-test-keeper-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Its sandbox saves nothing, with success. */
const savingKernel = {
  connection: { checkpoints: { save: async () => ({ ok: true, variables: 1, files: 0, lost: [] }) } },
  engine: { name: 'podman' },
  ready: { python_version: '3.14.0' },
} as unknown as Kernel;

function optionsIn(root: string, lasting: CheckpointStore): KeeperOptions {
  return {
    store: new CheckpointStore(join(root, 'own'), silentLogger, { isOwn: true }),
    lasting,
    mode: 'auto',
    memoryBytes: 1,
    logger: silentLogger,
    isTrial: false,
    leavesDefault: false,
    isBusy: () => false,
    names: () => ['rows'],
  };
}

it('takes a limited number of names, and names those that there are', async () => {
  const store = new CheckpointStore(folder, silentLogger, { isOwn: true });
  const keeper = new Keeper('default', {
    store,
    lasting: store,
    mode: 'auto',
    memoryBytes: 1,
    logger: silentLogger,
    isTrial: false,
    leavesDefault: false,
    isBusy: () => false,
    names: () => ['rows'],
  });
  await expect(keeper.check('restore', 'n0')).rejects.toMatchObject({
    message: "there is no checkpoint 'n0'",
    hint: 'Save one with runtime.checkpoint(NAME).',
  });
  const facts = { session: 'default', cell: 1, savedAt: '2026-11-23T12:04:00Z', python: '3.14.0', engine: 'podman' };
  const writer = await store.begin('default');
  await writer.commit({ ...facts, variables: 0, files: 0, lost: [], servers: [] });
  for (let count = 0; count < MAX_NAMED_CHECKPOINTS; count += 1) {
    await keeper.check('checkpoint', `n${count}`);
    await store.copy('default', `default\nn${count}`);
  }
  await expect(keeper.check('checkpoint', 'one-more')).rejects.toMatchObject({
    code: 'CALL_REFUSED',
    message: `the session has ${MAX_NAMED_CHECKPOINTS} named checkpoints, which is the limit`,
    hint: expect.stringMatching(/^Use one of their names again: .*\bn0\b/),
  });
  await keeper.check('checkpoint', 'n3');
  await keeper.check('restore', 'n3');
  await keeper.check('checkpoint', undefined);
});

// The next bridge offered it again, although the agent had loaded it and then started over.
it('forgets what an earlier bridge left of `default` when the session starts over, and only then', async () => {
  const root = mkdtempSync(join(folder, 'left-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const facts = { session: 'default', cell: 1, savedAt: '2026-11-23T12:04:00Z', python: '3.14.0', engine: 'podman' };
  const writer = await lasting.begin('default');
  await writer.commit({ ...facts, variables: 1, files: 0, lost: [], servers: [] });
  const open = async (name: string): Promise<Keeper> => {
    const keeper = new Keeper('default', {
      store: new CheckpointStore(join(root, name), silentLogger, { isOwn: true }),
      lasting,
      mode: 'auto',
      memoryBytes: 1,
      logger: silentLogger,
      isTrial: false,
      leavesDefault: true,
      isBusy: () => false,
      names: () => ['rows'],
    });
    await keeper.open();
    return keeper;
  };
  await (await open('first')).close(undefined);
  const second = await open('second');
  expect(second.previous).toMatchObject({ variables: 1 });
  void second.forget();
  await second.close(undefined);
  expect((await open('third')).previous).toBeUndefined();
});

it('lets go of a session that is saved, and asks for it again', async () => {
  const root = mkdtempSync(join(folder, 'idle-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const keeper = new Keeper('work', optionsIn(root, lasting));
  await keeper.open();
  await keeper.saveAs(savingKernel, 1, [], undefined);
  expect(keeper.isSaved).toBe(true);
  expect(await lasting.holder('work')).toEqual({ pid: process.pid });
  expect(keeper.isTemporary).toBe(false);

  const [, first] = await Promise.all([keeper.letGo(), keeper.open()]);
  expect(first?.facts).toMatchObject({ cell: 1 });
  await first?.close();
  expect(keeper.heldBy).toBeUndefined();

  await keeper.letGo();
  const other = await lasting.claim('work');
  const copy = await keeper.open();
  await copy?.close();
  expect(keeper.heldBy).toBe(process.pid);
  // An answer said that the session is saved, but no one else ever got it.
  expect(keeper.isTemporary).toBe(true);
  await ('release' in other ? other.release() : undefined);
});

// A checkpoint of the running session that became too old was removed without a word.
it('says once what of its own was removed because of its age', async () => {
  const root = mkdtempSync(join(folder, 'aged-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const keeper = new Keeper('work', optionsIn(root, lasting));
  await keeper.open();
  await keeper.saveAs(savingKernel, 1, [], 'start');
  const key = readdirSync(join(root, 'lasting')).find((name) => name.endsWith('.key')) ?? '';
  const long = new Date('2020-01-02T12:04:00Z');
  utimesSync(join(root, 'lasting', key.replace(/\.key$/, '')), long, long);
  await keeper.saveAs(savingKernel, 2, [], undefined);
  expect(keeper.takeTroubles().removed).toEqual([{ name: 'start', savedAt: long.toISOString() }]);
  expect(keeper.takeTroubles().removed).toEqual([]);
  await keeper.close(undefined);
  const next = new Keeper('work', optionsIn(root, lasting));
  await (await next.open())?.close();
  expect(next.takeTroubles().removed).toEqual([]);
  await next.close(undefined);
});

it('keeps a copy, and leaves the session alone, once another bridge has taken it', async () => {
  const root = mkdtempSync(join(folder, 'taken-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const keeper = new Keeper('work', optionsIn(root, lasting));
  await keeper.open();
  expect(await keeper.saveAs(savingKernel, 1, [], undefined)).toMatchObject({ cell: 1 });
  expect(await lasting.facts('work')).toMatchObject({ cell: 1 });

  const claim = readdirSync(join(root, 'lasting')).find((name) => name.endsWith('.claim')) ?? '';
  const other = { host: 'a:1', pid: 7, started: '1', machine: 'elsewhere', isLease: true };
  writeFileSync(join(root, 'lasting', claim), JSON.stringify(other));
  expect(await keeper.saveAs(savingKernel, 2, [], undefined)).toBe('another bridge has taken the session');
  expect(keeper.heldBy).toBe(7);
  expect(await keeper.saveAs(savingKernel, 3, [], undefined)).toMatchObject({ cell: 3 });
  expect(await lasting.facts('work')).toMatchObject({ cell: 1 });
  await keeper.close(undefined);
  expect(await lasting.holder('work')).toEqual({ pid: 7 });
});

it.each([
  { leavesDefault: false, defaultLasts: true, expected: { cell: 1, holder: true, previous: false } },
  { leavesDefault: true, defaultLasts: false, expected: { cell: undefined, holder: false, previous: true } },
])('treats `default` as a session with a name only if it lasts: $defaultLasts', async ({ expected, ...given }) => {
  const root = mkdtempSync(join(folder, 'default-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const open = (): Keeper => new Keeper('default', { ...optionsIn(root, lasting), ...given });
  const first = open();
  await first.open();
  await first.saveAs(savingKernel, 1, [], undefined);
  expect((await lasting.holder('default')) !== undefined).toBe(expected.holder);
  await first.close(savingKernel);

  const next = open();
  const stored = await next.open();
  await stored?.close();
  expect([stored?.facts.cell, next.previous !== undefined]).toEqual([expected.cell, expected.previous]);
  await next.close(undefined);
});

it('takes no checkpoint by itself while all sessions together have taken their part of the cores', async () => {
  const root = mkdtempSync(join(folder, 'pace-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const pace = new SavePace(2);
  const asked = vi.spyOn(pace, 'begin').mockReturnValueOnce(150).mockReturnValue(0);
  const keeper = new Keeper('work', { ...optionsIn(root, lasting), pace });
  await keeper.open();
  keeper.cellEnded(savingKernel, 1, []);
  await expect.poll(() => asked.mock.results.length).toBe(1);
  expect(keeper.isSaved).toBe(false);
  await expect.poll(() => keeper.saved).toMatchObject({ cell: 1 });
  expect(asked).toHaveBeenCalledTimes(2);

  // Whoever ends a session does not wait.
  asked.mockReturnValue(1_000_000);
  keeper.cellEnded(savingKernel, 2, []);
  await keeper.saveLast(savingKernel);
  expect(keeper.saved).toMatchObject({ cell: 2 });
  await keeper.close(undefined);
});

it('waits at the end of the bridge as long as it may, and no longer', async () => {
  const root = mkdtempSync(join(folder, 'last-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  let answer = (_report: object): void => {};
  const saved = new Promise<object>((resolve) => {
    answer = resolve;
  });
  const slowKernel = { ...savingKernel, connection: { checkpoints: { save: () => saved } } } as unknown as Kernel;
  const open = async (session: string, lastMs: number): Promise<Keeper> => {
    const keeper = new Keeper(session, { ...optionsIn(root, lasting), lastMs });
    await keeper.open();
    keeper.cellEnded(slowKernel, 1, []);
    return keeper;
  };
  const [short, long] = [await open('short', 1), await open('long', 60_000)];
  await short.close(slowKernel);
  expect(short.saved).toBeUndefined();
  const closing = long.close(slowKernel).then(() => long.saved?.cell);
  expect(await Promise.race([closing, pause(100, 'it must still wait')])).toBeUndefined();
  answer({ ok: true, variables: 1, files: 0, lost: [] });
  expect(await closing).toBe(1);
  // What was given up is still written to its end.
  await expect.poll(() => short.saved).toBeDefined();
});

const kernelThat = (save: () => Promise<object>): Kernel =>
  ({ ...savingKernel, connection: { checkpoints: { save } } }) as unknown as Kernel;

// Each cell put the checkpoint off, for as long as they followed each other.
it('saves while cells follow each other after short pauses', async () => {
  const root = mkdtempSync(join(folder, 'pauses-'));
  const keeper = new Keeper(
    'work',
    optionsIn(root, new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false })),
  );
  await keeper.open();
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const asked: object[] = [];
  const kernel = kernelThat((...given: unknown[]) => {
    asked.push(given[0] as object);
    return Promise.resolve(
      asked.length === 1 ? { ok: false, reason: 'a cell came first' } : { ok: true, variables: 1, files: 0, lost: [] },
    );
  });
  for (let cell = 1; asked.length < 2 && cell <= 1_000; cell += 1) {
    keeper.cellComes();
    keeper.cellEnded(kernel, cell, []);
    await vi.advanceTimersByTimeAsync(100);
    // The first one is discarded meanwhile, on a real disk.
    await access(root);
  }
  // One that gave way would give way each time.
  expect(asked.slice(0, 2)).toMatchObject([{ mayBlock: false }, { mayBlock: true }]);
  await keeper.close(undefined);
});

it('says once why a session is not saved, and again if that changes or it was saved meanwhile', async () => {
  const root = mkdtempSync(join(folder, 'failing-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const keeper = new Keeper('work', { ...optionsIn(root, lasting), mode: 'idle' });
  await keeper.open();
  const save = async (cell: number, reason: string | undefined) => {
    keeper.cellRuns(cell);
    const report = reason === undefined ? { ok: true, variables: 1, files: 0, lost: [] } : { ok: false, reason };
    const kernel = kernelThat(async () => report);
    keeper.cellEnded(kernel, cell, []);
    await keeper.saveLast(kernel);
    return keeper.takeTroubles().unsaved;
  };
  expect(await save(1, 'x')).toBe('x');
  expect(await save(2, 'x')).toBeUndefined();
  expect(await save(3, 'y')).toBe('y');
  expect(await save(4, undefined)).toBeUndefined();
  expect(await save(5, 'y')).toBe('y');
  expect(await save(6, 'the sandbox ended')).toBeUndefined();
  await keeper.close(undefined);
  expect([await lasting.noted('work'), (await lasting.facts('work'))?.cell]).toEqual([6, 4]);

  const next = new Keeper('work', optionsIn(root, lasting));
  await (await next.open())?.close();
  expect(next.reached).toBe(6);
  next.cellRuns(7);
  await next.saveAs(savingKernel, 7, [], undefined);
  await next.close(undefined);
  expect(await lasting.noted('work')).toBe(0);
});

// A job had collected 30 values when its session ended for being idle; the next sandbox had the 3 of the last checkpoint.
it('saves once more at the end if work went on beside the cells', async () => {
  const root = mkdtempSync(join(folder, 'goes-on-'));
  let lost: { readonly name: string; readonly reason: string }[] = [{ name: 'collect', reason: 'a background job' }];
  let saves = 0;
  const save = async () => {
    saves += 1;
    return { ok: true, variables: 1, files: 0, lost };
  };
  const kernel = { ...savingKernel, connection: { checkpoints: { save } } } as unknown as Kernel;
  const keeper = new Keeper('work', optionsIn(root, new CheckpointStore(root, silentLogger, { isOwn: false })));
  await keeper.open();
  await keeper.saveAs(kernel, 1, [], undefined);
  lost = [];
  await keeper.saveLast(kernel);
  expect(saves).toBe(2);
  await keeper.saveLast(kernel);
  expect(saves).toBe(2);
  await keeper.close(undefined);
});

// The session ended for it, and its newest state was overwritten with what could not be read.
it.each(['cut', 'changed'])('goes on if the checkpoint to restore was %s', async (how) => {
  const root = mkdtempSync(join(folder, 'damaged-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const keeper = new Keeper('work', optionsIn(root, lasting));
  await keeper.open();
  await keeper.saveAs(savingKernel, 1, [], 'one');
  const key = readdirSync(join(root, 'lasting')).find((name) => name.endsWith('.key')) ?? '';
  const path = join(root, 'lasting', key.slice(0, -'.key'.length));
  const data = readFileSync(path);
  writeFileSync(path, how === 'cut' ? data.subarray(0, -9) : Buffer.concat([Buffer.from('x'), data.subarray(1)]));
  await expect(keeper.check('restore', 'one')).rejects.toMatchObject({
    code: 'CALL_REFUSED',
    message: "the checkpoint 'one' is damaged, so the session goes on as it is",
  });
  await keeper.close(undefined);
});

// Of two bridges in a folder, the one that ended last replaced what the other had left, and no one was told.
it('leaves `default` of each bridge to the next one', async () => {
  const root = mkdtempSync(join(folder, 'both-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const open = async (own: string): Promise<Keeper> => {
    const store = new CheckpointStore(join(root, own), silentLogger, { isOwn: true });
    const keeper = new Keeper('default', { ...optionsIn(root, lasting), store, leavesDefault: true });
    await keeper.open();
    return keeper;
  };
  const [first, second] = [await open('first'), await open('second')];
  await first.saveAs(savingKernel, 7, [], undefined);
  await second.saveAs(savingKernel, 2, [], undefined);
  await first.close(undefined);
  await second.close(undefined);
  const third = await open('third');
  expect((await third.list()).map(({ name, cell }) => [name, cell])).toEqual([
    ['previous-2', 7],
    ['previous', 2],
  ]);
  await third.check('restore', 'previous-2');
  await third.restoreFrom('previous-2');
  expect(third.saved?.cell).toBe(7);
  await third.forget();
  expect(await third.list()).toEqual([]);
  await third.close(undefined);
});

// A full disk had no room for the copy, and the original was removed.
it('keeps `default` where it is if it cannot be left to the next bridge', async () => {
  const root = mkdtempSync(join(folder, 'full-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const options = { ...optionsIn(root, lasting), leavesDefault: true };
  const keeper = new Keeper('default', options);
  await keeper.open();
  await keeper.saveAs(savingKernel, 3, [], undefined);
  rmSync(join(root, 'lasting'), { recursive: true, force: true });
  writeFileSync(join(root, 'lasting'), 'no folder');
  await keeper.close(undefined);
  await options.store.clear();
  expect(await options.store.facts('default')).toMatchObject({ cell: 3 });
});

// The answer said that "process 0" had it, and nothing more was kept.
it('claims its session again if only the claim is gone', async () => {
  const root = mkdtempSync(join(folder, 'emptied-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const keeper = new Keeper('work', optionsIn(root, lasting));
  await keeper.open();
  await keeper.saveAs(savingKernel, 1, [], undefined);
  rmSync(join(root, 'lasting'), { recursive: true });
  expect(await keeper.saveAs(savingKernel, 2, [], undefined)).toMatchObject({ cell: 2 });
  expect(keeper.heldBy).toBeUndefined();
  expect(await lasting.facts('work')).toMatchObject({ cell: 2 });
  await keeper.close(undefined);
});
