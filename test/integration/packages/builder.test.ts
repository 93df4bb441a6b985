/** The builder's program on this machine's Python, killed at random points: no broken set is ever seen, and nothing stays behind. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseReport } from '../../../src/packages/report.ts';
import { hasLocalPython } from '../../support/local-python.ts';
import { type PackageIndex, startPackageIndex, whyNoIndex } from '../../support/package-index.ts';
import { pause } from '../../support/pause.ts';
import { makeWheel } from '../../support/wheels.ts';

const PROGRAM = readFileSync(join(import.meta.dirname, '../../../sandbox-runtime/package_builder/builder.py'), 'utf8');
/** The builder gives up root, and then could not run a Python in root's home. */
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
const MISSING = hasLocalPython() ? await whyNoIndex() : 'builders in local Python: needs python3 3.10 or newer on PATH';
const KILLS = 50;
const PACKAGES = ['one', 'two', 'three', 'four', 'five'];
let index: PackageIndex;
let store: string;

beforeAll(async () => {
  if (MISSING !== undefined) {
    return;
  }
  index = await startPackageIndex();
  const body = `text = """${'x'.repeat(200_000)}"""\n`;
  index.add(...PACKAGES.map((name) => makeWheel({ name, files: { [`${name}/__init__.py`]: body } })));
  store = mkdtempSync(join(tmpdir(), 'bridge-store-'));
});
afterAll(async () => {
  if (MISSING !== undefined) {
    return;
  }
  rmSync(store, { recursive: true, force: true });
  await index.close();
});

/** Runs a builder for the first `count` packages, and kills it after `killAfterMs`. Returns its last report. */
async function build(count: number, killAfterMs?: number) {
  const child = spawn(PYTHON, ['-I', '-c', PROGRAM, '65533', store], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  child.stdin.on('error', () => undefined);
  const job = {
    do: 'build',
    requirements: PACKAGES.slice(0, count),
    constraints: [],
    uploaded_before: '2021-01-01T00:00:00Z',
    lock: null,
    max_bytes: 1024 ** 3,
    max_age: null,
    used_at: {},
    index: { url: index.url, extra: [], certificates: null, proxies: {} },
  };
  child.stdin.write(`${JSON.stringify(job)}\n`);
  const closed = new Promise((resolve) => child.once('close', resolve));
  if (killAfterMs !== undefined) {
    await Promise.race([closed, pause(killAfterMs, 'the time is the point: wherever the builder is then, it dies')]);
    if (child.exitCode === null) {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    }
  }
  await closed;
  return parseReport(output.trim().split('\n').at(-1) ?? '');
}

/** Problems of the sets that can be seen. */
function brokenSets(): string[] {
  const sets = readdirSync(store).includes('sets') ? readdirSync(join(store, 'sets')) : [];
  return sets.flatMap((set) => {
    const folder = join(store, 'sets', set);
    const { packages } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
      packages: { name: string }[];
    };
    return packages
      .filter(({ name }) => readFileSync(join(folder, 'lib', name, '__init__.py')).length < 200_000)
      .map(({ name }) => `${set}: ${name}`);
  });
}

it.runIf(MISSING === undefined)(`is killed ${KILLS} times at random points`, { timeout: 600_000 }, async () => {
  // pip, so that the kills hit everything else too.
  expect(await build(1)).toMatchObject({ type: 'done' });
  const startedAt = performance.now();
  expect(await build(1)).toMatchObject({ type: 'done' });
  let usualMs = performance.now() - startedAt;
  let killed = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const begunAt = performance.now();
    const end = await build(1 + (kill % PACKAGES.length), Math.random() * usualMs);
    if (end?.type === 'done') {
      // The machine has less to do now than before.
      usualMs = Math.min(usualMs, performance.now() - begunAt);
    } else {
      killed += 1;
    }
    expect(brokenSets()).toEqual([]);
  }
  // Most of them before they had finished.
  expect(killed).toBeGreaterThan(KILLS / 2);
  const last = await build(PACKAGES.length);
  expect(last).toMatchObject({ type: 'done', packages: { length: PACKAGES.length } });
  expect(brokenSets()).toEqual([]);
  expect(readdirSync(join(store, 'tmp'))).toEqual(['work']);
});

if (MISSING !== undefined) {
  // Counts as skipped, by name, not as passed.
  it.skip(`not covered: ${MISSING}`, () => undefined);
}
