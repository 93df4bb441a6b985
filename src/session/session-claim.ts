/** Which bridge has a session that lasts: a file with the owner, because two bridges must not write the same checkpoint. */
import { randomUUID } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';
import { currentOwner, isOwnerGone } from '../base/owner.ts';
import { withFileLock } from '../state/file-lock.ts';
import { OWNER_ONLY_FILE, readBounded, TEMPORARY_SUFFIX } from '../state/state-files.ts';

const ClaimSchema = z.object({ host: z.string(), pid: z.int(), started: z.string(), machine: z.string() });
const MAX_CLAIM_BYTES = 4_096;

export interface Claim {
  release(): Promise<void>;
}

/** A claim, or the process that has the session. Rejects if the file can be neither written nor read. */
export async function claimSession(path: string): Promise<Claim | { readonly pid: number }> {
  const temporary = `${path}.${randomUUID()}${TEMPORARY_SUFFIX}`;
  await writeFile(temporary, JSON.stringify({ ...currentOwner(), machine: hostname() }), {
    flag: 'wx',
    mode: OWNER_ONLY_FILE,
  });
  try {
    return await takeClaim(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** By a link: otherwise another bridge could read half of a claim. */
async function takeClaim(temporary: string, path: string): Promise<Claim | { readonly pid: number }> {
  for (;;) {
    try {
      await link(temporary, path);
      // A claim that stays is that of a process that is gone.
      return { release: () => rm(path, { force: true }).catch(() => undefined) };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
        throw error;
      }
    }
    const holder = (await readHolder(path)) ?? (await withFileLock(`${path}.lock`, () => removeStale(path)));
    if (holder !== undefined) {
      return holder;
    }
  }
}

/**
 * Removes the claim of a process that is gone; returns the holder if there is one. Only under the lock: of two bridges that
 * find the same stale claim, the slower would remove the new claim of the faster.
 */
async function removeStale(path: string): Promise<{ readonly pid: number } | undefined> {
  let text: string;
  try {
    text = await readClaim(path);
  } catch (error) {
    if (isMissing(error)) {
      return undefined;
    }
    text = '';
  }
  const holder = holderOf(text);
  if (holder === undefined) {
    await rm(path, { force: true });
  }
  return holder;
}

/** The process that has it; undefined if that is certainly gone, or the file says nothing. */
export async function readHolder(path: string): Promise<{ readonly pid: number } | undefined> {
  return readClaim(path).then(holderOf, () => undefined);
}

async function readClaim(path: string): Promise<string> {
  return (await readBounded(path, MAX_CLAIM_BYTES)).toString('utf8');
}

function holderOf(text: string): { readonly pid: number } | undefined {
  try {
    const claim = ClaimSchema.parse(JSON.parse(text));
    const hasRestarted = claim.machine === hostname() && bootOf(claim.host) !== bootOf(currentOwner().host);
    return hasRestarted || isOwnerGone(claim) ? undefined : { pid: claim.pid };
  } catch {
    // Nothing that a bridge wrote.
    return undefined;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function bootOf(host: string): string | undefined {
  return host.split(':')[0];
}
