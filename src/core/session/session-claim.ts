/**
 * Which bridge has a session that lasts: a file with the owner, because two bridges must not write the same checkpoint. On the same
 * machine, the process tells whether a claim still holds. Bridges on other machines may share the folder; for them a claim is a lease,
 * which its owner renews by writing to the file. Whoever was stopped for longer has lost the session to one that asked for it.
 */
import { randomUUID } from 'node:crypto';
import { link, open, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';
import { currentOwner, isOwnerGone } from '../base/owner.ts';
import { withFileLock } from '../state/file-lock.ts';
import { OWNER_ONLY_FILE, openRegularFile, TEMPORARY_SUFFIX } from '../state/state-files.ts';

const ClaimSchema = z.object({
  host: z.string(),
  pid: z.int(),
  started: z.string(),
  machine: z.string(),
  /** Whether its owner renews it. Older bridges do not. */
  isLease: z.boolean().default(false),
});
const MAX_CLAIM_BYTES = 4_096;
/** What opening a symbolic link without following it fails with. */
const LINK_REFUSED = 'ELOOP';
const RENEW_MS = 20_000;
/** Six times as long: a machine under load, or a folder on another one, must not cost a session. Chosen. */
export const LEASE_MS = 120_000;

export interface Claim {
  /** False if another bridge has taken the session, because this one did not renew its claim in time. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/** A claim, or the process that has the session. Rejects if the file can be neither written nor read. */
export async function claimSession(path: string): Promise<Claim | { readonly pid: number }> {
  const temporary = `${path}.${randomUUID()}${TEMPORARY_SUFFIX}`;
  const text = JSON.stringify({ ...currentOwner(), machine: hostname(), isLease: true });
  await writeFile(temporary, text, { flag: 'wx', mode: OWNER_ONLY_FILE });
  try {
    return await takeClaim(temporary, path, text);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** By a link: otherwise another bridge could read half of a claim. */
async function takeClaim(temporary: string, path: string, text: string): Promise<Claim | { readonly pid: number }> {
  for (;;) {
    try {
      await link(temporary, path);
      return new Lease(path, text);
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
  let claim: ReadClaim;
  try {
    claim = await readClaim(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return undefined;
    }
    if (codeOf(error) !== undefined && codeOf(error) !== LINK_REFUSED) {
      // Who has it is unknown, as when too many files are open.
      throw error;
    }
    claim = { text: '', renewedMs: 0 };
  }
  const holder = await holderOf(claim, path);
  if (holder === undefined) {
    await rm(path, { force: true });
  }
  return holder;
}

/** The process that has it; undefined if that is certainly gone, or the file says nothing. */
export async function readHolder(path: string): Promise<{ readonly pid: number } | undefined> {
  return readClaim(path).then(
    (claim) => holderOf(claim, path),
    () => undefined,
  );
}

interface ReadClaim {
  readonly text: string;
  /** By the clock of the file system. */
  readonly renewedMs: number;
}

/** A second link is no reason to refuse the file: a new claim has one until its temporary file is removed. */
async function readClaim(path: string): Promise<ReadClaim> {
  const file = await openRegularFile(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_CLAIM_BYTES), 0, MAX_CLAIM_BYTES, 0);
    return { text: buffer.toString('utf8', 0, bytesRead), renewedMs: (await file.stat()).mtimeMs };
  } finally {
    await file.close();
  }
}

async function holderOf({ text, renewedMs }: ReadClaim, path: string): Promise<{ readonly pid: number } | undefined> {
  let claim: z.infer<typeof ClaimSchema>;
  try {
    claim = ClaimSchema.parse(JSON.parse(text));
  } catch {
    // Nothing that a bridge wrote.
    return undefined;
  }
  const { host } = currentOwner();
  const hasRestarted = claim.machine === hostname() && bootOf(claim.host) !== bootOf(host);
  const isElsewhere = claim.host !== host && claim.isLease;
  const isGone = hasRestarted || isOwnerGone(claim) || (isElsewhere && (await isLeaseOver(path, renewedMs)));
  return isGone ? undefined : { pid: claim.pid };
}

/** By the clock of the file system, because those of two machines may differ. */
async function isLeaseOver(path: string, renewedMs: number): Promise<boolean> {
  if (Date.now() - renewedMs < LEASE_MS) {
    return false;
  }
  const probe = `${path}.${randomUUID()}${TEMPORARY_SUFFIX}`;
  try {
    await writeFile(probe, '', { flag: 'wx', mode: OWNER_ONLY_FILE });
    return (await stat(probe)).mtimeMs - renewedMs >= LEASE_MS;
  } catch {
    // Who cannot write here cannot take the session either.
    return false;
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}

class Lease implements Claim {
  readonly #path: string;
  readonly #text: string;
  readonly #timer: NodeJS.Timeout;

  constructor(path: string, text: string) {
    this.#path = path;
    this.#text = text;
    this.#timer = setInterval(() => void this.#renew(), RENEW_MS).unref();
  }

  async isHeld(): Promise<boolean> {
    return readClaim(this.#path).then(
      ({ text }) => text === this.#text,
      () => false,
    );
  }

  /** A claim that stays is that of a process that is gone. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    if (await this.isHeld()) {
      await rm(this.#path, { force: true }).catch(() => undefined);
    }
  }

  /** Writes what is there, because setting a time would use the clock of this machine. Never rejects. */
  async #renew(): Promise<void> {
    if (await this.isHeld()) {
      const file = await open(this.#path, 'r+').catch(() => undefined);
      await file?.write('{', 0).catch(() => undefined);
      await file?.close().catch(() => undefined);
    }
  }
}

/** Of the operating system; undefined for errors of our own, such as that the file is not a regular one. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function bootOf(host: string): string | undefined {
  return host.split(':')[0];
}
