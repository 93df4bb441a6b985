// Tags: bubblewrap, user
/** When Pods try whether a network policy is in force, with a program in place of `kubectl`: no cluster is needed. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createLogger } from '../../../src/core/base/log.ts';
import { createKubernetesEngine } from '../../../src/edges/engines/kubernetes/kubernetes.ts';

/** Runs every Pod at once. The files beside it say what a Pod reaches, and whether the policy is refused. */
const KUBECTL = `#!${process.execPath}
const { appendFileSync, existsSync, readFileSync } = require('node:fs');
const [verb, ...words] = process.argv.slice(2);
const note = (line) => appendFileSync(__dirname + '/log', line + '\\n');
if (verb === 'create') {
  const { kind, spec } = JSON.parse(readFileSync(0, 'utf8'));
  note(kind === 'Pod' ? 'Pod ' + spec.containers[0].args[2] : kind);
  if (kind === 'NetworkPolicy' && existsSync(__dirname + '/refused')) {
    console.error('Error from server (Forbidden): no');
    process.exit(1);
  }
} else if (words.includes('--watch')) {
  console.log('{"containerStatuses":[{"name":"sandbox","state":{"running":{}}}]}');
  setInterval(() => {}, 1000);
} else if (verb === 'exec') {
  note('exec ' + words[words.indexOf('plain') + 1]);
  console.error(JSON.stringify({ report: 'network', reached: readFileSync(__dirname + '/reached', 'utf8') }));
} else if (verb === 'get') {
  process.exit(1);
}
`;

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'kubectl-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const executable = join(folder, 'kubectl');
  writeFileSync(executable, KUBECTL);
  chmodSync(executable, 0o755);
  const reach = (address: string): void => writeFileSync(join(folder, 'reached'), address);
  reach('');
  const log: string[] = [];
  const engine = createKubernetesEngine({
    image: 'python:3.14-slim',
    limits: { memoryBytes: 1, pids: 1, tmpBytes: 1, workspaceBytes: 1 },
    user: '65534',
    pullPolicy: 'never',
    instanceId: 'x',
    env: {},
    logger: createLogger('WARNING', (line) => log.push(line)),
    executable,
  });
  let laterMs = 0;
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
  onTestFinished(() => clock.mockRestore());
  return {
    engine,
    log,
    reach,
    refuse: () => writeFileSync(join(folder, 'refused'), ''),
    pass: (minutes: number) => {
      laterMs += minutes * 60_000;
    },
    /** Starts a Pod; resolves with what `kubectl` was told, in alphabetical order: some of it at once. */
    async start(): Promise<string[]> {
      writeFileSync(join(folder, 'log'), '');
      const sandbox = await engine.start({ command: ['python3'], session: 's' });
      await text(sandbox.stderr);
      await sandbox.exited;
      return readFileSync(join(folder, 'log'), 'utf8').trim().split('\n').toSorted();
    },
  };
}

it('each Pod tries, as those on other nodes may have a network', async () => {
  const { engine, log, reach, start } = setUp();
  expect(await start()).toEqual(['NetworkPolicy', 'Pod try', 'exec try']);
  expect(engine.isolation).toBe('a Pod of Kubernetes whose network policy is in force');
  // The policy was trusted from here on, whatever happened to it.
  expect(await start()).toEqual(['Pod try', 'exec try']);
  reach('10.0.0.1:443');
  expect(await start()).toEqual(['Pod try', 'exec try']);
  expect(engine.missing).toContain('does not enforce network policies');
  expect(log).toEqual([expect.stringContaining('(a Pod reached 10.0.0.1:443); sandboxes refuse network sockets')]);
});

it('after one has reached something, Pods are closed for a while, and then the policy is created and tried again', async () => {
  const { engine, log, pass, reach, start } = setUp();
  reach('10.0.0.1:443');
  await start();
  reach('');
  pass(9);
  expect(await start()).toEqual(['Pod closed', 'exec closed']);
  expect(engine.missing).toBeDefined();
  pass(2);
  expect(await start()).toEqual(['NetworkPolicy', 'Pod try', 'exec try']);
  expect(engine.missing).toBeUndefined();
  expect(log).toHaveLength(1);
});

it('the policy is created again after a while, and without it Pods are closed', async () => {
  const { engine, pass, refuse, start } = setUp();
  await start();
  pass(11);
  refuse();
  expect(await start()).toEqual(['NetworkPolicy', 'Pod try', 'exec closed']);
  expect(engine.missing).toBeDefined();
  expect(await start()).toEqual(['Pod closed', 'exec closed']);
});
