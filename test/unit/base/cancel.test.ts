import { expect, it } from 'vitest';
import { CancelSource, unlessAborted } from '../../../src/core/base/cancel.ts';
import { rejectionOf } from '../../support/upstream.ts';

it('calls each listener once, but none that was removed or added after the abort', () => {
  const source = new CancelSource();
  const calls: string[] = [];
  const note = (name: string) => () => void calls.push(name);
  const goes = note('goes');
  source.signal.addEventListener('abort', note('stays'), { once: true });
  source.signal.addEventListener('abort', goes);
  source.signal.removeEventListener('abort', goes);
  expect(source.signal.aborted).toBe(false);
  source.abort();
  source.abort();
  source.signal.addEventListener('abort', note('late'));
  expect(source.signal.aborted).toBe(true);
  expect(calls).toEqual(['stays']);
});

it('stops waiting, while the promise continues', async () => {
  const controller = new AbortController();
  let finish: (value: string) => void = () => undefined;
  const promise = new Promise<string>((resolve) => {
    finish = resolve;
  });
  const given = rejectionOf(unlessAborted(promise, controller.signal));
  controller.abort();
  expect(await given).toMatchObject({ name: 'AbortError' });
  finish('done');
  expect(await promise).toBe('done');
  await expect(unlessAborted(promise, controller.signal)).rejects.toMatchObject({ name: 'AbortError' });
});
