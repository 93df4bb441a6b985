/**
 * Six layers, one project each (`vitest run --project unit`). Two files of a layer run side by side, also those that start
 * containers: most of their time is waiting. Faults run one file after the other, because they measure how long the bridge
 * takes while it is attacked. A test that fails is not run again.
 */
import { defineConfig } from 'vitest/config';

const UNIT_TIMEOUT_MS = 5_000;
/** A real Python or a real server starts within seconds even on a loaded machine. */
const CONTRACT_TIMEOUT_MS = 30_000;
/** A cold engine needs several seconds per sandbox, and one test may start a few. These bound a hang; they assert no speed. */
const ENGINE_TIMEOUT_MS = 120_000;

function layer(name: string, timeoutMs: number, fileParallelism = true) {
  return {
    extends: true as const,
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`],
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      // What is polled for comes when the machine has time for it.
      expect: { poll: { timeout: timeoutMs / 4 } },
      fileParallelism,
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
      layer('unit', UNIT_TIMEOUT_MS),
      layer('contract', CONTRACT_TIMEOUT_MS),
      layer('fuzz', CONTRACT_TIMEOUT_MS),
      layer('integration', ENGINE_TIMEOUT_MS),
      layer('e2e', ENGINE_TIMEOUT_MS),
      layer('faults', ENGINE_TIMEOUT_MS, false),
    ],
  },
});
