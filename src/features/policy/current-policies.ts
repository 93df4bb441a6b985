/** Keeps the policies up to date with their files. Reads nothing before the first use. */

import type { Logger } from '../../core/base/log.ts';
import type { PlacedPolicy } from '../../edges/servers/server-file.ts';
import { createPolicyFile, type PolicyFile } from './policy-file.ts';
import { createSharedCounts, type SharedCounts } from './rules/limits.ts';
import { Policies } from './rules/policies.ts';
import { type ReadPolicy, readPolicy } from './rules/schema.ts';

/** A configured server, reduced to what its policy needs. */
export interface PolicyOwner {
  readonly file: string;
  readonly policy: PlacedPolicy | undefined;
}

/** The current policies: the same object until something changes; undefined if there are none and every call is allowed. */
export type CurrentPolicies = () => Policies | undefined;

export interface CurrentPoliciesOptions {
  readonly stateDir: string;
  /** The configured servers by name; the same map until they change. */
  readonly definitions: () => ReadonlyMap<string, PolicyOwner>;
  readonly logger: Logger;
  /** Policies with the same object count calls together: those of a principal in all its profiles. */
  readonly countedFor?: object | undefined;
  /** For tests; `performance.now` by default. */
  readonly nowMs?: () => number;
}

const sharedCounts = new WeakMap<object, SharedCounts>();

export function createCurrentPolicies({
  stateDir,
  definitions,
  logger,
  countedFor = {},
  nowMs,
}: CurrentPoliciesOptions): CurrentPolicies {
  const shared = sharedCounts.get(countedFor) ?? createSharedCounts();
  sharedCounts.set(countedFor, shared);
  const readFile = createPolicyFile(stateDir, nowMs);
  let known: { readonly file: PolicyFile | undefined; readonly owners: ReadonlyMap<string, PolicyOwner> } | undefined;
  let current: Policies | undefined;
  /** Problems of the current policies that are already in the log. */
  let logged = new Set<string>();

  function logProblems(policies: readonly ReadPolicy[]): void {
    const problems = policies.flatMap((read) => ('problem' in read ? [read.problem] : []));
    problems
      .filter((problem) => !logged.has(problem))
      .forEach((problem) => logger.error(`Calls are refused: ${problem}`));
    logged = new Set(problems);
  }

  return () => {
    const file = readFile();
    const owners = definitions();
    if (known === undefined || file !== known.file || owners !== known.owners) {
      if (known !== undefined && file !== known.file) {
        logger.info(
          file === undefined
            ? 'policy.json was removed and no longer applies.'
            : 'policy.json changed; the new version applies.',
        );
      }
      known = { file, owners };
      const ofFile = file && readPolicyFile(file);
      const entries = readEntries(owners);
      logProblems([...(ofFile === undefined ? [] : [ofFile]), ...entries.values()]);
      const isAny = ofFile !== undefined || entries.size > 0;
      const kept = current?.counts() ?? new Map();
      current = isAny ? new Policies(ofFile, entries, { kept, shared }) : undefined;
    }
    return current;
  };
}

function readPolicyFile(read: PolicyFile): ReadPolicy {
  const { file } = read;
  return 'problem' in read
    ? { place: { file, path: '' }, problem: `${file} ${read.problem}` }
    : readPolicy(read.value, file);
}

function readEntries(owners: ReadonlyMap<string, PolicyOwner>): Map<string, ReadPolicy> {
  const entries = new Map<string, ReadPolicy>();
  for (const [name, { file, policy }] of owners) {
    if (policy !== undefined) {
      entries.set(name, readPolicy(policy.value, file, policy.path));
    }
  }
  return entries;
}
