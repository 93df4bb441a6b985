/** What the engine asks of the cluster. `doctor` checks it, and tests compare the Roles in the documentation and in `deploy/` with it. */

export interface Right {
  /** Empty for the core API. */
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
}

/** Without one of these, no sandbox starts, or none is removed. */
export const POD_RIGHTS: readonly Right[] = [
  // `kubectl get --watch` lists first, and `kubectl exec` and `kubectl delete` read what they are given.
  { group: '', resource: 'pods', verbs: ['create', 'get', 'list', 'watch', 'delete'] },
  // Since Kubernetes 1.35, exec over WebSocket needs `create`, too; before, it needed `get`.
  { group: '', resource: 'pods/exec', verbs: ['create', 'get'] },
];

/** With a warm pool, instead. The Pod is that of a Sandbox, which only says how it is called. */
export const CLAIM_RIGHTS: readonly Right[] = [
  {
    group: 'extensions.agents.x-k8s.io',
    resource: 'sandboxclaims',
    verbs: ['create', 'get', 'list', 'watch', 'delete'],
  },
  { group: 'agents.x-k8s.io', resource: 'sandboxes', verbs: ['get'] },
  { group: '', resource: 'pods', verbs: ['get'] },
  { group: '', resource: 'pods/exec', verbs: ['create', 'get'] },
];

/** Without `create`, someone else must have created the policy. Without `get`, sandboxes close their sockets. */
export const POLICY_RIGHTS: Right = {
  group: 'networking.k8s.io',
  resource: 'networkpolicies',
  verbs: ['create', 'get'],
};

/** As `kubectl auth can-i` takes it. */
export function fullName({ group, resource }: Right): string {
  return group === '' ? resource : `${resource}.${group}`;
}
