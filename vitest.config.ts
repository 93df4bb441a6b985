/**
 * Seven layers, one project each (`vitest run --project unit`). Two files of a layer run in parallel, even if they start
 * containers, because they mostly wait; MCP_BRIDGE_TEST_WORKERS sets another number. Files of attacks run one after the other,
 * because they measure how fast the bridge is under attack.
 *
 * Failing tests are not retried, with two exceptions that are run once more: floods and faults, which have limits on time that a busy
 * machine can exceed once, and in `.ci/run`, which tests as several users at the same time, all tests with engines. The summary
 * names what passed only then.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { PATIENCE } from './test/support/patience.ts';
import { filesWithTags } from './test/tools/tags.mjs';

/** Limits hangs only: the machine may be busy with other tests. */
const UNIT_TIMEOUT_MS = 20_000 * PATIENCE;
/** A real Python or a real server starts within seconds even on a loaded machine. */
const CONTRACT_TIMEOUT_MS = 30_000 * PATIENCE;
/** A cold engine needs several seconds per sandbox, and one test may start a few. This limits hangs; it asserts no speed. */
const ENGINE_TIMEOUT_MS = 120_000 * PATIENCE;

const TAGS = process.env['MCP_BRIDGE_TEST_TAGS'] ?? '';

function layer(name: string, timeoutMs: number, { fileParallelism = true, isolate = true, retry = 0 } = {}) {
  return {
    extends: true as const,
    test: {
      name,
      // Not `exclude`, with which the option `--exclude` has no effect.
      include: TAGS === '' ? [`test/${name}/**/*.test.ts`] : filesWithTags(name, TAGS),
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      // On a busy machine, a polled condition may take long to hold.
      expect: { poll: { timeout: timeoutMs / 4 } },
      fileParallelism,
      isolate,
      retry,
    },
  };
}

/**
 * Half of the CPU time of unit tests went into loading the same modules for each file. Only files that replace a module, or
 * that are about what a module remembers, have their own ones.
 */
const apart = readdirSync(join(import.meta.dirname, 'test/unit'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/unit/${file.replaceAll('\\', '/')}`)
  .filter((file) =>
    /\bvi\.(do)?mock\(|^\/\/ Modules of its own/im.test(readFileSync(join(import.meta.dirname, file), 'utf8')),
  );

const unit = layer('unit', UNIT_TIMEOUT_MS, { isolate: false });
const unitProjects = [
  { ...unit, test: { ...unit.test, exclude: apart } },
  { ...unit, test: { ...unit.test, name: 'unit-apart', include: apart, isolate: true } },
];

/** What these two layers test is in other processes. */
const outside = { isolate: false };
const withEngines = { retry: PATIENCE > 1 ? 1 : 0 };

export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: Number(process.env['MCP_BRIDGE_TEST_WORKERS'] ?? 2),
    globalSetup: ['test/own-place.ts'],
    setupFiles: ['test/setup.ts'],
    unstubEnvs: true,
    unstubGlobals: true,
    projects: [
      ...unitProjects,
      layer('contract', CONTRACT_TIMEOUT_MS),
      layer('fuzz', CONTRACT_TIMEOUT_MS),
      layer('integration', ENGINE_TIMEOUT_MS, withEngines),
      layer('e2e', ENGINE_TIMEOUT_MS, { ...withEngines, ...outside }),
      layer('faults', ENGINE_TIMEOUT_MS),
      layer('attacks', ENGINE_TIMEOUT_MS, { ...withEngines, ...outside, fileParallelism: false }),
    ],
  },
});
