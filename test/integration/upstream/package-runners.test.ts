// Tags: full, user-release
/** Servers that a package runner downloads first, as the pool sees them. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ProcessDefinition } from '../../../src/edges/upstream/pool.ts';
import { PATIENCE } from '../../support/patience.ts';
import { callText, failureOf, fixtureServer, startPool, until } from '../../support/upstream.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-runner-'));
  symlinkSync(process.execPath, join(folder, 'uvx'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** `downloads.mjs` under the name of a runner. */
function runner(...words: string[]): Partial<ProcessDefinition> {
  return { ...fixtureServer('downloads', ...words), command: join(folder, 'uvx') };
}

/** Shorter than a download of thirty lines. */
const startTimeoutMs = 500;

// It was ended after the time of any other start, and so was its download, which began again the next time.
it('waits as long as the runner reports its progress', async () => {
  const pool = startPool({ slow: runner('30', '100') }, { startTimeoutMs, quietStartMs: 2_000 * PATIENCE });
  const ping = callText(pool, 'slow', 'ping');
  await until(() => (pool.states()[0]?.preparing ?? '').startsWith('uvx: Downloading part-1'));
  expect(pool.states()[0]).toMatchObject({ state: 'starting' });
  expect(await ping).toBe('pong');
  expect(pool.states()[0]).toMatchObject({ state: 'ready', preparing: undefined });
});

it('gives up on a server that says nothing more, and ends it', async () => {
  const pool = startPool({ hung: runner('3', '10', 'hangs') }, { startTimeoutMs, quietStartMs: 1_000 * PATIENCE });
  const error = await failureOf(pool.describe('hung'));
  expect(error.code).toBe('SERVER_START_FAILED');
  expect(error.message).toMatch(
    /^server 'hung' started but cannot be used: no answer to initialize, and nothing on stderr for \d s; last lines of its stderr:\n {2}Downloading part-1/,
  );
  expect(error.hint).toMatch(/^uvx may still be downloading the package, or it cannot reach the registry\. Run it by/);
  expect(pool.states()[0]).toMatchObject({ state: 'failing', pid: undefined, preparing: undefined });
});

it('gives up on one that never stops downloading', async () => {
  const endless = runner('1000000', '10');
  const options = { startTimeoutMs, quietStartMs: 60_000, longestStartMs: 2_000 };
  const error = await failureOf(startPool({ endless }, options).describe('endless'));
  expect(error.message).toContain('no answer to initialize within 2 s; last lines of its stderr:\n  Downloading part-');
});

it('gives no other program more time, whatever it writes', async () => {
  const chatty = fixtureServer('downloads', '1000000', '10');
  const error = await failureOf(startPool({ chatty }, { startTimeoutMs }).describe('chatty'));
  expect(error.message).toContain('no answer to initialize within 0.5 s;');
});
