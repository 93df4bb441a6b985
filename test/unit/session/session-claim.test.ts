/** Which bridge has a session: one at a time, also if the last one was killed. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { currentOwner } from '../../../src/base/owner.ts';
import { claimSession, readHolder } from '../../../src/session/session-claim.ts';

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
