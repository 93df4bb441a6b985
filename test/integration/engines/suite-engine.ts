/** Engines for one test each. */
import { onTestFinished } from 'vitest';
import type { ContainerEngineOptions } from '../../../src/engines/container-engine.ts';
import type { Engine } from '../../../src/engines/engine.ts';
import type { TestEngine } from '../../support/engines.ts';

let nextInstance = 0;

/** An engine with an instance id of its own, of which nothing is left when the test ends. */
export function createSuiteEngine(
  testEngine: TestEngine,
  options: Partial<ContainerEngineOptions> = {},
): { engine: Engine; instanceId: string } {
  nextInstance += 1;
  const instanceId = `suite-${process.pid}-${nextInstance}`;
  const engine = testEngine.create({ instanceId, ...options });
  onTestFinished(async () => {
    await engine.sweep({ own: true });
  });
  return { engine, instanceId };
}
