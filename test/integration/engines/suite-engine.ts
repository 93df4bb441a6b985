/** Engines that live for one test. */
import { expect, onTestFinished } from 'vitest';
import type { ContainerEngineOptions } from '../../../src/engines/container/container-engine.ts';
import type { Engine } from '../../../src/engines/engine.ts';
import type { TestEngine } from '../../support/engines.ts';
import { findProcesses } from '../../support/sandbox.ts';

/** Limits a wait; asserts no speed. */
const HELPERS_GONE_MS = 10_000;

let nextInstance = 0;

/** An engine with its own instance id, swept when the test ends. */
export function createSuiteEngine(
  testEngine: TestEngine,
  options: Partial<ContainerEngineOptions> = {},
): { engine: Engine; instanceId: string } {
  nextInstance += 1;
  const instanceId = `suite-${process.pid}-${nextInstance}`;
  const engine = testEngine.create({ instanceId, ...options });
  onTestFinished(async () => {
    await engine.sweep({ own: true });
    // Clients, conmon and shims have the name of the container in their command lines, and some take a moment to end.
    await expect.poll(() => findProcesses(`mcp-bridge-${instanceId}-`), { timeout: HELPERS_GONE_MS }).toEqual([]);
  });
  return { engine, instanceId };
}
