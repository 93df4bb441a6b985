// Tags: bubblewrap, user
/** What `deploy/` gives a bridge in a cluster: rights that are enough, Pods that go with it, and sandboxes from a warm pool. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/core/session/engine.ts';
import type { KubernetesOptions } from '../../../src/edges/engines/kubernetes/kubernetes.ts';
import { poolManifests } from '../../../src/edges/engines/kubernetes/warm-pool.ts';
import { ROOT } from '../../support/bridge-client.ts';
import { configuredAs, isDeleted, tokenOf, until, withToken } from '../../support/cluster.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import { TEST_IMAGES, TEST_LIMITS, type TestEngine } from '../../support/engines.ts';

const kubernetes = (await coverEngines()).find(({ name }) => name === 'kubernetes');
const LIMIT_MS = 60_000;

describe.runIf(kubernetes !== undefined)('in a cluster', () => {
  const engine = kubernetes as TestEngine;
  const folder = mkdtempSync(join(tmpdir(), 'bridge-deploy-'));
  const fileOf = (name: string, contents: string): string => {
    const file = join(folder, name);
    writeFileSync(file, contents);
    return file;
  };
  const kubectl = async (...words: string[]): Promise<string> => {
    const { exitCode, stderr, stdout } = await engine.run(...words);
    expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' });
    return stdout;
  };
  const create = (options: Partial<KubernetesOptions>): Engine => engine.create(options);
  const printed = async (from: Engine, session: string): Promise<string> => {
    const sandbox = await from.start({ command: ['python3', '-c', 'print(6 * 7)'], session });
    sandbox.stderr.resume();
    const [stdout, exit] = await Promise.all([text(sandbox.stdout), sandbox.exited]);
    expect(exit.exitCode).toBe(0);
    return stdout.trim();
  };
  const clean: string[][] = [];
  afterEach(async () => {
    for (const words of clean.splice(0).toReversed()) {
      await engine.run('delete', ...words, '--ignore-not-found', '--wait=false');
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('the account of the base may do what the engine does, and nothing elsewhere', async () => {
    const rendered = await kubectl('kustomize', join(ROOT, 'deploy/kubernetes/base'));
    // Kubernetes 1.20 does not know the final version yet.
    const isOld = (await kubectl('api-versions')).split('\n').every((version) => version !== 'policy/v1');
    const base = isOld ? rendered.replace('apiVersion: policy/v1\n', 'apiVersion: policy/v1beta1\n') : rendered;
    clean.push(['namespace', 'mcp-bridge']);
    // One that an earlier attempt left.
    await kubectl('delete', 'namespace', 'mcp-bridge', '--ignore-not-found', '--timeout=60s');
    await kubectl('apply', `--filename=${fileOf('base.yaml', base)}`);
    const token = await tokenOf(engine, 'mcp-bridge', 'mcp-bridge');
    const options = { ...configuredAs(join(folder, 'config'), withToken(token)), instanceId: `account-${process.pid}` };
    const own = create({ ...options, placement: { namespace: 'mcp-bridge' } });
    expect(await printed(own, 'account')).toBe('42');
    expect(((await own.examine?.()) ?? []).filter(({ level }) => level !== 'ok')).toEqual([]);
    const held = await own.start({ command: ['python3', '-c', 'input()'], session: 'held' });
    expect(await own.list?.()).toMatchObject([{ id: held.id, session: 'held', isRunning: true }]);
    // Without waiting for the kubelet, which may take its time.
    await held.kill();
    expect(await own.sweep({ own: true })).toBeLessThanOrEqual(2);
    const elsewhere = create({ ...options, placement: { namespace: 'default' } });
    await expect(elsewhere.list?.()).rejects.toThrow(
      'cannot list resource "pods" in API group "" in the namespace "default"',
    );
    await expect(printed(elsewhere, 'elsewhere')).rejects.toThrow('Kubernetes refused this user');
  });

  it('a Pod is deleted with that of its bridge', async () => {
    const pod = { name: `bridge-owner-${randomUUID().slice(0, 8)}`, image: 'localhost/bridge/pause:1' };
    clean.push(['pod', pod.name]);
    await kubectl('run', pod.name, `--image=${pod.image}`, '--image-pull-policy=Never', '--restart=Never');
    const uid = await kubectl('get', 'pod', pod.name, '--output=jsonpath={.metadata.uid}');
    const owner = { namespace: 'default', name: pod.name, uid };
    const owned = create({
      instanceId: `owned-${randomUUID().slice(0, 8)}`,
      placement: { owner },
    });
    const sandbox = await owned.start({ command: ['python3', '-c', 'input()'], session: 'owned' });
    // As when the node is lost: the kubelet does not report the end.
    await kubectl('delete', 'pod', pod.name, '--grace-period=0', '--force', '--wait=false');
    await until(() => isDeleted(engine, sandbox.id), LIMIT_MS);
    expect((await sandbox.exited).exitCode).not.toBe(0);
  });

  it('a sandbox comes from a warm pool, and its claim goes with it', async () => {
    const none = create({ placement: { warmPool: 'pool' } });
    await expect(printed(none, 'none')).rejects.toThrow('the cluster has no agent-sandbox');
    const definitions = ['sandboxclaims', 'sandboxes'].map((name) =>
      join(ROOT, `test/fixtures/agent-sandbox/${name}.yaml`),
    );
    clean.push(['customresourcedefinition', 'sandboxclaims.extensions.agents.x-k8s.io', 'sandboxes.agents.x-k8s.io']);
    for (const definition of definitions) {
      await kubectl('apply', `--filename=${definition}`);
      await kubectl('wait', '--for=condition=Established', '--timeout=20s', `--filename=${definition}`);
    }
    await createWaitingPod();
    const pooled = create({
      instanceId: `pooled-${process.pid}`,
      placement: { warmPool: 'pool' },
    });
    const [sandbox] = await Promise.all([
      pooled.start({ command: ['python3', '-c', 'input()'], session: 'pooled' }),
      playController(),
    ]);
    expect(await pooled.list?.()).toMatchObject([{ id: sandbox.id, session: 'pooled', isRunning: true }]);
    expect(
      await kubectl('get', 'sandboxclaims', sandbox.id, '--output=jsonpath={.spec.lifecycle.shutdownPolicy}'),
    ).toBe('Delete');
    await sandbox.kill();
    await until(async () => (await kubectl('get', 'sandboxclaims', '--output=name')) === '', LIMIT_MS);
  });

  /** A Pod as the pool would make it from its template. */
  async function createWaitingPod(): Promise<void> {
    const [template] = poolManifests('pool', 1, {
      image: TEST_IMAGES.slim,
      limits: TEST_LIMITS,
      user: '65534:65534',
      placement: { imagePullPolicy: 'Never' },
      holder: readFileSync(join(ROOT, 'sandbox-runtime/pod/holder.py'), 'utf8'),
      sockets: 'try',
    }) as [{ spec: { podTemplate: { metadata: object; spec: object } } }];
    const { metadata, spec } = template.spec.podTemplate;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'waiting' }, spec };
    clean.push(['pod', 'waiting', '--grace-period=1']);
    await kubectl('create', `--filename=${fileOf('waiting.json', JSON.stringify(pod))}`);
    await kubectl('wait', '--for=condition=Ready', '--timeout=30s', 'pod/waiting');
  }

  /** Gives the claim a sandbox whose Pod has another name. */
  async function playController(): Promise<void> {
    const sandbox = {
      apiVersion: 'agents.x-k8s.io/v1beta1',
      kind: 'Sandbox',
      metadata: { name: 'pool-1', annotations: { 'agents.x-k8s.io/pod-name': 'waiting' } },
    };
    await kubectl('create', `--filename=${fileOf('sandbox.json', JSON.stringify(sandbox))}`);
    let claims: { metadata: { name: string } }[] = [];
    await until(async () => {
      claims = (JSON.parse(await kubectl('get', 'sandboxclaims', '--output=json')) as { items: typeof claims }).items;
      return claims.length === 1;
    }, LIMIT_MS);
    const [claim = expect.fail('no claim')] = claims;
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'DependenciesReady',
      message: 'Pod is Ready',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    };
    const answered = { ...claim, status: { conditions: [ready], sandbox: { name: 'pool-1' } } };
    const path = '/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxclaims';
    const file = fileOf('claim.json', JSON.stringify(answered));
    await kubectl('replace', `--raw=${path}/${claim.metadata.name}/status`, `--filename=${file}`);
  }
});
