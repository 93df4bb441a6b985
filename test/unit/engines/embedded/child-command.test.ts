import { describe, expect, it } from 'vitest';
import { childArguments, javascriptArguments } from '../../../../src/edges/engines/embedded/child-command.ts';

const limits = { memoryBytes: 536_870_912, pids: 128, tmpBytes: 67_108_864, workspaceBytes: 134_217_728 };
const build = (nodeVersion: string) =>
  childArguments({ folder: '/embedded', limits, name: 'mcp-bridge-x-1', nodeVersion });

describe('the arguments of Node', () => {
  it('are pinned', () => {
    expect(build('24.1.0')).toEqual([
      '--no-warnings',
      '--no-addons',
      '--permission',
      '--allow-worker',
      '--allow-fs-read=/embedded/*',
      '/embedded/child.cjs',
      '/embedded',
      '536870912',
      '67108864',
      '134217728',
      'session',
      'mcp-bridge-x-1',
    ]);
  });

  it('say that a program is to run, not the cells of a session', () => {
    const wanted = { folder: '/e', limits, name: 'x', nodeVersion: '24.1.0' };
    expect(childArguments(wanted, 'program').slice(-2)).toEqual(['program', 'x']);
  });

  it('are pinned for JavaScript', () => {
    expect(javascriptArguments({ folder: '/e', limits, name: 'x', nodeVersion: '24.1.0' })).toEqual([
      '--no-warnings',
      '--no-addons',
      '--permission',
      '--allow-worker',
      '--allow-fs-read=/e/*',
      '/e/javascript.cjs',
      '/e',
      '536870912',
      '134217728',
      'x',
    ]);
  });

  it.each([
    ['20.19.0', '--experimental-permission'],
    ['22.12.0', '--experimental-permission'],
    ['22.13.0', '--permission'],
    ['23.4.0', '--experimental-permission'],
    ['23.5.0', '--permission'],
    ['26.0.0', '--permission'],
  ])('enable the permission model of Node %s with %s', (version, flag) => {
    expect(build(version)).toContain(flag);
  });
});
