import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../../src/core/base/log.ts';
import { INSTANCE_LABEL, writeLabels } from '../../../../src/edges/engines/container/labels.ts';
import { createKubernetesEngine } from '../../../../src/edges/engines/kubernetes/kubernetes.ts';
import { parsePods } from '../../../../src/edges/engines/kubernetes/pods.ts';

const labels = { instanceId: 'x', owner: { host: 'h:1', pid: 7, started: '9' }, session: 's', createdAt: new Date(0) };

describe('a listing', () => {
  it('has our Pods, and passes over others', () => {
    const { [INSTANCE_LABEL]: instance, ...others } = writeLabels(labels);
    const line = ['p', 'Running', JSON.stringify({ [INSTANCE_LABEL]: instance }), JSON.stringify(others)].join('\t');
    expect(parsePods(`${line}\nq\tSucceeded\t{}\t\n`)).toEqual([{ id: 'p', isRunning: true, labels }]);
  });
});

describe('the engine', () => {
  const options = {
    image: 'python:3.14-slim',
    limits: { memoryBytes: 1, pids: 1, tmpBytes: 1, workspaceBytes: 1 },
    user: '65534',
    pullPolicy: 'never' as const,
    instanceId: 'x',
    env: {},
    logger: silentLogger,
  };

  it('says so if there is no kubectl', async () => {
    const engine = createKubernetesEngine({ ...options, executable: '/none/kubectl' });
    await expect(engine.start({ command: ['python3'], session: 's' })).rejects.toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: expect.stringContaining('/none/kubectl cannot be run'),
    });
  });

  it('refuses to give sandboxes an owner in another namespace, because the cluster would delete them', () => {
    const owner = { namespace: 'bridges', name: 'bridge-0', uid: '0a1b' };
    const create = (namespace?: string) =>
      createKubernetesEngine({ ...options, placement: { owner, ...(namespace !== undefined && { namespace }) } });
    expect(() => create('sandboxes')).toThrow('the owner of sandboxes is in the namespace bridges');
    expect(create().description).toContain('the namespace bridges');
  });

  it('refuses folders of this machine', async () => {
    const mounts = [{ source: '/a', target: '/b', isWritable: false }];
    const engine = createKubernetesEngine({ ...options, mounts });
    await expect(engine.start({ command: ['python3'], session: 's' })).rejects.toMatchObject({
      message: expect.stringContaining('cannot mount'),
    });
  });
});
