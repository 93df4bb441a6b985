/**
 * The objects that the engine creates: a Pod for each sandbox, within the "restricted" Pod Security Standard, and one NetworkPolicy.
 * Pure functions.
 */
import { BridgeError } from '../../../core/base/errors.ts';
import type { SandboxLimits } from '../../../core/session/engine.ts';
import { INSTANCE_LABEL } from '../container/labels.ts';
import { userAndGroup } from '../process-limits.ts';
import type { Placement } from './kubectl.ts';

/** Name of the only container of a Pod; service meshes add others. */
export const CONTAINER = 'sandbox';
export const POLICY_NAME = 'mcp-bridge-no-network';
/** A Pod that no bridge claims ends after this time. Nodes that pull a large image need minutes, which do not count. Chosen. */
const CLAIM_SECONDS = 60;
/** How long the bridge may be silent. It sends something every 10 s. A Pod must not outlive its bridge by more than a minute. */
const LEASE_SECONDS = 40;
/** If all else fails. Chosen: a day, the longest deadline of a cell. */
const DEADLINE_SECONDS = 24 * 60 * 60;
const REQUESTED_CPU = 0.1;

/** What the first process does about sockets: close them, or close them if it finds that the Pod has a network. */
export type Sockets = 'closed' | 'try';

export interface PodRequest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly limits: SandboxLimits;
  /** `UID[:GID]`. */
  readonly user: string;
  readonly placement: Placement;
  /** The Python program of the first process. */
  readonly holder: string;
  readonly sockets: Sockets;
  /** How long it waits for a bridge. */
  readonly waitSeconds?: number;
}

/** The manifest of a Pod. Throws `CONFIG_INVALID` for the user root. */
export function podManifest(request: PodRequest): object {
  const { placement } = request;
  const [uid, gid] = userAndGroup(request.user).map(Number);
  if (uid === 0) {
    throw new BridgeError('CONFIG_INVALID', 'the user of a Pod must not be root', {
      hint: 'Set MCP_BRIDGE_CONTAINER_USER to another user, or remove it.',
    });
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: labelled(request),
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: DEADLINE_SECONDS,
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostname: 'sandbox',
      // There is no network to look names up in, and the addresses of the cluster are nothing for code to know.
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['127.0.0.1'] },
      securityContext: {
        runAsNonRoot: true,
        runAsUser: uid,
        runAsGroup: gid,
        fsGroup: gid,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...placementOf(placement),
      containers: [containerOf(request)],
      volumes: [
        { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: String(request.limits.tmpBytes) } },
        { name: 'workspace', emptyDir: { medium: 'Memory', sizeLimit: String(request.limits.workspaceBytes) } },
      ],
    },
  };
}

/** The metadata of what the engine creates for a sandbox. */
export function labelled({ labels, name, placement }: Pick<PodRequest, 'name' | 'labels' | 'placement'>): object {
  const { [INSTANCE_LABEL]: instance = '', ...others } = labels;
  return {
    name,
    // Values of labels allow fewer characters than those of annotations.
    labels: { [INSTANCE_LABEL]: instance },
    annotations: { ...placement.annotations, ...others },
    ...ownedBy(placement),
  };
}

/** The cluster deletes what the Pod of the bridge leaves, also if its node is lost. */
function ownedBy({ owner }: Placement): object {
  return owner === undefined
    ? {}
    : { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: owner.name, uid: owner.uid }] };
}

function containerOf(request: PodRequest): object {
  const { holder, image, limits, placement, sockets, waitSeconds = CLAIM_SECONDS } = request;
  return {
    name: CONTAINER,
    image,
    imagePullPolicy: placement.imagePullPolicy ?? 'IfNotPresent',
    command: ['python3', '-I', '-u', '-X', 'utf8', '-c', holder],
    args: [waitSeconds, LEASE_SECONDS, sockets, Math.max(limits.tmpBytes, limits.workspaceBytes)].map(String),
    workingDir: '/workspace',
    env: Object.entries({
      HOME: '/workspace',
      PYTHONUNBUFFERED: '1',
      PYTHONIOENCODING: 'utf-8',
      PYTHONDONTWRITEBYTECODE: '1',
    }).map(([name, value]) => ({ name, value })),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    resources: resourcesOf(limits),
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'workspace', mountPath: '/workspace' },
    ],
  };
}

/** Memory is reserved in full: a node without it would end sessions to get it back. Processors are shared. */
function resourcesOf({ cpus, memoryBytes }: SandboxLimits): object {
  const memory = String(memoryBytes);
  return {
    requests: { memory, cpu: millicores(Math.min(cpus ?? REQUESTED_CPU, REQUESTED_CPU)) },
    limits: { memory, ...(cpus === undefined ? {} : { cpu: millicores(cpus) }) },
  };
}

function millicores(cpus: number): string {
  return `${Math.max(1, Math.round(cpus * 1000))}m`;
}

function placementOf({ imagePullSecrets, nodeSelector, runtimeClass, tolerations }: Placement): object {
  return {
    ...(imagePullSecrets === undefined ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(runtimeClass === undefined ? {} : { runtimeClassName: runtimeClass }),
    ...(tolerations === undefined
      ? {}
      : {
          tolerations: tolerations.map(({ effect, key, value }) => ({
            key,
            ...(value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value }),
            ...(effect === undefined ? {} : { effect }),
          })),
        }),
  };
}

/** Nothing in and nothing out, for the Pods of all bridges. */
export function networkPolicy(): object {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: POLICY_NAME },
    spec: {
      podSelector: { matchExpressions: [{ key: INSTANCE_LABEL, operator: 'Exists' }] },
      policyTypes: ['Ingress', 'Egress'],
    },
  };
}
