/** What `doctor` reports about a cluster: its version, and the rights that the user lacks there. */
import { COMMAND } from '../../../core/base/package.ts';
import type { EngineFact } from '../../../core/session/engine.ts';
import type { Kubectl } from './kubectl.ts';
import { POLICY_NAME } from './pod.ts';
import { fullName, type Right } from './rights.ts';

const RIGHTS_HINT = `Grant the rights that this lists: ${COMMAND} help kubernetes`;

/** Never rejects. */
export async function examineCluster(kubectl: Kubectl, rights: readonly Right[]): Promise<EngineFact[]> {
  const version = await kubectl.run(['version', '--output=json']);
  const server = /"serverVersion"[^}]*"gitVersion":\s*"([^"]+)"/.exec(version.stdout)?.[1];
  if (server === undefined) {
    // Why it cannot be used is reported already.
    return [];
  }
  const [missing, lacksPolicy] = await Promise.all([missingRights(kubectl, rights), cannotHavePolicy(kubectl)]);
  return [
    { level: 'ok', text: `the cluster runs Kubernetes ${server}` },
    ...missing.map((right): EngineFact => {
      return { level: 'problem', text: `this user may not ${right}`, hint: RIGHTS_HINT };
    }),
    ...(lacksPolicy
      ? [
          {
            level: 'warning' as const,
            text: 'this user may not create the network policy, so sandboxes refuse network sockets unless it exists',
            hint: RIGHTS_HINT,
          },
        ]
      : []),
  ];
}

async function missingRights(kubectl: Kubectl, rights: readonly Right[]): Promise<string[]> {
  const pairs = rights.flatMap((right) => right.verbs.map((verb) => [verb, fullName(right)] as const));
  const answers = await Promise.all(
    pairs.map(async ([verb, resource]) => ((await may(kubectl, verb, resource)) ? [] : [`${verb} ${resource}`])),
  );
  return answers.flat();
}

/** Someone who may do more may have created it. */
async function cannotHavePolicy(kubectl: Kubectl): Promise<boolean> {
  if (await may(kubectl, 'create', 'networkpolicies.networking.k8s.io')) {
    return false;
  }
  const found = await kubectl.run(['get', 'networkpolicy', POLICY_NAME, '--output=name']);
  return found.exitCode !== 0;
}

/** True also if nobody says. */
async function may(kubectl: Kubectl, verb: string, resource: string): Promise<boolean> {
  const { stdout } = await kubectl.run(['auth', 'can-i', verb, resource]);
  return !stdout.startsWith('no');
}
