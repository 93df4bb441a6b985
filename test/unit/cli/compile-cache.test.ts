import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compileCacheFolder } from '../../../src/app/cli/compile-cache.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'compile-cache-'));
});
afterEach(() => rmSync(home, { recursive: true }));

test.each([undefined, '', ' ', '~', '~/kept', ' ~/kept ', '~user', 'ABSOLUTE'])(
  'is in the state directory: %j',
  (given) => {
    const env = { HOME: home, USERPROFILE: home, MCP_BRIDGE_STATE_DIR: given === 'ABSOLUTE' ? join(home, 'x') : given };
    const caches = join(loadSettings(env).stateDir, '.cache');
    if (given === '~user') {
      // Relative to the working directory, where a test creates nothing.
      expect(compileCacheFolder(env)).toBeUndefined();
      return;
    }
    expect(compileCacheFolder(env)).toBeUndefined();
    mkdirSync(caches, { recursive: true });
    expect(compileCacheFolder(env)).toBe(join(caches, 'compiled'));
  },
);

test('there is none without a home folder', () => {
  expect(compileCacheFolder({ HOME: 'not/absolute', USERPROFILE: 'not/absolute' })).toBeUndefined();
});
