// Tags: full, bubblewrap, docker-release, user
/** Engines that misbehave: what is reported, and that nothing is left behind. The engines are small scripts. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { BridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { Engine, PrepareProgress } from '../../../src/core/session/engine.ts';
import { type DetectOptions, detectEngine } from '../../../src/edges/engines/detect.ts';
import { findExecutable } from '../../../src/edges/engines/executable.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import { processEnvironment, TEST_IMAGES, TEST_LIMITS } from '../../support/engines.ts';
import { startClock } from '../../support/faults/wait.ts';
import { containersOf, findProcesses, firstOutput, startPython, startUntilReady } from '../../support/sandbox.ts';

const READY = 'print("ready")\ninput()';
const FIXTURES = join(import.meta.dirname, '..', '..', 'fixtures', 'engines');
/** The documented limit for an engine that hangs. The test allows another second for a busy machine. */
const ANSWER_WITHIN_MS = 5_000;

const engines = await coverEngines();
const podman = engines.find(({ name }) => name === 'podman');
const docker = engines.find(({ label }) => label === 'docker');

let nextInstance = 0;

/** The engines that are found with the fixture folder in front of PATH, or as all of PATH. The embedded engine is always found. */
function detectWith(
  folder: string,
  options: Partial<DetectOptions> & { alone?: boolean } = {},
): { engine: Engine; instanceId: string } {
  nextInstance += 1;
  const instanceId = `faults-${process.pid}-${nextInstance}`;
  const fixture = join(FIXTURES, folder);
  const path = options.alone === true ? fixture : `${fixture}${delimiter}${process.env['PATH'] ?? ''}`;
  const engine = detectEngine({
    requested: 'auto',
    image: TEST_IMAGES.slim,
    limits: TEST_LIMITS,
    user: '65534:65534',
    pullPolicy: 'never',
    instanceId,
    logger: silentLogger,
    ...options,
    env: { ...processEnvironment(), ...options.env, PATH: path },
  });
  onTestFinished(async () => {
    await engine.sweep({ own: true });
  });
  return { engine, instanceId };
}

