import { describe, expect, it } from 'vitest';
import { judgeStatus, type PodTrouble } from '../../../../src/edges/engines/kubernetes/pod-state.ts';
import { commandError, podError } from '../../../../src/edges/engines/kubernetes/start-failure.ts';

/** Observed with Kubernetes 1.20, except that of Pod Security, which follows its sources. */
const SAID: readonly (readonly [text: string, code: string, message: string])[] = [
  [
    'error: unable to recognize "STDIN": no matches for kind "SandboxClaim" in version "extensions.agents.x-k8s.io/v1beta1"',
    'ENGINE_UNAVAILABLE',
    'the cluster has no agent-sandbox',
  ],
  [
    'Error from server (Forbidden): error when creating "STDIN": pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
    'ENGINE_FAILED',
    'a quota of the namespace does not allow another sandbox',
  ],
  [
    'Error from server (Forbidden): error when creating "STDIN": pods "p" is forbidden: violates PodSecurity "restricted:latest": seccompProfile',
    'ENGINE_UNAVAILABLE',
    'Pod Security does not admit the sandbox',
  ],
  [
    'Error from server (Forbidden): error when creating "STDIN": pods is forbidden: User "eve" cannot create resource "pods" in API group "" in the namespace "default"',
    'ENGINE_UNAVAILABLE',
    'Kubernetes refused this user',
  ],
  ['error: You must be logged in to the server (Unauthorized)', 'ENGINE_UNAVAILABLE', 'kubectl is not logged in'],
  [
    'Error from server (NotFound): error when creating "STDIN": namespaces "none" not found',
    'ENGINE_UNAVAILABLE',
    'the namespace does not exist',
  ],
  ['error: context "none" does not exist', 'ENGINE_UNAVAILABLE', 'kubectl has no cluster'],
  [
    'The connection to the server localhost:8080 was refused - did you specify the right host or port?',
    'ENGINE_UNAVAILABLE',
    'kubectl has no cluster',
  ],
  [
    'The connection to the server 127.0.0.1:16443 was refused - did you specify the right host or port?',
    'ENGINE_UNAVAILABLE',
    'the cluster does not answer',
  ],
  ['error: something else', 'ENGINE_FAILED', 'creating the Pod failed'],
];

// Newer versions write their log to stderr, too, and it was shown instead of the reason (observed).
it('leaves out the log of kubectl', () => {
  const log =
    'E1126 21:59:33.981546 4842 memcache.go:265] "Unhandled Error" err="couldn\'t get current server API group list"';
  const reason = 'The connection to the server localhost:8080 was refused - did you specify the right host or port?';
  expect(commandError('creating the Pod', `${log}\n${log}\n${reason}\n`)).toMatchObject({
    code: 'ENGINE_UNAVAILABLE',
    message: `kubectl has no cluster: ${reason.slice(0, -1)}`,
  });
  expect(commandError('creating the Pod', log).message).toContain('Unhandled Error');
});

describe('what kubectl says', () => {
  it.each(SAID)('%s', (text, code, message) => {
    const error = commandError('creating the Pod', text);
    expect(error).toMatchObject({ code });
    expect(error.message.startsWith(message)).toBe(true);
    expect(error.hint).toBeTruthy();
  });
});

function waitingFor(reason: string, message = ''): string {
  return JSON.stringify({
    phase: 'Pending',
    containerStatuses: [{ name: 'sandbox', state: { waiting: { reason, message } } }],
  });
}

function troubleOf(status: string): PodTrouble | undefined {
  const state = judgeStatus(status);
  return state.is === 'running' ? undefined : state.trouble;
}

describe('the status of a Pod', () => {
  it('runs when its container does, whatever a service mesh adds', () => {
    const other = { name: 'proxy', state: { waiting: { reason: 'CrashLoopBackOff' } } };
    const own = { name: 'sandbox', state: { running: {} } };
    expect(judgeStatus(JSON.stringify({ phase: 'Pending', containerStatuses: [other, own] }))).toEqual({
      is: 'running',
    });
  });

  it('waits while the image is pulled or no node has taken it', () => {
    expect(judgeStatus(waitingFor('ContainerCreating'))).toMatchObject({ is: 'waiting', trouble: { kind: 'slow' } });
    const conditions = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available' },
    ];
    const state = judgeStatus(JSON.stringify({ phase: 'Pending', conditions }));
    expect(state).toMatchObject({ is: 'waiting', trouble: { kind: 'unschedulable' } });
  });

  it.each([
    ['ErrImageNeverPull', 'IMAGE_MISSING'],
    ['ImagePullBackOff', 'IMAGE_MISSING'],
    ['CreateContainerConfigError', 'ENGINE_FAILED'],
  ])('fails at once: %s', (reason, code) => {
    expect(podError(troubleOf(waitingFor(reason, 'said')) as PodTrouble, 'image')).toMatchObject({ code });
  });

  it('names an image without Python', () => {
    const terminated = {
      reason: 'StartError',
      exitCode: 128,
      message: 'failed to create containerd task: exec: "python3": executable file not found in $PATH: unknown',
    };
    const status = JSON.stringify({ phase: 'Failed', containerStatuses: [{ name: 'sandbox', state: { terminated } }] });
    expect(podError(troubleOf(status) as PodTrouble, 'golang')).toMatchObject({ code: 'IMAGE_UNSUITABLE' });
    const ofNode = status.replaceAll('python3', 'kata-runtime');
    expect(podError(troubleOf(ofNode) as PodTrouble, 'golang')).toMatchObject({ code: 'ENGINE_FAILED' });
  });
});
