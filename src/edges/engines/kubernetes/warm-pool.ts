/**
 * Sandboxes from a warm pool of agent-sandbox (kubernetes-sigs/agent-sandbox): the engine creates a SandboxClaim instead of a Pod, and
 * the controller gives it one that waits. Follows `extensions.agents.x-k8s.io/v1beta1` as published; it was not run on the controller.
 * The manifests are pure functions.
 */
import { INSTANCE_LABEL } from '../container/labels.ts';
import type { Kubectl } from './kubectl.ts';
import { labelled, type PodRequest, podManifest } from './pod.ts';
import { joined, type PodState, type PodTrouble, StatusWatch } from './pod-state.ts';

export const CLAIMS = 'sandboxclaims.extensions.agents.x-k8s.io';
const API_VERSION = 'extensions.agents.x-k8s.io/v1beta1';
/** If all else fails. Chosen: as for a Pod. */
const SHUTDOWN_MS = 24 * 60 * 60 * 1000;
/** How long a claim stays whose Pod has ended, if its bridge does not remove it. Chosen. */
const FINISHED_SECONDS = 60;
/** How long a Pod of the pool waits for a bridge. Chosen: a year, because the pool decides. */
const WAITING_SECONDS = 365 * 24 * 60 * 60;
/** Of Pods that wait. A bridge labels its claims with its own id. */
const POOL_INSTANCE = 'pool';
/** On a Sandbox; without it, its Pod has the same name. */
const POD_NAME = String.raw`{.metadata.annotations.agents\.x-k8s\.io/pod-name}`;

/** The parts of a status (SandboxClaimStatus) that are read here. */
interface ClaimStatus {
  readonly sandbox?: { readonly name?: string };
  readonly conditions?: readonly { type?: string; status?: string; reason?: string; message?: string }[];
}

/** The claim of one sandbox. */
export function claimManifest(request: Pick<PodRequest, 'name' | 'labels' | 'placement'>, now: Date): object {
  const shutdownTime = new Date(now.getTime() + SHUTDOWN_MS).toISOString().replace(/\.\d+/, '');
  return {
    apiVersion: API_VERSION,
    kind: 'SandboxClaim',
    metadata: labelled(request),
    spec: {
      warmPoolRef: { name: request.placement.warmPool },
      lifecycle: { shutdownTime, shutdownPolicy: 'Delete', ttlSecondsAfterFinished: FINISHED_SECONDS },
    },
  };
}

/** Judges the status of a claim, as JSON. */
export function judgeClaim(text: string): PodState & { readonly sandbox?: string } {
  const { conditions = [], sandbox } = JSON.parse(text) as ClaimStatus;
  const conditionOf = (type: string) => conditions.find((condition) => condition.type === type);
  const trouble = (kind: PodTrouble['kind'], type: string): PodTrouble => {
    const { message, reason } = conditionOf(type) ?? {};
    return { kind, detail: joined(reason, message) || 'the controller of agent-sandbox has not reported about it' };
  };
  if (conditionOf('Finished')?.status === 'True') {
    return { is: 'failed', trouble: trouble('ended', 'Finished') };
  }
  if (conditionOf('Ready')?.status === 'True' && sandbox?.name) {
    return { is: 'running', sandbox: sandbox.name };
  }
  return { is: 'waiting', trouble: trouble('slow', 'Ready') };
}

/** Waits for the Pod of a claim, from before it is created. */
export class ClaimWatch {
  readonly #kubectl: Kubectl;
  readonly #watch: StatusWatch;
  #sandbox = '';

  constructor(kubectl: Kubectl, name: string) {
    this.#kubectl = kubectl;
    this.#watch = new StatusWatch(kubectl, CLAIMS, name, (text) => {
      const state = judgeClaim(text);
      this.#sandbox = state.sandbox ?? this.#sandbox;
      return state;
    });
  }

  /** Resolves with what keeps it from running, or with undefined. */
  wait(): Promise<PodTrouble | undefined> {
    return this.#watch.wait();
  }

  end(): void {
    this.#watch.end();
  }

  /** The name of the Pod. Call it once there is one. */
  async podName(): Promise<string> {
    const words = ['get', 'sandboxes.agents.x-k8s.io', this.#sandbox, `--output=jsonpath=${POD_NAME}`];
    const { stdout } = await this.#kubectl.run(words);
    // Without the right to read it, too: `kubectl exec` then says whether there is such a Pod.
    return stdout.trim() || this.#sandbox;
  }
}

/** What the operator applies for a pool: the template of its Pods, and the pool. Its Pods are those of the engine, but wait longer. */
export function poolManifests(name: string, replicas: number, request: Omit<PodRequest, 'name' | 'labels'>): object[] {
  // For the NetworkPolicy of the bridge, too.
  const labels = { [INSTANCE_LABEL]: POOL_INSTANCE };
  const pod = podManifest({ ...request, name, labels, waitSeconds: WAITING_SECONDS }) as {
    metadata: object;
    spec: object;
  };
  const { activeDeadlineSeconds: _, ...spec } = pod.spec as { activeDeadlineSeconds?: number };
  return [
    {
      apiVersion: API_VERSION,
      kind: 'SandboxTemplate',
      metadata: { name },
      // An empty policy allows nothing. Without one, the controller would allow the whole Internet.
      spec: { podTemplate: { metadata: { labels }, spec }, networkPolicyManagement: 'Managed', networkPolicy: {} },
    },
    {
      apiVersion: API_VERSION,
      kind: 'SandboxWarmPool',
      metadata: { name },
      spec: { replicas, sandboxTemplateRef: { name } },
    },
  ];
}
