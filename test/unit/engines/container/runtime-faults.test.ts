import { describe, expect, test } from 'vitest';
import { judgeRuntime } from '../../../../src/edges/engines/container/runtime-faults.ts';

const OLD = 'CVE-2024-21626';
const NEW = 'CVE-2025-31133, CVE-2025-52565, CVE-2025-52881';

describe('known container escapes', () => {
  test.each([
    ['1.0.3', `${OLD}, ${NEW}`],
    ['1.1.5', `${OLD}, ${NEW}`],
    ['1.1.11', `${OLD}, ${NEW}`],
    ['1.1.12', NEW],
    ['1.1.15', NEW],
    ['1.2.7', NEW],
    ['1.3.2', NEW],
  ])('runc %s has %s', (version, ids) => {
    expect(judgeRuntime({ name: 'runc', version }, 'v2')).toEqual([
      {
        level: 'warning',
        text: `runc ${version} has known container escapes (${ids}), unless your distribution has patched it`,
        hint: 'Look for these in the changelog of the package, or update runc to 1.2.8, 1.3.3 or newer.',
      },
    ]);
  });

  test.each(['1.2.8', '1.2.9', '1.3.3', '1.4.0', '2.0'])('runc %s has none', (version) => {
    expect(judgeRuntime({ name: 'runc', version }, 'v2')).toEqual([]);
  });

  test('names the package, because the version number does not show patches', () => {
    const runtime = { name: 'runc', version: '1.1.5', package: 'runc_1.1.5+ds1-1+deb12u1_amd64' };
    expect(judgeRuntime(runtime, 'v1')[0]?.text).toMatch(/patched it \(package runc_1\.1\.5\+ds1-1\+deb12u1_amd64\)$/);
  });

  test('say nothing about unknown versions and runtimes', () => {
    expect(judgeRuntime({ name: 'runc', version: undefined }, 'v2')).toEqual([]);
    expect(judgeRuntime({ name: undefined, version: undefined }, undefined)).toEqual([]);
    expect(judgeRuntime({ name: 'runsc', version: '1.0.0' }, 'v2')).toEqual([]);
  });
});

test('warns about crun only with a hybrid cgroup hierarchy', () => {
  expect(judgeRuntime({ name: 'crun', version: '1.8' }, 'v1')).toMatchObject([{ level: 'warning' }]);
  expect(judgeRuntime({ name: 'crun', version: '1.8' }, 'v2')).toEqual([]);
});
