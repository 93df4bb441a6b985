/** Which bridge has a session: one at a time, also if the last one was killed. */
import { spawn, spawnSync } from 'node:child_process';
import { linkSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { currentOwner } from '../../../src/core/base/owner.ts';
import { claimSession, LEASE_MS, readHolder } from '../../../src/core/session/session-claim.ts';
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

/** What a bridge on another machine has written, and last renewed `ageMs` ago. */
function leaveElsewhere(ageMs: number, isLease = true): void {
  writeFileSync(path, JSON.stringify({ host: 'a:1', pid: 7, started: '1', machine: 'elsewhere', isLease }));
  const renewed = new Date(Date.now() - ageMs);
  utimesSync(path, renewed, renewed);
}

it('of another machine holds until it was not renewed for long', async () => {
  leaveElsewhere(LEASE_MS - 30_000);
  expect(await readHolder(path)).toEqual({ pid: 7 });
  expect(await claimSession(path)).toEqual({ pid: 7 });
  leaveElsewhere(LEASE_MS + 1_000);
  expect(await readHolder(path)).toBeUndefined();
  expect(await claimSession(path)).toHaveProperty('release');
  expect(readdirSync(folder)).toEqual(['work.claim']);
});

it('of another machine holds forever if it is of a bridge that does not renew it', async () => {
  leaveElsewhere(1_000 * LEASE_MS, false);
  expect(await claimSession(path)).toEqual({ pid: 7 });
});

it('of another machine is judged by the clock of the file system', async () => {
  leaveElsewhere(0);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * LEASE_MS });
  onTestFinished(() => void vi.useRealTimers());
  expect(await claimSession(path)).toEqual({ pid: 7 });
});

it('is renewed while it is held, and neither renewed nor removed when another bridge has taken it', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const claim = await claimSession(path);
  const agePath = () => Date.now() - statSync(path).mtimeMs;
  const past = new Date(Date.now() - LEASE_MS);
  utimesSync(path, past, past);
  vi.advanceTimersByTime(LEASE_MS);
  await vi.waitFor(() => expect(agePath()).toBeLessThan(LEASE_MS / 2));
  expect('isHeld' in claim && (await claim.isHeld())).toBe(true);

  leaveElsewhere(0);
  expect('isHeld' in claim && (await claim.isHeld())).toBe(false);
  await ('release' in claim ? claim.release() : undefined);
  expect(await readHolder(path)).toEqual({ pid: 7 });
});
