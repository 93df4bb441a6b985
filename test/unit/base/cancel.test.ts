import { expect, it } from 'vitest';
import { CancelSource } from '../../../src/base/cancel.ts';

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
