import { describe, expect, test } from 'vitest';
import { type ContainerEngineInfo, judgeEngine, readInfo } from '../../../../src/engines/container/examine.ts';

/** What podman 4.3.1 of Debian 12 says as root, shortened. */
const PODMAN = JSON.stringify({
  host: {
    cgroupControllers: ['cpuset', 'cpu', 'memory', 'pids'],
    cgroupVersion: 'v1',
    ociRuntime: { name: 'runc', version: 'runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1' },
    security: { rootless: false, seccompEnabled: true },
  },
  version: { Version: '4.3.1' },
});
/** What the daemon 20.10.24 of Debian 12 says, shortened. */
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
  boundsMemory: true,
  boundsProcesses: true,
  ociRuntime: 'crun',
  ociRuntimeVersion: '1.24',
  hasSeccomp: true,
};

describe('what the engines say', () => {
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

  test('a docker whose daemon does not answer tells nothing', () => {
    // As docker 20.10 ends with 0.
    const answer = { ServerErrors: ['Cannot connect to the Docker daemon'], ClientInfo: { Debug: false } };
    expect(readInfo('docker', JSON.stringify(answer))).toBeUndefined();
  });

  test('a rootless podman without delegated controllers', () => {
    const host = { cgroupControllers: null, security: { rootless: true } };
    expect(readInfo('podman', JSON.stringify({ host }))).toMatchObject({
      isRootless: true,
      boundsMemory: false,
      boundsProcesses: false,
    });
  });

  test('a Docker Desktop that was switched to Windows containers, which is no engine for sandboxes', () => {
    const info = readInfo('docker', JSON.stringify({ OSType: 'windows', ServerVersion: '28.3.2' }));
    expect(info && judgeEngine(info)).toEqual([
      { level: 'ok', text: 'version 28.3.2, as root' },
      {
        level: 'warning',
        text: 'it runs Windows containers, and sandboxes are Linux ones',
        hint: 'Choose "Switch to Linux containers" in the menu of Docker Desktop.',
      },
    ]);
  });

  test.each(['', 'null', 'Cannot connect'])('%j is nothing', (text) => {
    expect(readInfo('docker', text)).toBeUndefined();
  });
});

describe('what is made of it', () => {
  const levels = (change: Partial<ContainerEngineInfo>) =>
    judgeEngine({ ...GOOD, ...change }).map(({ level }) => level);

  test('one line when all is well', () => {
    expect(judgeEngine(GOOD)).toEqual([{ level: 'ok', text: 'version 5.6.0, rootless, cgroup v2, crun 1.24' }]);
  });

  test('warnings for missing limits, a missing filter, and crun on mixed hierarchies', () => {
    expect(levels({ boundsMemory: false })).toEqual(['ok', 'warning']);
    expect(levels({ hasSeccomp: false })).toEqual(['ok', 'warning']);
    expect(levels({ cgroupVersion: 'v1' })).toEqual(['ok', 'warning']);
  });

  test('a warning for a runtime with known faults', () => {
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

  test('what is not known is not said', () => {
    const nothing = Object.fromEntries(Object.keys(GOOD).map((key) => [key, undefined])) as never;
    expect(judgeEngine(nothing)).toEqual([]);
  });
});
