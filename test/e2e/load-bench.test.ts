// Tags: anywhere, full
/** The load benchmark runs, loses nothing, and writes what the plan reads. Its figures on a busy machine say nothing. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { loadResults } from '../../bench/load/results.ts';
import { ROOT } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { PATIENCE } from '../support/patience.ts';

const [engine] = await coverEngines();
const LIMIT_MS = 120_000 * PATIENCE;
/** Short, with more clients than sandboxes. */
const SMALL = ['--only', 'goal', '--clients', '4', '--sandboxes', '3', '--rate', '1', '--seconds', '2', '--visit', '2'];

it.skipIf(engine === undefined)(
  'the load benchmark serves more clients than sandboxes beside a stranger, and loses nothing',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'load-bench-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'load.json');
    const argv = ['--engine', engine?.label ?? '', ...SMALL, '--rounds', '1', '--stranger', '200', '--save', file];
    const program = ['--import', './scripts/typescript-loader.mjs', 'bench/load/main.ts', ...argv];
    const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: ROOT });
    expect(stdout).toContain('Nothing was lost or mixed up.');
    const { goal } = await loadResults(file);
    expect(goal?.missing).toEqual([]);
    expect(goal?.without.times.warm?.count).toBeGreaterThan(0);
    const answered = goal?.beside?.stranger?.answeredPerS ?? {};
    // Wrong tokens and wrong hosts: nothing else, and no success.
    expect(Object.keys(answered)).toEqual(expect.arrayContaining(['401', '421']));
    expect(Object.keys(answered).filter((status) => !status.startsWith('4'))).toEqual([]);
  },
  LIMIT_MS,
);
