/**
 * Six layers, one project each (`vitest run --project unit`). Unit, contract and fuzz tests run in parallel; the others
 * start containers and servers, so their files run one after the other.
 */
import { defineConfig } from 'vitest/config';

const UNIT_TIMEOUT_MS = 5_000;
/** A real Python or a real server starts within seconds even on a loaded machine. */
const CONTRACT_TIMEOUT_MS = 30_000;
/** A cold engine needs several seconds per sandbox, and one test may start a few. These bound a hang; they assert no speed. */
const ENGINE_TIMEOUT_MS = 120_000;

/**
 * What runs on engines is run once more when it fails, because the machine may be busy with other work; a test that passes
 * then is reported as flaky, by name (`scripts/test.mjs`). What must never happen even once is not run again: something left
 * behind (G6), a call that nobody made (G7), a secret that leaks (G8).
 */
const RETRY = { count: 1, condition: /^(?!G[678]: |[\s\S]*\nG[678]: )/ };

function layer(name: string, timeoutMs: number, needsEngines: boolean) {
  return {
    extends: true as const,
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`],
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      // What is polled for comes when the machine has time for it.
      expect: { poll: { timeout: timeoutMs / 4 } },
      fileParallelism: !needsEngines,
      ...(needsEngines ? { retry: RETRY } : {}),
    },
  };
}

export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    setupFiles: ['test/setup.ts'],
    projects: [
      layer('unit', UNIT_TIMEOUT_MS, false),
      layer('contract', CONTRACT_TIMEOUT_MS, false),
      layer('fuzz', CONTRACT_TIMEOUT_MS, false),
      layer('integration', ENGINE_TIMEOUT_MS, true),
      layer('e2e', ENGINE_TIMEOUT_MS, true),
      layer('faults', ENGINE_TIMEOUT_MS, true),
    ],
  },
});
