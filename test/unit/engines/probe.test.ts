import { expect, it } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { Engine, EngineName } from '../../../src/core/session/engine.ts';
import { createFailoverEngine } from '../../../src/edges/engines/failover.ts';
import { settleEngine } from '../../../src/edges/engines/probe.ts';
import { FakeSandbox } from '../../support/fake-sandbox.ts';

/** An engine on which plain sandboxes end with a code, and no builder starts. */
function fakeEngine(name: EngineName, exitCode: number): Engine {
  return {
    name,
    description: name,
    isolation: 'none',
    canBuild: true,
    prepare: async () => undefined,
    async start({ isBuilder = false }) {
      const sandbox = new FakeSandbox({ isPreloaded: false });
      sandbox.exit({ exitCode: isBuilder ? 125 : exitCode, signal: undefined });
      return sandbox;
    },
    explainStartFailure: () => new BridgeError('ENGINE_FAILED', `${name} failed`),
    sweep: async () => 0,
  };
}

/** Returns the error. */
async function failBuilder(engine: Engine): Promise<BridgeError> {
  const sandbox = await engine.start({ command: ['python3'], session: 'packages', isBuilder: true });
  return engine.explainStartFailure(sandbox, await sandbox.exited, '');
}

// It once made the bridge go on with Docker, whose store is another one.
it.each(['docker', 'bubblewrap'] as const)(
  'a builder that cannot start does not change the engine to %s',
  async (next) => {
    const engine = createFailoverEngine([fakeEngine('podman', 0), fakeEngine(next, 0)], [], silentLogger);
    for (const work of [async () => undefined, () => settleEngine(engine)]) {
      await work();
      expect(await failBuilder(engine)).toMatchObject({ message: 'podman failed', data: {} });
      expect(engine.name).toBe('podman');
    }
  },
);

it('goes on to the next engine, and rejects with all reasons if none works', async () => {
  const engine = createFailoverEngine([fakeEngine('podman', 125), fakeEngine('bubblewrap', 0)], [], silentLogger);
  await settleEngine(engine);
  expect(engine.name).toBe('bubblewrap');

  const broken = createFailoverEngine([fakeEngine('podman', 125), fakeEngine('docker', 125)], [], silentLogger);
  await expect(settleEngine(broken)).rejects.toThrow('no engine can be used (podman failed; docker failed)');
});
