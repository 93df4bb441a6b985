import { expect, it } from 'vitest';
import { browserCommand } from '../../../../src/edges/upstream/oauth/browser.ts';

const URL_TEXT = 'https://example.org/authorize?a=1&b=$(id);c=%COMSPEC%';

it.each([
  ['darwin', {}, { command: 'open', args: [URL_TEXT] }],
  [
    'win32',
    { SystemRoot: 'D:\\Win' },
    { command: 'D:\\Win\\System32\\rundll32.exe', args: ['url.dll,FileProtocolHandler', URL_TEXT] },
  ],
  ['linux', { DISPLAY: ':0' }, { command: 'xdg-open', args: [URL_TEXT] }],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, { command: 'xdg-open', args: [URL_TEXT] }],
  ['linux', {}, undefined],
] as const)(
  'on %s with %j the address is one argument of a program and never reaches a shell',
  (platform, env, command) => {
    expect(browserCommand(URL_TEXT, platform, env)).toEqual(command);
  },
);
