import { expect, it } from 'vitest';
import { treeEnding } from '../../../src/base/process-tree.ts';

const RUNNING = { pid: 4711, hasEnded: false };
const ENDED = { pid: 4711, hasEnded: true };
const TASKKILL = {
  kind: 'command',
  command: 'C:\\Windows\\System32\\taskkill.exe',
  args: ['/PID', '4711', '/T', '/F'],
};

it.each(['linux', 'darwin'] as const)('on %s the group gets the signal, also when its leader is gone', (platform) => {
  expect(treeEnding(RUNNING, 'SIGTERM', platform, {})).toEqual({ kind: 'signal', pid: -4711 });
  expect(treeEnding(ENDED, 'SIGKILL', platform, {})).toEqual({ kind: 'signal', pid: -4711 });
});

it('on Windows taskkill ends the tree of a child that runs, and nothing else', () => {
  expect(treeEnding(RUNNING, 'SIGKILL', 'win32', { SYSTEMROOT: 'C:\\Windows' })).toEqual(TASKKILL);
  expect(treeEnding(RUNNING, 'SIGTERM', 'win32', {})).toBeUndefined();
  // Its number may be that of a stranger by now.
  expect(treeEnding(ENDED, 'SIGKILL', 'win32', {})).toBeUndefined();
});
