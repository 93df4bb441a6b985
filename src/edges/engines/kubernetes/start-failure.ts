/**
 * Why a Pod did not start, read from what `kubectl` and the status of the Pod say, and the error that a person or a model gets. Pure
 * functions. The patterns match Kubernetes 1.20 (observed) and later versions (from their sources).
 */
import { BridgeError, type ErrorCode } from '../../../core/base/errors.ts';
import { COMMAND } from '../../../core/base/package.ts';
import type { SandboxExit } from '../../../core/session/engine.ts';
import { describeExit, missingProgram, NO_ERROR_OUTPUT, summarizeStderr } from '../failed-process.ts';
import type { PodTrouble } from './pod-state.ts';

interface Cause {
  readonly pattern: RegExp;
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
}

const LOGIN_HINT = 'Check that this works: kubectl get pods';
/** The first one that matches counts. Some texts contain the word of a later one. */
const CAUSES: readonly Cause[] = [
  {
    // The second is what kubectl says if it remembers them from before.
    pattern: /no matches for kind "SandboxClaim"|could not find the requested resource \(post sandboxclaims/,
    code: 'ENGINE_UNAVAILABLE',
    message: 'the cluster has no agent-sandbox',
    hint: 'Install agent-sandbox with its extensions (v1beta1), or unset MCP_BRIDGE_KUBERNETES_WARM_POOL.',
  },
  {
    pattern: /exceeded quota|must specify (limits|requests)\.|maximum \S+ usage per|minimum \S+ usage per/i,
    code: 'ENGINE_FAILED',
    message: 'a quota of the namespace does not allow another sandbox',
    hint: 'End sessions, lower MCP_BRIDGE_MEMORY or MCP_BRIDGE_CPUS, or ask for a larger quota.',
  },
  {
    pattern: /violates PodSecurity|unable to validate against any (pod )?security (policy|context constraint)/i,
    code: 'ENGINE_UNAVAILABLE',
    message: 'Pod Security does not admit the sandbox',
    hint: 'Use a namespace that enforces the standard "restricted" or a weaker one, with MCP_BRIDGE_KUBERNETES_NAMESPACE.',
  },
  {
    pattern: /admission webhook .* denied|denied the request/i,
    code: 'ENGINE_UNAVAILABLE',
    message: 'a rule of the cluster does not admit the sandbox',
    hint: 'Ask for an exception, or satisfy the rule with the settings MCP_BRIDGE_KUBERNETES_*.',
  },
  {
    pattern: /\(Forbidden\)|cannot \w+ resource|is forbidden: User/i,
    code: 'ENGINE_UNAVAILABLE',
    message: 'Kubernetes refused this user',
    hint: `Grant the rights that this lists: ${COMMAND} help kubernetes`,
  },
  {
    pattern: /Unauthorized|must be logged in|getting credentials|provide credentials|exec: executable \S+ not found/i,
    code: 'ENGINE_UNAVAILABLE',
    message: 'kubectl is not logged in',
    hint: LOGIN_HINT,
  },
  {
    pattern: /namespaces? "[^"]*" not found/i,
    code: 'ENGINE_UNAVAILABLE',
    message: 'the namespace does not exist',
    hint: 'Create it, or set MCP_BRIDGE_KUBERNETES_NAMESPACE to another one.',
  },
  {
    pattern:
      /context "?[^"]*"? does not exist|no context exists|error loading config|no configuration has been provided|invalid configuration|localhost:8080/i,
    code: 'ENGINE_UNAVAILABLE',
    message: 'kubectl has no cluster',
    hint: 'Set KUBECONFIG, and MCP_BRIDGE_KUBERNETES_CONTEXT if the current context is another one.',
  },
  {
    pattern:
      /connection to the server .* was refused|unable to connect to the server|no such host|i\/o timeout|connection refused|TLS handshake timeout|EOF$/im,
    code: 'ENGINE_UNAVAILABLE',
    message: 'the cluster does not answer',
    hint: LOGIN_HINT,
  },
];

