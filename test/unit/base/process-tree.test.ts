import { expect, it } from 'vitest';
import { treeEnding } from '../../../src/core/base/process-tree.ts';

const RUNNING = { pid: 4711, hasEnded: false };
const ENDED = { pid: 4711, hasEnded: true };
const TASKKILL = {
  kind: 'command',
  command: 'C:\\Windows\\System32\\taskkill.exe',
  args: ['/PID', '4711', '/T', '/F'],
};

it.each(['linux', 'darwin'] as const)('on %s, signals the group even if its leader has ended', (platform) => {
  expect(treeEnding(RUNNING, 'SIGTERM', platform, {})).toEqual({ kind: 'signal', pid: -4711 });
  expect(treeEnding(ENDED, 'SIGKILL', platform, {})).toEqual({ kind: 'signal', pid: -4711 });
});

it('on Windows, runs taskkill for the tree of a running child, and nothing else', () => {
  expect(treeEnding(RUNNING, 'SIGKILL', 'win32', { SYSTEMROOT: 'C:\\Windows' })).toEqual(TASKKILL);
  expect(treeEnding(RUNNING, 'SIGTERM', 'win32', {})).toBeUndefined();
  // Its id may belong to another process by now.
  expect(treeEnding(ENDED, 'SIGKILL', 'win32', {})).toBeUndefined();
});
