import { expect, it } from 'vitest';
import { executablePaths } from '../../../src/engines/executable.ts';

it('looks in the absolute folders of PATH, as each system writes them', () => {
  expect(executablePaths('podman', { PATH: '/usr/bin:bin::/opt' }, 'linux')).toEqual([
    '/usr/bin/podman',
    '/opt/podman',
  ]);
  expect(executablePaths('docker', { Path: 'C:\\a b;tools;D:\\' }, 'win32')).toEqual([
    'C:\\a b\\docker.exe',
    'D:\\docker.exe',
  ]);
  expect(executablePaths('docker', {}, 'darwin')).toEqual([]);
});
