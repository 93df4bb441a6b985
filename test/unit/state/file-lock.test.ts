import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type * as promises from 'node:fs/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const fs = vi.hoisted(() => ({ isDiskFull: false, attempts: 0 }));

/** A full disk still creates an empty file, as a full tmpfs does. */
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof promises>();
  const writeFile: typeof real.writeFile = async (file, data, options) => {
    fs.attempts += 1;
    await real.writeFile(file, fs.isDiskFull ? '' : data, options);
    if (fs.isDiskFull) {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    }
  };
  return { ...real, writeFile };
});

const { withFileLock } = await import('../../../src/core/state/file-lock.ts');

/** Resolves when a process that waits for the lock has looked at it. */
async function attempted(): Promise<void> {
  const before = fs.attempts;
  await expect.poll(() => fs.attempts).toBeGreaterThan(before + 1);
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bridge-lock-'));
});
afterEach(async () => {
  fs.isDiskFull = false;
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

describe('withFileLock', () => {
  it('runs one at a time, and leaves no lock behind', async () => {
    const lock = join(folder, 'lock');
    const steps: string[] = [];
    const work = (name: string) => async () => {
      steps.push(`${name} begins`);
      await new Promise(setImmediate);
      steps.push(`${name} ends`);
    };
    await Promise.all([withFileLock(lock, work('one')), withFileLock(lock, work('two'))]);
    const [first, ...rest] = steps.map((step) => step.split(' ')[0]);
    expect(rest).toEqual([first, rest[1], rest[1]]);
    expect(existsSync(lock)).toBe(false);
  });

  // After 60 s it broke any lock, also one that another process had just taken.
  it('waits for each of several holders as long as for the first', async () => {
    const lock = join(folder, 'lock');
    writeFileSync(lock, 'first');
    vi.useFakeTimers({ toFake: ['performance'] });
    let hasRun = false;
    const waiting = withFileLock(lock, async () => {
      hasRun = true;
    });
    for (const holder of ['second', 'third']) {
      await attempted();
      vi.advanceTimersByTime(40_000);
      writeFileSync(join(folder, holder), '');
      renameSync(join(folder, holder), lock);
      await attempted();
    }
    expect(hasRun).toBe(false);
    rmSync(lock);
    await waiting;
    expect(hasRun).toBe(true);
  });

  // The next command used to wait 60 s for an empty lock that no process held.
  it('leaves no lock behind if the disk is full', async () => {
    fs.isDiskFull = true;
    const lock = join(folder, 'lock');
    expect(await withFileLock(lock, async () => 'done')).toBe('done');
    expect(existsSync(lock)).toBe(false);
  });

  // It used to wait forever for a dangling link, and a folder caused an internal error after 60 s.
  it('does not wait for something that cannot be a lock', async () => {
    const lock = join(folder, 'lock');
    symlinkSync(join(folder, 'nowhere'), lock);
    expect(await withFileLock(lock, async () => 'done')).toBe('done');
    const other = join(folder, 'other');
    mkdirSync(other);
    expect(await withFileLock(other, async () => 'done')).toBe('done');
    expect(existsSync(other)).toBe(true);
  });
});
