import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/core/session/engine.ts';
import { prepareInTime } from '../../../src/core/session/kernel.ts';

/** An engine of which only `prepare` is used. */
function engineThat(prepare: Engine['prepare']): Engine {
  return { prepare } as Engine;
}

describe('prepareInTime', () => {
  it('waits for a fast engine and reports its progress', async () => {
    const messages: string[] = [];
    const engine = engineThat(async (onProgress) => onProgress({ message: 'pulling', percent: 10 }));
    await prepareInTime(engine, ({ message }) => messages.push(message), 1_000);
    expect(messages).toEqual(['pulling']);
  });

  it('reports the progress of a slow engine, and that it continues', async () => {
    let finish: () => void = () => undefined;
    const engine = engineThat((onProgress) => {
      onProgress({ message: 'pulling python:3.14-slim', percent: 41.6 });
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    await expect(prepareInTime(engine, () => undefined, 10)).rejects.toMatchObject({
      code: 'IMAGE_PULLING',
      message: 'the sandbox is not ready after 0.01 s (pulling python:3.14-slim, 42 %); the preparation continues',
      hint: 'Run the cell again in a minute.',
    });
    finish();
  });

  it('rejects as the engine does, and ignores a rejection that comes too late', async () => {
    const failing = engineThat(() => Promise.reject(new Error('no network')));
    await expect(prepareInTime(failing, () => undefined, 1_000)).rejects.toThrow('no network');
    let fail: (error: Error) => void = () => undefined;
    const late = engineThat(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    await expect(prepareInTime(late, () => undefined, 1)).rejects.toMatchObject({ code: 'IMAGE_PULLING' });
    // An unhandled rejection would fail this run.
    fail(new Error('no network'));
    await nextTurn();
  });
});
