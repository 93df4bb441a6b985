// Tags: full, user-release
/** A bridge among its own servers: even if its entry does not reveal it, the recursion ends. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { failureOf, startPool } from '../../support/upstream.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const BRIDGE = {
  command: process.execPath,
  args: ['--import', './scripts/typescript-loader.mjs', 'src/cli.ts'],
  cwd: ROOT,
};

it('refuses to start inside a bridge, and reports that to the outer one', async () => {
  const pool = startPool({ ring: BRIDGE });
  const error = await failureOf(pool.describe('ring'));
  expect(error.code).toBe('SERVER_START_FAILED');
  expect(error.message).toContain('this bridge was started by another bridge (depth 1)');
});

it('starts there if its entry allows it, up to three deep', async () => {
  const pool = startPool({
    allowed: { ...BRIDGE, env: { MCP_BRIDGE_ALLOW_SELF_SERVER: '1' } },
  });
  expect((await pool.describe('allowed')).tools.map((tool) => tool.name)).toEqual(['run_python']);
  const deep = startPool(
    { deep: { ...BRIDGE, env: { MCP_BRIDGE_ALLOW_SELF_SERVER: '1' } } },
    { env: { PATH: process.env['PATH'], MCP_BRIDGE_DEPTH: '3' } },
  );
  expect((await failureOf(deep.describe('deep'))).message).toContain('(depth 4); the limit is 3');
});
