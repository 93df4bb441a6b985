// Tags: anywhere
/** Results that cannot be written, or are not read to the end. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CLI } from '../support/bridge-client.ts';

/** A Linux device that is always full. */
const FULL = '/dev/full';
const hasFull = existsSync(FULL);
let stateDir: string;

beforeAll(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'lost-output-'));
});
afterAll(() => rmSync(stateDir, { recursive: true }));

function start(args: readonly string[], stdio: StdioOptions): ChildProcess {
  const env = { PATH: process.env['PATH'], MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_RUNTIME: 'embedded' };
  return spawn(process.execPath, [CLI, ...args], { env, stdio });
}

async function endOf(child: ChildProcess) {
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [stderr, [exitCode]] = await Promise.all([text(child.stderr as Readable), closed]);
  return { stderr, exitCode };
}

it.skipIf(!hasFull).each([
  ['a list', ['servers']],
  ['a help', ['--help']],
  ['a cell', ['exec', '-c', '6 * 7']],
] as const)(
  `${hasFull ? '' : 'not covered: there is no /dev/full: '}%s that finds no room is no success`,
  async (_, args) => {
    const full = openSync(FULL, 'w');
    try {
      const ended = await endOf(start(args, ['ignore', full, 'pipe']));
      const told = expect.stringMatching(/^could not write the result: ENOSPC/m);
      expect(ended).toEqual({ stderr: told, exitCode: 74 });
      expect(ended.stderr).not.toContain('uncaught');
    } finally {
      closeSync(full);
    }
  },
);

it('a cell whose output is not read to the end is not a failure', async () => {
  const child = start(['exec', '-c', 'print("x" * 300_000)'], ['ignore', 'pipe', 'pipe']);
  child.stdout?.destroy();
  expect(await endOf(child)).toEqual({ stderr: expect.not.stringMatching(/EPIPE|uncaught/), exitCode: 0 });
});
