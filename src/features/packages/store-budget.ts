/**
 * How much of the disk the package stores of principals take. The operator's own store has the limit that is set. Each principal of
 * HTTP has a store of its own, and one for each profile: together at most half of that. All of theirs are at most as large as the limit.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { sizeText } from '../../core/base/units.ts';
import { ownerOfFolder, stateFolders } from '../../core/state/principals.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../../core/state/state-files.ts';

const SizeSchema = z.strictObject({ version: z.literal(1), bytes: z.number().nonnegative() });
const MAX_FILE_BYTES = 1_000;

/** The store of one principal, or of the operator, who has no `operatorsDir`. */
export class StoreBudget {
  readonly #folder: string;
  readonly #operatorsDir: string | undefined;

  constructor(folder: string, operatorsDir: string | undefined) {
    this.#folder = folder;
    this.#operatorsDir = operatorsDir;
  }

  /** How large the store may become. Rejects with `PACKAGE_UNAVAILABLE` if there is nothing left for it. */
  async maxBytes(limitBytes: number): Promise<number> {
    const operatorsDir = this.#operatorsDir;
    if (operatorsDir === undefined) {
      return limitBytes;
    }
    const others = (await storesOf(operatorsDir)).filter(({ folder }) => folder !== this.#folder);
    const owner = ownerOfFolder(operatorsDir, this.#folder);
    const ofProfiles = sumOf(others.filter(({ folder }) => ownerOfFolder(operatorsDir, folder) === owner));
    const ofAll = sumOf(others);
    const maxOfOne = Math.ceil(limitBytes / 2);
    const left = Math.min(maxOfOne - ofProfiles, limitBytes - ofAll);
    if (left <= 0) {
      const message =
        ofProfiles >= maxOfOne
          ? `the packages of other profiles of the token take ${sizeText(ofProfiles)} of the ${sizeText(maxOfOne)} that a token may have`
          : `the packages of other tokens take ${sizeText(ofAll)} of the ${sizeText(limitBytes)} that all tokens may have together`;
      throw new BridgeError('PACKAGE_UNAVAILABLE', message, {
        hint: `Only the operator can make room: ${COMMAND} packages prune --older-than 7d, or raise MCP_BRIDGE_PACKAGES_MAX_SIZE.`,
        data: { kind: 'limit' },
      });
    }
    return left;
  }

  /** Notes how large the store is now, as its builder has measured it. */
  async note(bytes: number | undefined): Promise<void> {
    if (this.#operatorsDir !== undefined && bytes !== undefined) {
      await ensureDirectory(join(this.#folder, 'packages'));
      await writeAtomically(fileIn(this.#folder), [`${JSON.stringify({ version: 1, bytes })}\n`]);
    }
  }
}

/** A store of a principal that something was installed into. */
export interface PrincipalStore {
  /** Where the state of the principal is. */
  readonly folder: string;
  /** Name of that folder, with that of the profile. */
  readonly owner: string;
  readonly bytes: number;
}

/** The stores of all principals. */
export async function storesOf(stateDir: string): Promise<PrincipalStore[]> {
  const folders = (await stateFolders(stateDir)).filter(({ path }) => path !== stateDir);
  const stores = folders.map(async ({ path, principal, profile }): Promise<PrincipalStore[]> => {
    const bytes = await readSize(path);
    const owner = [principal, profile].filter((part) => part !== undefined).join(', profile ');
    return bytes === undefined ? [] : [{ folder: path, owner, bytes }];
  });
  return (await Promise.all(stores)).flat();
}

function sumOf(stores: readonly PrincipalStore[]): number {
  return stores.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function readSize(folder: string): Promise<number | undefined> {
  try {
    const text = (await readBounded(fileIn(folder), MAX_FILE_BYTES)).toString('utf8');
    return SizeSchema.parse(JSON.parse(text)).bytes;
  } catch {
    // Nothing was installed, or the file is damaged: the next installation writes it again.
    return undefined;
  }
}

function fileIn(folder: string): string {
  return join(folder, 'packages', 'store.json');
}
