/** `packages add`: fetches packages into the store now. The person who types the names allows them. */
import { BridgeError } from '../../core/base/errors.ts';
import { type BuilderOptions, buildPackages, type StoreLimits } from './build.ts';
import { lockKey, type PackageLocks } from './locks.ts';
import type { PackageIndex } from './package-index.ts';
import type { ReportOf } from './report.ts';
import type { FileRequirement } from './requirements-file.ts';

export interface AddOptions extends BuilderOptions, StoreLimits {
  readonly index: PackageIndex;
  readonly minAgeMs: number;
  readonly image: string;
  readonly locks: PackageLocks;
  readonly onProgress: (report: ReportOf<'progress'>) => void;
}

/** Resolves with the new set. Rejects with `PACKAGE_UNAVAILABLE`, which has the reason, and with `STATE_WRITE_FAILED`. */
export async function addPackages(wanted: readonly FileRequirement[], options: AddOptions): Promise<ReportOf<'done'>> {
  const { image, index, locks, minAgeMs } = options;
  const requirements = [...new Set(wanted.map(({ text }) => text))].toSorted();
  const hashes = new Set(wanted.flatMap((one) => one.hashes));
  // Files that are known by their hashes are the same at any age.
  const uploadedBefore = minAgeMs === 0 || hashes.size > 0 ? undefined : new Date(Date.now() - minAgeMs);
  const job = { requirements: [...new Set(wanted.map(lineOf))], constraints: [], uploadedBefore };
  const done = await buildPackages(job, options);
  const other = done.packages.find(({ sha256 }) => hashes.size > 0 && !hashes.has(sha256));
  if (other !== undefined) {
    throw new BridgeError('PACKAGE_UNAVAILABLE', `the hash of ${other.file} is not in the file`, {
      hint: 'Check the index; the packages were not added.',
    });
  }
  const key = lockKey({ requirements, constraints: [], index, image, minAgeMs });
  const { packages, python, set } = done;
  const facts = { image, allowed_by: 'command', added_at: Date.now() };
  await locks.write(key, { version: 1, requirements, python, set, packages, ...facts });
  return done;
}

function lineOf({ hashes, text }: FileRequirement): string {
  return [text, ...hashes.map((hash) => `--hash=sha256:${hash}`)].join(' ');
}
