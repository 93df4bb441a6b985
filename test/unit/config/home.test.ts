import { homedir } from 'node:os';
import { expect, it } from 'vitest';
import { homeFolder } from '../../../src/config/home.ts';

it('is that of the user, and on Windows that of the account whatever a shell says', () => {
  const env = { HOME: '/c/Users/u', USERPROFILE: 'C:\\Users\\u' };
  expect(homeFolder(env, 'win32')).toBe('C:\\Users\\u');
  expect(homeFolder(env, 'linux')).toBe('/c/Users/u');
  expect(homeFolder(env, 'darwin')).toBe('/c/Users/u');
  expect(homeFolder({}, 'linux')).toBe(homedir());
});
