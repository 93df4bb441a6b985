/** Which bridge has a session that lasts: a file with the owner, because two bridges must not write the same checkpoint. */
import { randomUUID } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';
import { currentOwner, isOwnerGone } from '../base/owner.ts';
import { withFileLock } from '../state/file-lock.ts';
import { OWNER_ONLY_FILE, openRegularFile, TEMPORARY_SUFFIX } from '../state/state-files.ts';

const ClaimSchema = z.object({ host: z.string(), pid: z.int(), started: z.string(), machine: z.string() });
const MAX_CLAIM_BYTES = 4_096;
/** What opening a symbolic link without following it fails with. */
const LINK_REFUSED = 'ELOOP';

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
      if (codeOf(error) !== 'EEXIST') {
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
    if (codeOf(error) === 'ENOENT') {
      return undefined;
    }
    if (codeOf(error) !== undefined && codeOf(error) !== LINK_REFUSED) {
      // Who has it is unknown, as when too many files are open.
      throw error;
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

/** A second link is no reason to refuse the file: a new claim has one until its temporary file is removed. */
async function readClaim(path: string): Promise<string> {
  const file = await openRegularFile(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_CLAIM_BYTES), 0, MAX_CLAIM_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
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

/** Of the operating system; undefined for errors of our own, such as that the file is not a regular one. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function bootOf(host: string): string | undefined {
  return host.split(':')[0];
}
