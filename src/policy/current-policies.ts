/** Keeps the policies in step with their files. Nothing is read before they are first asked for. */

import type { Logger } from '../base/log.ts';
import type { PlacedPolicy } from '../servers/server-file.ts';
import { createPolicyFile, type PolicyFile } from './policy-file.ts';
import { Policies } from './rules/policies.ts';
import { type ReadPolicy, readPolicy } from './rules/read-policy.ts';

/** A configured server, as far as its policy is concerned. */
export interface PolicyOwner {
  readonly file: string;
  readonly policy: PlacedPolicy | undefined;
}

/** The policies of now, the same object as long as nothing changed; undefined when there are none, and all is allowed. */
export type CurrentPolicies = () => Policies | undefined;

export interface CurrentPoliciesOptions {
  readonly stateDir: string;
  /** The configured servers of now by name; the same map as long as they did not change. */
  readonly definitions: () => ReadonlyMap<string, PolicyOwner>;
  readonly logger: Logger;
  /** For tests; `performance.now` when left out. */
  readonly nowMs?: () => number;
}

export function createCurrentPolicies({
  stateDir,
  definitions,
  logger,
  nowMs,
}: CurrentPoliciesOptions): CurrentPolicies {
  const readFile = createPolicyFile(stateDir, nowMs);
  let known: { readonly file: PolicyFile | undefined; readonly owners: ReadonlyMap<string, PolicyOwner> } | undefined;
  let current: Policies | undefined;
  /** What was logged of the policies of now, so that it is logged once. */
  let told = new Set<string>();

  function tell(policies: readonly ReadPolicy[]): void {
    const problems = policies.flatMap((read) => ('problem' in read ? [read.problem] : []));
    problems
      .filter((problem) => !told.has(problem))
      .forEach((problem) => logger.error(`Calls are refused: ${problem}`));
    told = new Set(problems);
  }

  return () => {
    const file = readFile();
    const owners = definitions();
    if (known === undefined || file !== known.file || owners !== known.owners) {
      if (known !== undefined && file !== known.file) {
        logger.info(
          file === undefined ? 'policy.json is gone; calls are no longer bound by it.' : 'policy.json has changed.',
        );
      }
      known = { file, owners };
      const ofFile = file && readPolicyFile(file);
      const entries = readEntries(owners);
      tell([...(ofFile === undefined ? [] : [ofFile]), ...entries.values()]);
      const isAny = ofFile !== undefined || entries.size > 0;
      current = isAny ? new Policies(ofFile, entries, current?.counts()) : undefined;
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