/** A folder for the state of a fake engine, deleted when the test ends. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fake-engine-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('an engine that does not work', () => {
  it('is reported within 5 s if it hangs, and leaves nothing behind', async () => {
    const { engine } = detectWith('hanging', { requested: 'podman' });
    const clock = startClock();
    const error = await startUntilReady(engine, READY).then(
      () => undefined,
      (failure: unknown) => failure as BridgeError,
    );
    expect(error).toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: expect.stringMatching(/^podman does not answer: no answer within \d+ ms$/),
    });
    // A busy machine's engine gets longer.
    const [, waitedMs] = /within (\d+) ms/.exec(error?.message ?? '') ?? [];
    expect(clock.elapsed()).toBeLessThan(Math.max(ANSWER_WITHIN_MS, Number(waitedMs)) + 1_000);
    // They got SIGKILL, but a busy kernel may need a moment.
    await expect.poll(() => findProcesses(join(FIXTURES, 'hanging'))).toEqual([]);
  });

  it('is killed while it hangs, if the session gives up', async () => {
    const { engine } = detectWith('hanging', { requested: 'podman' });
    const sandbox = await startPython(engine, READY);
    void sandbox.kill();
    expect(await sandbox.exited).toEqual({ exitCode: undefined, signal: 'SIGKILL' });
  });

  it.runIf(docker)('is replaced by the next one', async () => {
    const { engine } = detectWith('dead-podman');
    expect(engine.name).toBe('podman');
    const { sandbox, starts } = await startUntilReady(engine, READY);
    expect(engine.name).toBe('docker');
    expect(starts).toBe(2);
    await sandbox.kill();
  });

  it('is listed with its reason and a next step if none is left', async () => {
    const { engine } = detectWith('dead', { alone: true, requested: 'container' });
    await expect(startUntilReady(engine, READY)).rejects.toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: expect.stringMatching(
        /^no engine can be used \(podman does not answer: Cannot connect to Podman.*; docker does not answer: Cannot connect .*Is the docker daemon running\)$/,
      ),
      hint: expect.stringMatching(/podman info/),
    });
  });

  it('is listed together with one that is not installed', async () => {
    const { engine } = detectWith('dead-podman', { alone: true, requested: 'container' });
    await expect(startUntilReady(engine, READY)).rejects.toMatchObject({
      message: expect.stringMatching(/\(podman does not answer: Cannot connect.*; docker is not on PATH\)$/),
    });
  });

  it('is tried again by the next cell', async () => {
    const { engine } = detectWith('dead', { alone: true, requested: 'container' });
    await expect(startUntilReady(engine, READY)).rejects.toThrow('no engine can be used');
    expect(engine.name).toBe('podman');
    await expect(startUntilReady(engine, READY)).rejects.toThrow('no engine can be used');
  });

  it('need not run to find that none is installed', () => {
    expect(() => detectWith('no-such-folder', { alone: true, requested: 'container' })).toThrow(
      expect.objectContaining({
        code: 'ENGINE_UNAVAILABLE',
        message: 'no engine can be used (podman is not on PATH; docker is not on PATH)',
        hint: expect.stringMatching(/^Install Podman .* or Docker .*\.$/),
      }),
    );
  });

  it('is reported with the end of its stderr after 200 MB of noise', async () => {
    const { engine } = detectWith('noisy', { requested: 'podman' });
    await engine.prepare(() => undefined);
    const sandbox = await startPython(engine, READY);
    sandbox.stdout.resume();
    let last = '';
    sandbox.stderr.on('data', (chunk: Buffer) => {
      last = (last + chunk.toString('utf8')).slice(-4096);
    });
    const error = engine.explainStartFailure(sandbox, await sandbox.exited, last);
    expect(error).toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringMatching(/exit code 125.*that was too much$/),
    });
  });

  it('is reported if it does nothing and exits with 0', async () => {
    const { engine } = detectWith('silent', { requested: 'podman' });
    await expect(startUntilReady(engine, READY)).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: 'podman did not start the sandbox (exit code 0): no error output',
    });
  });
});

it.runIf(docker)('a container created after its client was killed is removed, too', async () => {
  const state = temporaryFolder();
  const { engine, instanceId } = detectWith('late', { requested: 'docker', env: { CONTAINER_FAKE_STATE: state } });
  const sandbox = await startPython(engine, READY);
  await sandbox.kill();
  expect(existsSync(join(state, 'created'))).toBe(true);
  expect(docker === undefined ? [] : await containersOf(docker, instanceId)).toEqual([]);
});

describe.runIf(podman)('an engine with a problem that can be solved', () => {
  it('starts again without the flags it does not know', async () => {
    const { engine } = detectWith('old', { requested: 'podman' });
    const { sandbox, starts } = await startUntilReady(engine, READY);
    expect(starts).toBe(2);
    await sandbox.kill();
  });

  it('does so for each of the starts that it refused at once', async () => {
    const { engine } = detectWith('old', { requested: 'podman' });
    const started = await Promise.all([startUntilReady(engine, READY), startUntilReady(engine, READY)]);
    expect(started.map(({ starts }) => starts)).toEqual([2, 2]);
    await Promise.all(started.map(({ sandbox }) => sandbox.kill()));
  });

  it('starts again without a limit that this user may not set', async () => {
    const { engine } = detectWith('undelegated', { requested: 'podman', limits: { ...TEST_LIMITS, cpus: 1 } });
    const { sandbox, starts } = await startUntilReady(engine, READY);
    expect(starts).toBe(2);
    await sandbox.kill();
  });

  it('may print warnings on stderr', async () => {
    const { engine } = detectWith('warning', { requested: 'podman' });
    const sandbox = await startPython(engine, READY);
    expect(await firstOutput(sandbox)).toMatch(/^ready/);
    await sandbox.kill();
  });

  it('leaves no container if it is ended while it starts', async () => {
    const { engine, instanceId } = detectWith('slow', { requested: 'podman' });
    const sandbox = await startPython(engine, READY);
    await sandbox.kill();
    expect(podman === undefined ? [] : await containersOf(podman, instanceId)).toEqual([]);
  });

  it('has its stopped Podman machine started, and nothing else done to it', async () => {
    const state = temporaryFolder();
    const { engine } = detectWith('machine', {
      requested: 'podman',
      platform: 'darwin',
      env: { CONTAINER_FAKE_STATE: state },
    });
    const seen: PrepareProgress[] = [];
    const { sandbox, starts } = await startUntilReady(engine, READY, (progress) => seen.push(progress));
    expect(starts).toBe(2);
    await sandbox.kill();
    const calls = readFileSync(join(state, 'calls'), 'utf8').split('\n');
    expect(calls.filter((call) => call.startsWith('machine'))).toEqual(['machine list', 'machine start']);
    expect(seen).toEqual([{ message: 'starting the Podman machine podman-machine-default' }]);
  });

  it('pulls a missing image once, outside the start, with progress and the proxies of the user', async () => {
    const state = temporaryFolder();
    const proxy = 'http://user:password@proxy.example';
    const env = { CONTAINER_FAKE_STATE: state, HTTPS_PROXY: proxy };
    const { engine } = detectWith('pulling', { requested: 'podman', pullPolicy: 'missing', env });
    const seen: PrepareProgress[] = [];
    const { sandbox, starts } = await startUntilReady(engine, READY, (progress) => seen.push(progress));
    expect(starts).toBe(2);
    await sandbox.kill();
    const calls = readFileSync(join(state, 'calls'), 'utf8').split('\n').slice(0, 4);
    expect(calls).toEqual(['run', 'image', 'pull', 'run']);
    expect(seen).toEqual([
      { message: 'pulling docker.io/library/python:3.14-slim', percent: 0 },
      { message: 'pulling docker.io/library/python:3.14-slim: 25 % of its layers', percent: 25 },
      { message: 'pulled docker.io/library/python:3.14-slim', percent: 100 },
    ]);
    expect(readFileSync(join(state, 'proxies-of-pull'), 'utf8')).toBe(`${proxy}\n`);
    expect(readFileSync(join(state, 'proxies-of-run'), 'utf8').trim()).toBe('');
  });

  it('names the command that pulls the image if the bridge may not', async () => {
    const state = temporaryFolder();
    const { engine } = detectWith('pulling', { requested: 'podman', env: { CONTAINER_FAKE_STATE: state } });
    await expect(startUntilReady(engine, READY)).rejects.toMatchObject({
      code: 'IMAGE_MISSING',
      hint: 'Run: podman pull docker.io/library/python:3.14-slim',
    });
    expect(readFileSync(join(state, 'calls'), 'utf8')).toBe('run\n');
  });
});

it('finds commands as absolute paths, and skips relative folders of PATH', () => {
  const fixture = join(FIXTURES, 'dead');
  expect(findExecutable('docker', { PATH: `relative${delimiter}${fixture}` })).toBe(join(fixture, 'docker'));
  expect(findExecutable('docker', { PATH: `test/fixtures/engines/dead${delimiter}` })).toBeUndefined();
  expect(findExecutable('docker', {})).toBeUndefined();
});
