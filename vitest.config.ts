/**
 * Seven layers, one project each (`vitest run --project unit`). Two files of a layer run in parallel, even if they start
 * containers, because they mostly wait; MCP_BRIDGE_TEST_WORKERS sets another number. Files of attacks run one after the other,
 * because they measure how fast the bridge is under attack. Failing tests are not retried, except floods and faults: they have
 * limits on time, which a busy machine can exceed once. They are run once more.
 */
import { defineConfig } from 'vitest/config';

/** Limits hangs only: the machine may be busy with other tests. */
const UNIT_TIMEOUT_MS = 20_000;
/** A real Python or a real server starts within seconds even on a loaded machine. */
const CONTRACT_TIMEOUT_MS = 30_000;
/** A cold engine needs several seconds per sandbox, and one test may start a few. This limits hangs; it asserts no speed. */
const ENGINE_TIMEOUT_MS = 120_000;

/** On one machine, CI runs the tests as several users: what depends neither on the engine nor on the user is then run by one. */
const RUN_ELSEWHERE = '(asking|audit|dry-run|error-codes|exec-terminal|recordings|state-week)';
const isQuick = process.env['MCP_BRIDGE_TEST_FAULTS'] === 'quick';

function layer(name: string, timeoutMs: number, fileParallelism = true) {
  return {
    extends: true as const,
    test: {
      name,
      // Not `exclude`, with which the option `--exclude` has no effect.
      include: [`test/${name}/**/${name === 'e2e' && isQuick ? `!${RUN_ELSEWHERE}` : '*'}.test.ts`],
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      // On a busy machine, a polled condition may take long to hold.
      expect: { poll: { timeout: timeoutMs / 4 } },
      fileParallelism,
    },
  };
}

export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: Number(process.env['MCP_BRIDGE_TEST_WORKERS'] ?? 2),
    setupFiles: ['test/setup.ts'],
    projects: [
      layer('unit', UNIT_TIMEOUT_MS),
      layer('contract', CONTRACT_TIMEOUT_MS),
      layer('fuzz', CONTRACT_TIMEOUT_MS),
      layer('integration', ENGINE_TIMEOUT_MS),
      layer('e2e', ENGINE_TIMEOUT_MS),
      layer('faults', ENGINE_TIMEOUT_MS),
      layer('attacks', ENGINE_TIMEOUT_MS, false),
    ],
  },
});
