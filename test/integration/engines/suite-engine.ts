/** Creates an engine for one test. */
import { expect, onTestFinished } from 'vitest';
import type { Engine } from '../../../src/core/session/engine.ts';
import type { ContainerEngineOptions } from '../../../src/edges/engines/container/container-engine.ts';
import type { TestEngine } from '../../support/engines.ts';
import { findProcesses } from '../../support/sandbox.ts';

/** Limits a wait; does not test speed. */
const HELPERS_GONE_MS = 10_000;

let nextInstance = 0;

/** An engine with its own instance id. The test fails if processes of it remain at its end. */
export function createSuiteEngine(
  testEngine: TestEngine,
  options: Partial<ContainerEngineOptions> = {},
): { engine: Engine; instanceId: string } {
  nextInstance += 1;
  const instanceId = `suite-${process.pid}-${nextInstance}`;
  const engine = testEngine.create({ instanceId, ...options });
  onTestFinished(async () => {
    await engine.sweep({ own: true });
    // The command lines of clients, conmon and shims contain the container's name; some need a moment to end.
    await expect.poll(() => findProcesses(`mcp-bridge-${instanceId}-`), { timeout: HELPERS_GONE_MS }).toEqual([]);
  });
  return { engine, instanceId };
}
