import { expect, it, vi } from 'vitest';
import { createPreparation, type ProgressListener } from '../../../../src/edges/engines/container/preparation.ts';

type Repair = (onProgress: ProgressListener) => Promise<void>;

it('does nothing while no fault is known', async () => {
  const pull = vi.fn<Repair>(async () => undefined);
  await createPreparation({ 'image-missing': pull }).run(() => undefined);
  expect(pull).not.toHaveBeenCalled();
});

it('repairs a recorded fault once, and says when to start again', async () => {
  const pull = vi.fn<Repair>(async () => undefined);
  const preparation = createPreparation({ 'image-missing': pull });
  expect(preparation.note('image-missing')).toBe(true);
  await preparation.run(() => undefined);
  await preparation.run(() => undefined);
  expect(pull).toHaveBeenCalledTimes(1);
});

it('does not start again if a fault comes back after its repair, but repairs it again later', async () => {
  const pull = vi.fn<Repair>(async () => undefined);
  const preparation = createPreparation({ 'image-missing': pull });
  preparation.note('image-missing');
  await preparation.run(() => undefined);
  expect(preparation.note('image-missing')).toBe(false);
  await preparation.run(() => undefined);
  expect(pull).toHaveBeenCalledTimes(2);
});

it('does not start again for a fault without a repair', () => {
  expect(createPreparation({}).note('image-missing')).toBe(false);
  expect(createPreparation({ 'image-missing': async () => undefined }).note('other')).toBe(false);
});

it('shares one repair and its progress among concurrent callers', async () => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const pull = vi.fn<Repair>(async (onProgress) => {
    await finished;
    onProgress({ message: 'half' });
  });
  const preparation = createPreparation({ 'image-missing': pull });
  preparation.note('image-missing');
  const [first, second] = [vi.fn<ProgressListener>(), vi.fn<ProgressListener>()];
  const both = Promise.all([preparation.run(first), preparation.run(second)]);
  finish();
  await both;
  expect(pull).toHaveBeenCalledTimes(1);
  expect(first).toHaveBeenCalledWith({ message: 'half' });
  expect(second).toHaveBeenCalledWith({ message: 'half' });
});

it('keeps a fault if its repair fails, and passes the reason to every caller', async () => {
  const pull = vi.fn<Repair>(async () => {
    throw new Error('no network');
  });
  const preparation = createPreparation({ 'image-missing': pull });
  preparation.note('image-missing');
  await expect(preparation.run(() => undefined)).rejects.toThrow('no network');
  await expect(preparation.run(() => undefined)).rejects.toThrow('no network');
  expect(pull).toHaveBeenCalledTimes(2);
});
