/** Runs the builder's program on this machine's Python. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseReport, type Report } from '../../src/features/packages/report.ts';

const PROGRAM = readFileSync(join(import.meta.dirname, '../../sandbox-runtime/package_builder/builder.py'), 'utf8');
/** The builder gives up root, and then could not run a Python in root's home. */
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';

/** A job that builds, with limits that no test meets. */
export function jobOf(requirements: readonly string[], index: object, more: object = {}): object {
  return {
    do: 'build',
    requirements,
    constraints: [],
    uploaded_before: '2021-01-01T00:00:00Z',
    lock: null,
    max_bytes: 1024 ** 3,
    max_age: null,
    used_at: {},
    index: { urls: [], links: [], absent: {}, trusted: [], certificates: null, proxies: {}, ...index },
    ...more,
  };
}

/** Starts a builder in a process group of its own. `report` resolves with its last report. */
export function startBuilder(store: string, job: object): { child: ChildProcess; report: Promise<Report | undefined> } {
  const child = spawn(PYTHON, ['-I', '-c', PROGRAM, '65533', store], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${JSON.stringify(job)}\n`);
  const closed = new Promise((resolve) => child.once('close', resolve));
  return { child, report: closed.then(() => parseReport(output.trim().split('\n').at(-1) ?? '')) };
}
