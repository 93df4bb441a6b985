/**
 * What a person has put into the store with `packages add`: sessions find it without an index. Several additions serve one request
 * together if they have no package in two versions, because each has all that its own packages need.
 */
import type { PackageLock, StoredLock } from './locks.ts';
import type { LockedPackage } from './report.ts';
import { normalizeName, type Requirement } from './requirement.ts';

interface AddedRequest {
  readonly image: string;
  readonly python: string;
  /** What the session has; its versions stay. */
  readonly present: readonly LockedPackage[];
  readonly wanted: readonly Requirement[];
}

export interface AddedPackages {
  readonly packages: readonly LockedPackage[];
  /** If one addition has exactly these packages: its lock, whose set is complete, and the key of that. */
  readonly lock?: PackageLock;
  readonly key?: string;
}

/** Whether packages satisfy a requirement: any version its bare name, also of one that another needs. */
export function hasPackage(
  packages: readonly LockedPackage[],
  requirements: readonly string[],
  { name, text }: Requirement,
): boolean {
  const version = packages.find((one) => normalizeName(one.name) === name)?.version;
  return requirements.includes(text) || (version !== undefined && (text === name || text === `${name}==${version}`));
}

/** The packages for a request, the last added first; undefined if they lack one, or do not fit together. */
export function findAdded(locks: readonly StoredLock[], request: AddedRequest): AddedPackages | undefined {
  const { image, present, python, wanted } = request;
  const added = locks
    .filter(({ lock }) => lock.added_at !== undefined && lock.set !== null)
    .filter(({ lock }) => lock.image === image && lock.python === python)
    .toSorted((one, other) => (other.lock.added_at ?? 0) - (one.lock.added_at ?? 0));
  let packages = present;
  for (const requirement of wanted) {
    const isThere = hasPackage(packages, [], requirement);
    const found = added.find(
      ({ lock }) =>
        hasPackage(lock.packages, lock.requirements, requirement) && unite(packages, lock.packages) !== undefined,
    );
    const united = isThere ? packages : found && unite(packages, found.lock.packages);
    if (united === undefined) {
      return undefined;
    }
    packages = united;
  }
  const same = added.find(({ lock }) => isSame(lock.packages, packages));
  return same === undefined ? { packages } : { packages, lock: same.lock, key: same.key };
}

/** Packages of two locks; undefined if they have one of them in two versions. */
export function unite(
  some: readonly LockedPackage[],
  others: readonly LockedPackage[],
): readonly LockedPackage[] | undefined {
  const known = new Map(some.map((one) => [normalizeName(one.name), one.sha256]));
  const isFitting = others.every(({ name, sha256 }) => (known.get(normalizeName(name)) ?? sha256) === sha256);
  return isFitting ? [...some, ...others.filter(({ name }) => !known.has(normalizeName(name)))] : undefined;
}

function isSame(some: readonly LockedPackage[], others: readonly LockedPackage[]): boolean {
  return some.length === others.length && unite(some, others)?.length === some.length;
}
