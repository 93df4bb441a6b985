import { afterEach, expect, it } from 'vitest';
import { afterAttentiveMs } from '../../../src/core/base/attentive-timer.ts';
import { pause } from '../../support/pause.ts';

const WAIT_MS = 60;
let stop: (() => void) | undefined;
afterEach(() => stop?.());

/** Starts the timer; resolves with the milliseconds until it acts. */
function acts(): Promise<number> {
  const began = performance.now();
  return new Promise((resolve) => {
    stop = afterAttentiveMs(WAIT_MS, () => resolve(performance.now() - began));
  });
}

function standStill(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    // Nothing else may run.
  }
}

it('acts after its time', async () => {
  expect(await acts()).toBeGreaterThanOrEqual(WAIT_MS - 1);
});

it('begins again if this process stood still meanwhile', async () => {
  const acted = acts();
  standStill(WAIT_MS + 200);
  expect(await acted).toBeGreaterThanOrEqual(WAIT_MS + 200 + WAIT_MS - 1);
});

it('acts at last, even if this process always stands still', async () => {
  const acted = acts();
  const standing = setInterval(() => standStill(WAIT_MS + 150), 1);
  expect(await acted).toBeGreaterThan(4 * WAIT_MS);
  clearInterval(standing);
});

it('does not act once it is stopped', async () => {
  let hasActed = false;
  stop = afterAttentiveMs(WAIT_MS, () => {
    hasActed = true;
  });
  await pause(WAIT_MS - 5, 'stopped just before its time');
  stop();
  await pause(2 * WAIT_MS, 'it must not act');
  expect(hasActed).toBe(false);
});
