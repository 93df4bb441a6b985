import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { MAX_NAMED_CHECKPOINTS } from '../../../src/base/limits.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { CheckpointStore } from '../../../src/session/checkpoint-store.ts';
import { Keeper } from '../../../src/session/keeper.ts';

const folder = mkdtempSync(join(tmpdir(), 'bridge-test-keeper-'));
afterAll(() => rmSync(folder, { recursive: true }));

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
