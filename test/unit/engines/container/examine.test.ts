import { describe, expect, test } from 'vitest';
import { type ContainerEngineInfo, judgeEngine, readInfo } from '../../../../src/edges/engines/container/examine.ts';

/** Output of podman 4.3.1 in Debian 12 as root, shortened. */
const PODMAN = JSON.stringify({
  host: {
    cgroupControllers: ['cpuset', 'cpu', 'memory', 'pids'],
    cgroupVersion: 'v1',
    ociRuntime: { name: 'runc', version: 'runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1' },
    security: { rootless: false, seccompEnabled: true },
  },
  version: { Version: '4.3.1' },
});
/** Output for daemon 20.10.24 in Debian 12, shortened. */
const DOCKER = JSON.stringify({
  MemoryLimit: true,
  PidsLimit: true,
  CgroupVersion: '1',
  DefaultRuntime: 'runc',
  RuncCommit: { ID: '1.1.5+ds1-1+deb12u1' },
  SecurityOptions: ['name=seccomp,profile=default'],
  ServerVersion: '20.10.24+dfsg1',
});
const GOOD: ContainerEngineInfo = {
  version: '5.6.0',
  isRootless: true,
  cgroupVersion: 'v2',
  limitsMemory: true,
  limitsProcesses: true,
  ociRuntime: 'crun',
  ociRuntimeVersion: '1.24',
  hasSeccomp: true,
};

describe('reading the output of', () => {
  test('podman', () => {
    expect(readInfo('podman', PODMAN)).toEqual({
      ...GOOD,
      version: '4.3.1',
      isRootless: false,
      cgroupVersion: 'v1',
      ociRuntime: 'runc',
      ociRuntimeVersion: '1.1.5',
    });
  });

  test('docker', () => {
    expect(readInfo('docker', DOCKER)).toEqual({
      ...GOOD,
      version: '20.10.24+dfsg1',
      isRootless: false,
      cgroupVersion: 'v1',
      ociRuntime: 'runc',
      ociRuntimeVersion: '1.1.5',
    });
  });

  test('a docker whose daemon does not answer gives no facts', () => {
    // docker 20.10 then exits with 0.
    const answer = { ServerErrors: ['Cannot connect to the Docker daemon'], ClientInfo: { Debug: false } };
    expect(readInfo('docker', JSON.stringify(answer))).toBeUndefined();
  });

  test('a rootless podman without delegated controllers', () => {
    const host = { cgroupControllers: null, security: { rootless: true } };
    expect(readInfo('podman', JSON.stringify({ host }))).toMatchObject({
      isRootless: true,
      limitsMemory: false,
      limitsProcesses: false,
    });
  });

  test('a Docker Desktop switched to Windows containers, which cannot run sandboxes', () => {
    const info = readInfo('docker', JSON.stringify({ OSType: 'windows', ServerVersion: '28.3.2' }));
    expect(info && judgeEngine(info)).toEqual([
      { level: 'ok', text: 'version 28.3.2, as root' },
      {
        level: 'warning',
        text: 'it runs Windows containers, but sandboxes need Linux containers',
        hint: 'Choose "Switch to Linux containers" in the menu of Docker Desktop.',
      },
    ]);
  });

  test.each(['', 'null', 'Cannot connect'])('%j is nothing', (text) => {
    expect(readInfo('docker', text)).toBeUndefined();
  });
});

describe('the findings', () => {
  const levels = (change: Partial<ContainerEngineInfo>) =>
    judgeEngine({ ...GOOD, ...change }).map(({ level }) => level);

  test('are one line if all is well', () => {
    expect(judgeEngine(GOOD)).toEqual([{ level: 'ok', text: 'version 5.6.0, rootless, cgroup v2, crun 1.24' }]);
  });

  test('warn about missing limits, a missing filter, and crun with a hybrid cgroup hierarchy', () => {
    expect(levels({ limitsMemory: false })).toEqual(['ok', 'warning']);
    expect(levels({ hasSeccomp: false })).toEqual(['ok', 'warning']);
    expect(levels({ cgroupVersion: 'v1' })).toEqual(['ok', 'warning']);
  });

  test('warn about a runtime with known vulnerabilities', () => {
    const facts = judgeEngine({
      ...GOOD,
      ociRuntime: 'runc',
      ociRuntimeVersion: '1.1.5',
      ociRuntimePackage: 'runc_1.1.5',
    });
    expect(facts[1]).toMatchObject({
      level: 'warning',
      text: expect.stringMatching(/^runc 1\.1\.5 has .* runc_1\.1\.5\)$/),
    });
  });

  test('leave out what is unknown', () => {
    const nothing = Object.fromEntries(Object.keys(GOOD).map((key) => [key, undefined])) as never;
    expect(judgeEngine(nothing)).toEqual([]);
  });
});
