/** What a later bridge says of a cell that was cut off, and of answers that no client has taken. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { OpenCell } from '../../../src/core/session/cell-watch.ts';
import { CheckpointStore, sweepCheckpoints } from '../../../src/core/session/checkpoint-store.ts';
import { Keeper } from '../../../src/core/session/keeper.ts';
import type { Kernel } from '../../../src/core/session/kernel.ts';
import { describeUnsaid } from '../../../src/core/session/restored.ts';

const AT = '2026-11-29T07:00:00.000Z';
const folder = mkdtempSync(join(tmpdir(), 'bridge-test-watch-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: new Date(AT) });
});
afterEach(() => {
  vi.useRealTimers();
});

const savingKernel = {
  connection: { checkpoints: { save: async () => ({ ok: true, variables: 1, files: 0, lost: [] }) } },
  engine: { name: 'podman' },
  ready: { python_version: '3.14.0' },
} as unknown as Kernel;

/** A machine on which one bridge runs after the other. */
function setUp() {
  const root = mkdtempSync(join(folder, 'state-'));
  const lasting = new CheckpointStore(join(root, 'lasting'), silentLogger, { isOwn: false });
  const start = async (name: string, session = 'work') => {
    let open: OpenCell | undefined;
    const store = new CheckpointStore(join(root, name), silentLogger, { isOwn: true });
    const keeper = new Keeper(session, {
      store,
      lasting,
      mode: 'auto',
      memoryBytes: 1,
      logger: silentLogger,
      isTrial: false,
      leavesDefault: true,
      isBusy: () => open !== undefined,
      names: () => [],
      openCell: () => open,
      mask: (text) => text.replaceAll('hunter2', '[secret]'),
    });
    await (await keeper.open())?.close();
    const run = (given: Partial<OpenCell> = {}): void => {
      open = { cell: 3, code: 'x', beganAt: Date.now(), waiting: 0, ...given };
      keeper.cellIsNext();
    };
    const end = (): void => {
      open = undefined;
      keeper.cellIsOver();
    };
    return { keeper, store, run, end, said: () => keeper.takeUnsaid().map(describeUnsaid) };
  };
  return { root, lasting, start };
}

/** The disk of a busy machine is slow. */
const PATIENTLY = { interval: 5, timeout: 30_000 };

/** Until the disk has it. */
async function pass(ms: number, isThere: () => Promise<boolean>): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await vi.waitUntil(isThere, PATIENTLY);
}

/** What a process that is killed leaves: claims that no process has. */
function kill(root: string): void {
  vi.clearAllTimers();
  const claims = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.claim'));
  claims.forEach((name) => writeFileSync(join(root, name), '{}'));
}

const CUT_OFF =
  /^Cell 3 of an earlier bridge \(begun [\d :-]+, first line `(.*)`\) was cut off after it had run for at least (.*); (.*)\.$/;

it('a cell that runs when its bridge is killed is reported once, by the next one', async () => {
  const { lasting, root, start } = setUp();
  const first = await start('first');
  await first.keeper.saveAs(savingKernel, 2, [], undefined);
  first.run({ code: '# timeout: 1h\n  login("hunter2")  # slow\nmore' });
  await pass(1_000, async () => (await lasting.unsaid('work')).length > 0);
  await vi.advanceTimersByTimeAsync(12 * 60_000);
  await vi.waitUntil(async () => JSON.stringify(await lasting.unsaid('work')).includes('07:12'), PATIENTLY);
  kill(root);
  const next = await start('next');
  const [sentence = '', ...more] = next.said();
  expect(more).toEqual([]);
  expect(CUT_OFF.exec(sentence)?.slice(1)).toEqual([
    'login("[secret]")  # slow',
    '12 minutes',
    'its session was saved after cell 2',
  ]);
  expect(next.said()).toEqual([]);
  await vi.waitUntil(async () => (await lasting.unsaid('work')).length === 0, PATIENTLY);
});

// It had been said by an answer that nobody got, and never again.
it('is reported again if the next bridge ends before an answer has said it', async () => {
  const { lasting, root, start } = setUp();
  (await start('first')).run();
  await pass(1_000, async () => (await lasting.unsaid('work')).length > 0);
  kill(root);
  (await start('second')).run({ cell: 4, waiting: 2 });
  await pass(1_000, async () => (await lasting.unsaid('work')).length === 2);
  kill(root);
  expect((await start('third')).said()).toEqual([
    expect.stringMatching(CUT_OFF),
    expect.stringMatching(/^Cell 4 .*; nothing of its session was saved\. 2 cells that waited for it did not begin\.$/),
  ]);
});

it('says nothing of a cell that has ended, or was too short to be noted', async () => {
  const { lasting, root, start } = setUp();
  const { end, run } = await start('first');
  run();
  await vi.advanceTimersByTimeAsync(500);
  end();
  await vi.advanceTimersByTimeAsync(60_000);
  run();
  await pass(1_000, async () => (await lasting.unsaid('work')).length > 0);
  end();
  await vi.waitUntil(async () => (await lasting.unsaid('work')).length === 0, PATIENTLY);
  kill(root);
  expect((await start('next')).said()).toEqual([]);
});

it.each(['ended', 'killed'])('of `default` is left to the next bridge, if the one before was %s', async (how) => {
  const { root, start } = setUp();
  const { keeper, run, store } = await start('first', 'default');
  run({ cell: undefined });
  await pass(1_000, async () => (await store.unsaid('default')).length > 0);
  await keeper.keepAnswers(['Cell 2 ended with status success; its call was answered before:\n42']);
  if (how === 'ended') {
    await keeper.close(undefined);
    await store.clear();
  } else {
    kill(root);
    await sweepCheckpoints(root, silentLogger, 1_000_000_000);
  }
  expect((await start('next', 'default')).said()).toEqual([
    'From an earlier bridge: Cell 2 ended with status success; its call was answered before:\n42',
    expect.stringMatching(/^A cell of an earlier bridge \(sent .*\) had not begun when that ended\.$/),
  ]);
  expect(readdirSync(root)).not.toContain('first');
});

it('an answer that was taken after all is not reported', async () => {
  const { root, start } = setUp();
  const { keeper } = await start('first');
  await keeper.keepAnswers(['one', 'two']);
  await keeper.keepAnswers(['two']);
  kill(root);
  expect((await start('next')).said()).toEqual(['From an earlier bridge: two']);
});

it('what comes after the end of the bridge is not noted', async () => {
  const { root, start } = setUp();
  const { keeper, run } = await start('first');
  run();
  await keeper.close(undefined);
  await keeper.keepAnswers(['Cell 3 ended with status error']);
  keeper.cellIsOver();
  kill(root);
  expect((await start('next')).said()).toEqual([expect.stringMatching(CUT_OFF)]);
});
