// Tags: docker, podman
/** `npm run demo`, as a user runs it, on every engine and without one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { readFences } from '../support/documented-samples.ts';
import { processEnvironment } from '../support/engines.ts';

const engines = await coverEngines();
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-demo-test-'));
  // World-writable like /tmp, because a rootless engine runs as another user here.
  chmodSync(folder, 0o1777);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the demo with the temporary folder in `folder`. */
async function runDemo(env: Readonly<Record<string, string>>) {
  const settings = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('MCP_BRIDGE_TEST_')));
  const child = spawn(process.execPath, ['--import', './scripts/typescript-loader.mjs', 'scripts/demo.ts'], {
    cwd: ROOT,
    env: { ...settings, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), exitOf(child)]);
  return { stdout, stderr, exitCode };
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('close', resolve);
  });
}

describe.each(engines)('the demo on $label', ({ env }) => {
  it('lists a folder, keeps a variable, stores its findings, and leaves nothing behind', async () => {
    const { stdout, stderr, exitCode } = await runDemo(env);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toContain("['garden.md', 'house.md', 'travel.md']");
    expect(stdout).toContain('Stored 3 notes: garden.md, house.md, travel.md.');
    expect(stdout).toContain('3 tasks are open, most of them in house.md.');
    expect(stdout).toContain("Checked: the memory server's file holds these 3 notes.");
    expect(stdout).toMatch(/^ {4}(?:\S+ +█{30}|\[image\])$/m);
    expect(stdout).toContain('Checked: the sums are those of the table.');
    const [, table = '', code, result] =
      /the table has ([\d,]+); the code has (\d+), and its answer (\d+)\./.exec(stdout) ?? [];
    expect(Number(table.replace(',', ''))).toBeGreaterThan(20 * (Number(code) + Number(result)));
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe.runIf(engines.some(({ name }) => name === 'embedded'))('the demo with nothing installed', () => {
  it('does the same on the embedded engine, explains that engine, and prints what the README shows', async () => {
    const { stdout, stderr, exitCode } = await runDemo({ ...processEnvironment(), PATH: folder });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    const shown = readFences('README.md', '').find((fence) => fence.startsWith('> run_python')) ?? '';
    const lines = shown.split('\n').filter((line) => line.trim() !== '…');
    expect(lines.length).toBeGreaterThan(8);
    expect(lines.filter((line) => !stdout.split('\n').includes(line))).toEqual([]);
    expect(stdout).toContain('embedded runs this session, which is weaker than a container: Python in WebAssembly');
    expect(stdout).toContain('Not used: podman is not on PATH; docker is not on PATH; bwrap is not on PATH.');
    expect(stdout).toContain("Checked: the memory server's file holds these 3 notes.");
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('the demo without an engine', () => {
  it('shows the error of the bridge and fails', async () => {
    const { stdout, stderr, exitCode } = await runDemo({
      ...processEnvironment(),
      PATH: folder,
      MCP_BRIDGE_RUNTIME: 'container',
    });
    expect(stdout).toContain('ENGINE_UNAVAILABLE: no engine can be used');
    expect(stderr).toContain('The demo failed: the cell failed');
    expect(exitCode).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
  });
});
