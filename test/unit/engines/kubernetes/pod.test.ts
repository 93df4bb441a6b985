import { describe, expect, it } from 'vitest';
import { INSTANCE_LABEL, PID_LABEL } from '../../../../src/edges/engines/container/labels.ts';
import { networkPolicy, type PodRequest, podManifest } from '../../../../src/edges/engines/kubernetes/pod.ts';

const MIB = 1024 * 1024;
const request: PodRequest = {
  name: 'mcp-bridge-x-1',
  labels: { [INSTANCE_LABEL]: 'x', [PID_LABEL]: '7' },
  image: 'python:3.14-slim',
  limits: { memoryBytes: 512 * MIB, pids: 128, tmpBytes: 64 * MIB, workspaceBytes: 128 * MIB },
  user: '65534:65534',
  placement: {},
  holder: 'HOLDER',
  sockets: 'try',
};

describe('the manifest of a Pod', () => {
  it('is this', () => {
    expect(podManifest(request)).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'mcp-bridge-x-1', labels: { [INSTANCE_LABEL]: 'x' }, annotations: { [PID_LABEL]: '7' } },
      spec: {
        restartPolicy: 'Never',
        activeDeadlineSeconds: 86_400,
        terminationGracePeriodSeconds: 1,
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        hostname: 'sandbox',
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['127.0.0.1'] },
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 65_534,
          runAsGroup: 65_534,
          fsGroup: 65_534,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          {
            name: 'sandbox',
            image: 'python:3.14-slim',
            imagePullPolicy: 'IfNotPresent',
            command: ['python3', '-I', '-u', '-X', 'utf8', '-c', 'HOLDER'],
            args: ['60', '40', 'try', String(128 * MIB)],
            workingDir: '/workspace',
            env: [
              { name: 'HOME', value: '/workspace' },
              { name: 'PYTHONUNBUFFERED', value: '1' },
              { name: 'PYTHONIOENCODING', value: 'utf-8' },
              { name: 'PYTHONDONTWRITEBYTECODE', value: '1' },
            ],
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
            resources: {
              requests: { memory: String(512 * MIB), cpu: '100m' },
              limits: { memory: String(512 * MIB) },
            },
            volumeMounts: [
              { name: 'tmp', mountPath: '/tmp' },
              { name: 'workspace', mountPath: '/workspace' },
            ],
          },
        ],
        volumes: [
          { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: String(64 * MIB) } },
          { name: 'workspace', emptyDir: { medium: 'Memory', sizeLimit: String(128 * MIB) } },
        ],
      },
    });
  });

  it('follows the settings', () => {
    const manifest = podManifest({
      ...request,
      limits: { ...request.limits, cpus: 0.05 },
      placement: {
        imagePullPolicy: 'Always',
        imagePullSecrets: ['registry'],
        nodeSelector: { pool: 'sandboxes' },
        tolerations: [
          { key: 'sandboxes', value: 'only', effect: 'NoSchedule' },
          { key: 'spot', value: undefined, effect: undefined },
        ],
        runtimeClass: 'gvisor',
        annotations: { 'sidecar.istio.io/inject': 'false' },
      },
    });
    expect(manifest).toMatchObject({
      metadata: { annotations: { 'sidecar.istio.io/inject': 'false', [PID_LABEL]: '7' } },
      spec: {
        imagePullSecrets: [{ name: 'registry' }],
        nodeSelector: { pool: 'sandboxes' },
        tolerations: [
          { key: 'sandboxes', operator: 'Equal', value: 'only', effect: 'NoSchedule' },
          { key: 'spot', operator: 'Exists' },
        ],
        runtimeClassName: 'gvisor',
        containers: [{ imagePullPolicy: 'Always', resources: { requests: { cpu: '50m' }, limits: { cpu: '50m' } } }],
      },
    });
  });

  it('belongs to the Pod of the bridge, if there is one', () => {
    const owner = { namespace: 'mcp-bridge', name: 'bridge-0', uid: '0a1b' };
    expect(podManifest({ ...request, placement: { owner } })).toMatchObject({
      metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'bridge-0', uid: '0a1b' }] },
    });
  });

  it('is refused for root', () => {
    expect(() => podManifest({ ...request, user: '0' })).toThrow('must not be root');
  });
});

describe('the network policy', () => {
  it('is for the Pods of all bridges, and allows nothing', () => {
    expect(networkPolicy()).toMatchObject({
      spec: {
        podSelector: { matchExpressions: [{ key: INSTANCE_LABEL, operator: 'Exists' }] },
        policyTypes: ['Ingress', 'Egress'],
      },
    });
  });
});
