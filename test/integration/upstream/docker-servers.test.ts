// Tags: docker, user-release
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { failureOf, startPool } from '../../support/upstream.ts';

const hasDocker = spawnSync('docker', ['--version']).status === 0;
const prefix = hasDocker ? '' : 'not covered: ';

/** The test needs only the command, not a daemon. */
it.skipIf(!hasDocker)(`${prefix}a server in a container reports what is missing`, async () => {
  const env = { DOCKER_HOST: 'unix:///nonexistent/docker.sock' };
  const pool = startPool({
    fetch: { command: 'docker', args: ['run', '-i', '--rm', 'mcp/fetch'], env },
    gateway: { command: 'docker', args: ['mcp', 'gateway', 'run'], env: { ...env, HOME: '/nonexistent' } },
  });
  expect(await failureOf(pool.describe('fetch'))).toMatchObject({
    code: 'SERVER_START_FAILED',
    hint: expect.stringContaining("'docker info' shows when it is ready"),
  });
  const hasToolkit = spawnSync('docker', ['mcp', 'version']).status === 0;
  expect(await failureOf(pool.describe('gateway'))).toMatchObject({
    code: 'SERVER_START_FAILED',
    ...(hasToolkit ? {} : { hint: expect.stringContaining('no MCP Toolkit') }),
  });
});
