/** Which bridge has a session that lasts: a file with the owner, because two bridges must not write the same checkpoint. */
import { randomUUID } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';
import { currentOwner, isOwnerGone } from '../base/owner.ts';
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
    const holder = await readHolder(path);
    if (holder !== undefined) {
      return holder;
    }
    await rm(path, { force: true });
  }
}

/** The process that has it; undefined if that is certainly gone, or the file says nothing. */
export async function readHolder(path: string): Promise<{ readonly pid: number } | undefined> {
  try {
    const claim = ClaimSchema.parse(JSON.parse((await readBounded(path, MAX_CLAIM_BYTES)).toString('utf8')));
    const hasRestarted = claim.machine === hostname() && bootOf(claim.host) !== bootOf(currentOwner().host);
    return hasRestarted || isOwnerGone(claim) ? undefined : { pid: claim.pid };
  } catch {
    // A bridge that was killed while it wrote.
    return undefined;
  }
}

function bootOf(host: string): string | undefined {
  return host.split(':')[0];
}
