import { describe, expect, it } from 'vitest';
import { executablePaths, withInstallFolders } from '../../../src/edges/engines/executable.ts';

it('looks in the absolute folders of PATH, in the syntax of each system', () => {
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

describe('the folders of the installers', () => {
  it('are not needed on Linux', () => {
    const env = { PATH: '/usr/bin' };
    expect(withInstallFolders(env, 'linux')).toBe(env);
  });

  it('follow the short PATH of desktop programs on macOS', () => {
    expect(withInstallFolders({ PATH: '/usr/bin:/bin', HOME: '/Users/u' }, 'darwin')).toEqual({
      PATH: '/usr/bin:/bin:/opt/podman/bin:/opt/homebrew/bin:/usr/local/bin:/Applications/Docker.app/Contents/Resources/bin:/Users/u/.docker/bin',
      HOME: '/Users/u',
    });
    expect(withInstallFolders({}, 'darwin')['PATH']).toMatch(/^\/opt\/podman\/bin:/);
  });

  it('follow it on Windows, in whatever case PATH is written', () => {
    const env = { Path: 'C:\\Windows', ProgramFiles: 'D:\\Programs', LOCALAPPDATA: 'C:\\Users\\u\\AppData\\Local' };
    const folders = [
      'C:\\Windows',
      'D:\\Programs\\RedHat\\Podman',
      'D:\\Programs\\Docker\\Docker\\resources\\bin',
      'C:\\Users\\u\\AppData\\Local\\Programs\\Podman',
    ];
    expect(withInstallFolders(env, 'win32')).toEqual({ ...env, Path: folders.join(';') });
  });
});
