// Tags: bubblewrap, remote-release, user
/** Remote engines: a podman service, podman and docker over SSH, DOCKER_HOST, and a docker context. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runEngineCommand } from '../../../src/edges/engines/client.ts';
import { clientEnvironment } from '../../../src/edges/engines/client-env.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import { processEnvironment, testEngine } from '../../support/engines.ts';
import { pause } from '../../support/pause.ts';
import { firstOutput, runPython, startPython } from '../../support/sandbox.ts';
import { type SshServer, startSshServer, whyNoSshServer } from '../../support/ssh-server.ts';
import { describeEngine } from './engine-suite.ts';

const engines = await coverEngines();
const cleanups: (() => Promise<void>)[] = [];
const noSsh = whyNoSshServer();

const podman = engines.find(({ name }) => name === 'podman');
if (podman !== undefined) {
  const service = await startService();
  const env = { ...processEnvironment(), CONTAINER_HOST: service };
  describeEngine(testEngine('podman-remote', 'podman', env, podman.hasCgroupLimits));
  if (noSsh === undefined) {
    const { home, keyFile, url } = await startSsh({});
    const overSsh = { CONTAINER_HOST: service.replace('unix://', url), CONTAINER_SSHKEY: keyFile, HOME: home };
    describeEngine(testEngine('podman-ssh', 'podman', { ...env, ...overSsh }, podman.hasCgroupLimits));
  }
}
const docker = engines.find(({ label }) => label === 'docker');
if (docker !== undefined && noSsh === undefined) {
  const env = processEnvironment();
  // The docker command on the other side finds its daemon as the one here does.
  const { path, url } = await startSsh('DOCKER_HOST' in env ? { DOCKER_HOST: env['DOCKER_HOST'] ?? '' } : {});
  const overSsh = { ...env, DOCKER_HOST: url, PATH: path };
  describeEngine(testEngine('docker-ssh', 'docker', overSsh, docker.hasCgroupLimits));
}
if (noSsh !== undefined) {
  it.skip(`engines over SSH: ${noSsh}`, () => expect.unreachable());
}

afterAll(async () => {
  await Promise.all(cleanups.map((cleanup) => cleanup()));
});

it('a remote podman refuses an OCI runtime, which only its own configuration can choose', () => {
  const remote = testEngine(
    'podman-remote',
    'podman',
    { ...processEnvironment(), CONTAINER_HOST: 'unix:///none' },
    true,
  );
  expect(() => remote.create({ ociRuntime: 'runsc' })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});

describe.runIf(engines.some(({ label }) => label === 'docker'))('a remote docker', () => {
  it.each([
    ['from the environment', 'elsewhere', { DOCKER_CONTEXT: 'elsewhere' }],
    // Docker Desktop configures this; its socket is in the user's home on macOS, and a pipe on Windows.
    ['in its configuration', 'desktop-linux', {}],
  ])('is found through the context %s', async (_how, name, variables) => {
    const env = { ...processEnvironment(), DOCKER_CONFIG: temporaryFolder() };
    const local = { executable: 'docker', env: clientEnvironment(processEnvironment()) };
    const endpoint = await runEngineCommand(local, ['context', 'inspect', '--format', '{{.Endpoints.docker.Host}}']);
    const context = { executable: 'docker', env: clientEnvironment({ ...env, DOCKER_HOST: undefined }) };
    await runEngineCommand(context, ['context', 'create', name, '--docker', `host=${endpoint.stdout.trim()}`]);
    if (!('DOCKER_CONTEXT' in variables)) {
      await runEngineCommand(context, ['context', 'use', name]);
    }
    const shown = { executable: 'docker', env: clientEnvironment({ ...env, DOCKER_HOST: '', ...variables }) };
    expect((await runEngineCommand(shown, ['context', 'show'])).stdout).toBe(name);
    await expectEcho({ ...env, DOCKER_HOST: '', ...variables });
  });

  it('passes no proxy from its configuration into a sandbox', async () => {
    const folder = temporaryFolder();
    const proxies = { default: { httpProxy: 'http://user:password@proxy.example', noProxy: 'secret.example' } };
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ proxies }));
    const engine = testEngine(
      'docker-proxies',
      'docker',
      { ...processEnvironment(), DOCKER_CONFIG: folder },
      true,
    ).create();
    const { stdout } = await runPython(
      engine,
      'import os\nprint(sorted({v for k, v in os.environ.items() if "PROXY" in k.upper()}))',
    );
    expect(stdout).toBe("['']\n");
  });

  it('is reported if its host does not answer', async () => {
    const engine = testEngine(
      'docker-host',
      'docker',
      { ...processEnvironment(), DOCKER_HOST: 'tcp://127.0.0.1:9' },
      true,
    ).create();
    const sandbox = await startPython(engine, 'pass');
    let stderr = '';
    sandbox.stdout.resume();
    sandbox.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString('utf8');
    });
    const error = engine.explainStartFailure(sandbox, await sandbox.exited, stderr);
    expect(error.code).toBe('ENGINE_UNAVAILABLE');
    expect(error.message).toContain('tcp://127.0.0.1:9');
  });
});

async function expectEcho(env: Record<string, string>): Promise<void> {
  const engine = testEngine('docker-context', 'docker', env, true).create();
  const sandbox = await startPython(engine, 'print(input())');
  sandbox.stdin.write('hello\n');
  expect(await firstOutput(sandbox)).toMatch(/^hello/);
  await sandbox.kill();
}

async function startSsh(env: Readonly<Record<string, string>>): Promise<SshServer> {
  const server = await startSshServer(env);
  cleanups.push(() => server.stop());
  return server;
}

/** Starts a podman service and returns the URL of its socket. */
async function startService(): Promise<string> {
  // conmon writes a file to the working directory of the service.
  const folder = temporaryFolder();
  const socket = join(folder, 'podman.sock');
  const service = spawn('podman', ['system', 'service', '--time', '0', `unix://${socket}`], {
    cwd: folder,
    stdio: 'ignore',
  });
  const exited = once(service, 'exit');
  cleanups.push(async () => {
    service.kill('SIGTERM');
    await exited;
  });
  while (!existsSync(socket)) {
    await Promise.race([
      pause(50, 'poll interval'),
      exited.then(() => Promise.reject(new Error('the podman service ended'))),
    ]);
  }
  return `unix://${socket}`;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'engines-'));
  cleanups.push(async () => rmSync(folder, { recursive: true }));
  return folder;
}
