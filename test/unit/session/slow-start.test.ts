/** The start of a sandbox has its own time limit, which depends on the timeout of its cell. */
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createDeferred } from '../../../src/base/deferred.ts';
import type { Engine, Sandbox, SandboxExit } from '../../../src/engines/engine.ts';
import { createHarness } from '../../support/session-harness.ts';

afterEach(() => vi.useRealTimers());

/** A sandbox that sends nothing and ends when it is killed. */
function silentSandbox(onKill: () => void): Sandbox {
  let end: (exit: SandboxExit) => void = () => undefined;
  const exited = new Promise<SandboxExit>((resolve) => {
    end = resolve;
  });
  return {
    id: 'silent',
    stdin: new PassThrough().resume(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    exited,
    async kill() {
      onKill();
      end({ exitCode: undefined, signal: 'SIGKILL' });
    },
  };
}

describe('a sandbox that does not become ready', () => {
  it.each([
    [5_000, 7_000],
    [120_000, 60_000],
  ])('is ended after the timeout of its cell (%i ms)', async (timeoutMs, limitMs) => {
    vi.useFakeTimers();
    const killed = vi.fn<() => void>();
    const started = createDeferred<void>();
    const engine = {
      name: 'podman',
      prepare: async () => undefined,
      async start() {
        started.resolve();
        return silentSandbox(killed);
      },
    } as Partial<Engine> as Engine;
    const harness = await createHarness({ engine });
    const answer = harness.run('print(1)', { timeoutMs }).catch((error: unknown) => error);
    await started.promise;
    await vi.advanceTimersByTimeAsync(0);
    await vi.advanceTimersByTimeAsync(limitMs - 100);
    expect(killed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(100);
    expect(await answer).toMatchObject({
      code: 'SESSION_START_TIMEOUT',
      message: `the sandbox was not ready within ${limitMs / 1000} s`,
    });
    expect(killed).toHaveBeenCalled();
    await harness.close();
  });
});
