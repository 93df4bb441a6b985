import { expect, it } from 'vitest';
import { withUsualFolders } from '../../../src/engines/usual-folders.ts';

it('leaves Linux alone', () => {
  const env = { PATH: '/usr/bin' };
  expect(withUsualFolders(env, 'linux')).toBe(env);
});

it('finds engines behind the short PATH of desktop programs on macOS', () => {
  expect(withUsualFolders({ PATH: '/usr/bin:/bin', HOME: '/Users/u' }, 'darwin')).toEqual({
    PATH: '/usr/bin:/bin:/opt/podman/bin:/opt/homebrew/bin:/usr/local/bin:/Applications/Docker.app/Contents/Resources/bin:/Users/u/.docker/bin',
    HOME: '/Users/u',
  });
  expect(withUsualFolders({}, 'darwin')['PATH']).toMatch(/^\/opt\/podman\/bin:/);
});

it('finds them on Windows, however PATH is written', () => {
  const env = { Path: 'C:\\Windows', ProgramFiles: 'D:\\Programs', LOCALAPPDATA: 'C:\\Users\\u\\AppData\\Local' };
  const folders = [
    'C:\\Windows',
    'D:\\Programs\\RedHat\\Podman',
    'D:\\Programs\\Docker\\Docker\\resources\\bin',
    'C:\\Users\\u\\AppData\\Local\\Programs\\Podman',
  ];
  expect(withUsualFolders(env, 'win32')).toEqual({ ...env, Path: folders.join(';') });
});
