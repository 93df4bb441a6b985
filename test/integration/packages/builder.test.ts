// Tags: full, bubblewrap, docker-release
/** The builder's program on this machine's Python, killed at random points: no broken set is ever seen, and nothing stays behind. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { jobOf, startBuilder } from '../../support/builder-run.ts';
import { hasLocalPython } from '../../support/local-python.ts';
import { type PackageIndex, startPackageIndex, whyNoIndex } from '../../support/package-index.ts';
import { pause } from '../../support/pause.ts';
import { makeWheel } from '../../support/wheels.ts';

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
  const { child, report } = startBuilder(store, jobOf(PACKAGES.slice(0, count), { urls: [index.url] }));
  if (killAfterMs !== undefined) {
    await Promise.race([report, pause(killAfterMs, 'the time is the point: wherever the builder is then, it dies')]);
    if (child.exitCode === null) {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    }
  }
  return report;
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
  expect(readdirSync(join(store, 'tmp')).toSorted()).toEqual(['secret', 'work']);
});

if (MISSING !== undefined) {
  // Counts as skipped, by name, not as passed.
  it.skip(`not covered: ${MISSING}`, () => undefined);
}
