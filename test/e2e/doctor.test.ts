/** `doctor` of the built command: what it says of engines that work, that are broken and that are not there. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { CLI, ROOT } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const DEAD = join(ROOT, 'test/fixtures/engines/dead');
const engines = await coverEngines();

async function runDoctor(env: Readonly<Record<string, string>>, ...options: string[]) {
  const child = spawn(process.execPath, [CLI, 'doctor', ...options], { env: { HOME: '/nowhere', ...env } });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout), exited]);
  return { stdout, exitCode };
}

describe('doctor', () => {
  it.each(engines)('finds that $label can be used, and that sessions run on it', async ({ env, name }) => {
    const { exitCode, stdout } = await runDoctor(env, '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      requested: name,
      runs: name,
      engines: [{ engine: name, isUsable: true, isolation: expect.any(String), description: expect.any(String) }],
    });
    expect(exitCode).toBe(0);
  });

  it('names what is missing and how to mend it, and ends with 69 when nothing is left', async () => {
    const { exitCode, stdout } = await runDoctor({ PATH: '', MCP_BRIDGE_RUNTIME: 'container' });
    expect(stdout.split('\n').slice(2)).toEqual([
      'podman  cannot be used: podman is not on PATH',
      '        Install Podman (https://podman.io/docs/installation).',
      'docker  cannot be used: docker is not on PATH',
      '        Install Docker (https://docs.docker.com/engine/install/).',
      '',
      'No engine can be used: no cell can run.',
      '',
    ]);
    expect(exitCode).toBe(69);
  });

  it('gives the reason of each engine that is installed and broken', async () => {
    const { exitCode, stdout } = await runDoctor({ PATH: DEAD, MCP_BRIDGE_RUNTIME: 'container' }, '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      runs: null,
      engines: [
        { engine: 'podman', isUsable: false, reason: expect.stringMatching(/^podman does not answer: /) },
        { engine: 'docker', isUsable: false, reason: expect.stringMatching(/^docker does not answer: /) },
      ],
    });
    expect(exitCode).toBe(69);
  });
});
