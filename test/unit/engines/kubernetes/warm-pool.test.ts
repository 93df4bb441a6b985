/** What is sent to agent-sandbox, against its published schema, and how its answers are read. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { INSTANCE_LABEL, PID_LABEL } from '../../../../src/edges/engines/container/labels.ts';
import { podManifest } from '../../../../src/edges/engines/kubernetes/pod.ts';
import { claimManifest, judgeClaim, poolManifests } from '../../../../src/edges/engines/kubernetes/warm-pool.ts';
import { ROOT } from '../../../support/bridge-client.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
}

const definition = parse(readFileSync(join(ROOT, 'test/fixtures/agent-sandbox/sandboxclaims.yaml'), 'utf8')) as {
  spec: { group: string; versions: { name: string; schema: { openAPIV3Schema: Schema } }[] };
};
const [version = expect.fail('no version')] = definition.spec.versions;

/** The API drops fields that it does not know. Here they are errors. */
function strict(schema: Schema): Schema {
  const { items, properties } = schema;
  const closed = properties !== undefined && {
    properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, strict(value)])),
    additionalProperties: false,
  };
  return { ...schema, ...closed, ...(items !== undefined && { items: strict(items) }) };
}

const { metadata: _, ...properties } = version.schema.openAPIV3Schema.properties ?? {};
const validate = new Ajv({ strict: false, validateFormats: false }).compile(
  strict({ ...version.schema.openAPIV3Schema, properties: { ...properties, metadata: {} } }),
);

const request = {
  name: 'mcp-bridge-x-1',
  labels: { [INSTANCE_LABEL]: 'x', [PID_LABEL]: '7' },
  placement: { warmPool: 'pool', owner: { namespace: 'a', name: 'bridge-0', uid: '0a1b' } },
};

describe('a claim', () => {
  const claim = claimManifest(request, new Date('2026-01-02T03:04:05.678Z'));

  it('satisfies the published schema', () => {
    expect([validate(claim), validate.errors]).toEqual([true, null]);
    expect(validate({ ...claim, spec: { sandboxTemplateRef: { name: 'pool' } } })).toBe(false);
  });

  it('is this', () => {
    expect(claim).toEqual({
      apiVersion: `${definition.spec.group}/${version.name}`,
      kind: 'SandboxClaim',
      metadata: {
        name: 'mcp-bridge-x-1',
        labels: { [INSTANCE_LABEL]: 'x' },
        annotations: { [PID_LABEL]: '7' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'bridge-0', uid: '0a1b' }],
      },
      spec: {
        warmPoolRef: { name: 'pool' },
        lifecycle: {
          shutdownTime: '2026-01-03T03:04:05Z',
          shutdownPolicy: 'Delete',
          ttlSecondsAfterFinished: 60,
        },
      },
    });
  });
});

describe('the status of a claim', () => {
  const judge = (status: object) => judgeClaim(JSON.stringify(status));
  const condition = (type: string, status: string, reason: string, message = '') => {
    return { type, status, reason, message, lastTransitionTime: '2026-01-02T03:04:05Z' };
  };

  it('names the sandbox once it is ready', () => {
    const status = {
      conditions: [condition('Ready', 'True', 'DependenciesReady')],
      sandbox: { name: 'pool-abc', podIPs: ['10.0.0.1'] },
    };
    expect([validate({ spec: { warmPoolRef: { name: 'pool' } }, status }), validate.errors]).toEqual([true, null]);
    expect(judge(status)).toEqual({ is: 'running', sandbox: 'pool-abc' });
    expect(judge({ ...status, sandbox: {} })).toMatchObject({ is: 'waiting' });
  });

  it('says what it waits for', () => {
    expect(judge({})).toMatchObject({
      is: 'waiting',
      trouble: { kind: 'slow', detail: expect.stringContaining('not') },
    });
    expect(judge({ conditions: [condition('Ready', 'False', 'WarmPoolNotFound', 'there is none')] })).toEqual({
      is: 'waiting',
      trouble: { kind: 'slow', detail: 'WarmPoolNotFound: there is none' },
    });
  });

  it('says that its Pod has ended', () => {
    const conditions = [condition('Ready', 'False', 'PodFailed'), condition('Finished', 'True', 'PodFailed', 'OOM')];
    expect(judge({ conditions, sandbox: { name: 'pool-abc' } })).toEqual({
      is: 'failed',
      trouble: { kind: 'ended', detail: 'PodFailed: OOM' },
    });
  });
});

describe('the manifests of a pool', () => {
  const pod = {
    image: 'python:3.14-slim',
    limits: { memoryBytes: 1, pids: 1, tmpBytes: 1, workspaceBytes: 1 },
    user: '65534',
    placement: {},
    holder: 'HOLDER',
    sockets: 'try' as const,
  };

  it('have Pods like those of the engine, which wait for a bridge, without a deadline or a network', () => {
    const [template, pool] = poolManifests('pool', 3, pod) as [{ spec: { podTemplate: { spec: object } } }, object];
    const { activeDeadlineSeconds, ...spec } = (
      podManifest({ ...pod, name: 'pool', labels: {}, waitSeconds: 31_536_000 }) as {
        spec: { activeDeadlineSeconds: number };
      }
    ).spec;
    expect(activeDeadlineSeconds).toBe(86_400);
    expect(template).toEqual({
      apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
      kind: 'SandboxTemplate',
      metadata: { name: 'pool' },
      spec: {
        podTemplate: { metadata: { labels: { [INSTANCE_LABEL]: 'pool' } }, spec },
        networkPolicyManagement: 'Managed',
        networkPolicy: {},
      },
    });
    expect(pool).toMatchObject({ spec: { replicas: 3, sandboxTemplateRef: { name: 'pool' } } });
  });
});
