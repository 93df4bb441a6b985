/** Which bridge has a session: one at a time, also if the last one was killed. */
import { spawn, spawnSync } from 'node:child_process';
import { linkSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { currentOwner } from '../../../src/base/owner.ts';
import { claimSession, readHolder } from '../../../src/session/session-claim.ts';
import { ROOT } from '../../support/bridge-client.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'claim-'));
  path = join(folder, 'work.claim');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

/** What a process leaves that was killed. */
function leaveStale(): void {
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(path, JSON.stringify({ ...currentOwner(), pid, machine: hostname() }));
}

it('is taken once, and again when it was released', async () => {
  const claim = await claimSession(path);
  expect(await claimSession(path)).toEqual({ pid: process.pid });
  await ('release' in claim ? claim.release() : undefined);
  expect(readdirSync(folder)).toEqual([]);
  expect(await claimSession(path)).toHaveProperty('release');
});

it.each([
  ['a process that is gone', leaveStale],
  ['nothing that a bridge wrote', () => writeFileSync(path, '{"half')],
])('is taken from %s by exactly one of many', async (_, leave) => {
  for (let round = 0; round < 5; round += 1) {
    leave();
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimSession(path)));
    const taken = claims.filter((claim) => 'release' in claim);
    expect(taken).toHaveLength(1);
    expect(await readHolder(path)).toEqual({ pid: process.pid });
    await Promise.all(taken.map((claim) => claim.release()));
  }
  expect(readdirSync(folder)).toEqual([]);
});

// Another bridge took a claim that was being written for a broken one, and both had the session.
it('counts while its temporary file is still there', async () => {
  await claimSession(path);
  linkSync(path, `${path}.tmp`);
  expect(await readHolder(path)).toEqual({ pid: process.pid });
  expect(await claimSession(path)).toEqual({ pid: process.pid });
});

/** Another process. Sends it a line; resolves with its answer. */
function startClaiming(): (line: string) => Promise<string> {
  const words = [
    '--import',
    join(ROOT, 'scripts/typescript-loader.mjs'),
    join(ROOT, 'test/fixtures/claiming-process.ts'),
  ];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (line) => {
    child.stdin.write(`${line}\n`);
    return String((await answers.next()).value);
  };
}

it('is held by exactly one of many processes', async () => {
  const processes = Array.from({ length: 5 }, startClaiming);
  const all = async (line: string) => Promise.all(processes.map((ask) => ask(line)));
  // Once each has answered, all are ready to claim at the same instant.
  await all('release');
  for (let round = 0; round < 10; round += 1) {
    leaveStale();
    expect((await all(path)).filter((answer) => answer === 'held')).toHaveLength(1);
    await all('release');
  }
});
