import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../../src/core/base/errors.ts';
import { homeFolder, refuseUnusableHome } from '../../../src/core/base/home.ts';

describe('the home folder', () => {
  it('is HOME, but on Windows USERPROFILE even if a shell sets HOME', () => {
    const env = { HOME: '/c/Users/u', USERPROFILE: 'C:\\Users\\u' };
    expect(homeFolder(env, 'win32')).toBe('C:\\Users\\u');
    expect(homeFolder(env, 'linux')).toBe('/c/Users/u');
    expect(homeFolder(env, 'darwin')).toBe('/c/Users/u');
  });

  it('is that of the account if the variable is empty or not set', () => {
    expect(homeFolder({}, 'linux')).toBe(userInfo().homedir);
    // An empty HOME used to mean /MCPs or the working directory.
    expect(homeFolder({ HOME: '' }, 'linux')).toBe(userInfo().homedir);
    expect(homeFolder({ HOME: '' }, 'linux', () => '/home/of-account')).toBe('/home/of-account');
  });

  it('is never relative to the working directory', () => {
    expect(() => homeFolder({ HOME: 'me' }, 'linux')).toThrow("HOME is 'me', which is not an absolute path");
  });
});

it('refuses a home folder that does not exist or is a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'home-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const refusal = (home: string) => refuseUnusableHome({ home }).catch(messageOf);
  expect(await refusal(folder)).toBeUndefined();
  expect(await refusal(file)).toBe(`your home folder ${file} is not a folder; nothing was changed`);
  expect(await refusal(join(folder, 'gone'))).toBe(
    `your home folder ${join(folder, 'gone')} does not exist; nothing was changed`,
  );
});