const PREFIX = /^(?:error|Error from server(?: \(\w+\))?): /;
/** Of `kubectl` itself: severity and date (klog). It may be all that there is. */
const LOG_LINE = /^[EIW]\d{4} /;

/** The error for a command of `kubectl` that failed. */
export function commandError(what: string, stderr: string, exit: SandboxExit = NO_EXIT): BridgeError {
  const detail =
    summarizeStderr(stderr, { prefix: PREFIX, noise: LOG_LINE }) || summarizeStderr(stderr) || NO_ERROR_OUTPUT;
  const cause = CAUSES.find(({ pattern }) => pattern.test(stderr));
  if (cause !== undefined) {
    return startError(cause.code, `${cause.message}: ${detail}`, cause.hint, detail);
  }
  const end = exit === NO_EXIT ? '' : ` (${describeExit(exit)})`;
  return startError('ENGINE_FAILED', `${what} failed${end}: ${detail}`, LOGIN_HINT, detail);
}

/** The error for a Pod that does not run. */
export function podError({ detail, kind }: PodTrouble, image: string): BridgeError {
  const text = summarizeStderr(detail);
  if (missingProgram(detail) === 'python3') {
    const hint = 'Set MCP_BRIDGE_IMAGE to an image with Python 3.10 or newer, for example python:3.14-slim.';
    return startError('IMAGE_UNSUITABLE', `the image ${image} has no python3 on its PATH: ${text}`, hint, text);
  }
  switch (kind) {
    case 'image': {
      const hint =
        'Check MCP_BRIDGE_IMAGE. A private registry needs MCP_BRIDGE_KUBERNETES_PULL_SECRETS; an image that is only on the node needs MCP_BRIDGE_PULL=never.';
      return startError('IMAGE_MISSING', `the node could not get the image ${image}: ${text}`, hint, text);
    }
    case 'unschedulable': {
      const hint =
        'Lower MCP_BRIDGE_MEMORY or MCP_BRIDGE_CPUS, check MCP_BRIDGE_KUBERNETES_NODE_SELECTOR and _TOLERATIONS, or add a node and run the cell again.';
      return startError('ENGINE_FAILED', `no node of the cluster can take the sandbox: ${text}`, hint, text);
    }
    case 'slow': {
      const hint = 'Run the cell again in a minute. To see what the cluster is waiting for: kubectl get events';
      return startError('ENGINE_FAILED', `the Pod of the sandbox does not run yet: ${text}`, hint, text);
    }
    case 'ended':
    case 'start':
      return startError(
        'ENGINE_FAILED',
        `the Pod of the sandbox did not start: ${text}`,
        'Check MCP_BRIDGE_MEMORY and the settings MCP_BRIDGE_KUBERNETES_*. To see more: kubectl get events',
        text,
      );
  }
}

/** The error if `kubectl` cannot be run. */
export function noKubectl(executable: string, reason: string): BridgeError {
  return startError(
    'ENGINE_UNAVAILABLE',
    `${executable} cannot be run: ${reason}`,
    'Install kubectl (https://kubernetes.io/docs/tasks/tools/), or set MCP_BRIDGE_KUBECTL to its path.',
    reason,
  );
}

/** The error if the user wants folders of this machine in the sandbox. */
export function noFolders(): BridgeError {
  return startError(
    'ENGINE_UNAVAILABLE',
    'the kubernetes engine cannot mount folders of this machine',
    'Unset MCP_BRIDGE_MOUNTS, or set MCP_BRIDGE_RUNTIME to another engine.',
    '',
  );
}

const NO_EXIT: SandboxExit = { exitCode: undefined, signal: undefined };

function startError(code: ErrorCode, message: string, hint: string, stderr: string): BridgeError {
  return new BridgeError(code, message, { hint, data: { engine: 'kubernetes', stderr, retryNow: false } });
}
