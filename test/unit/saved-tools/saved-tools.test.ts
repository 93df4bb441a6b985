import { link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS } from '../../../src/base/limits.ts';
import { createLogger } from '../../../src/base/log.ts';
import { createSavedTools } from '../../../src/saved-tools/saved-tools.ts';

const SOURCE = 'def add(a, b):\n    return a + b\n';

let root: string;
let stateDir: string;
let store: string;
let logged: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'bridge-saved-tools-'));
  stateDir = join(root, 'state');
  store = join(stateDir, 'tools');
  logged = [];
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

function tools() {
  return createSavedTools({ stateDir, logger: createLogger('WARNING', (line) => logged.push(line)) });
}

test('a function is stored with its hash, readable by the owner only, and listed', async () => {
  await tools().save({ name: 'add', source: SOURCE });
  expect(await tools().list()).toEqual([{ name: 'add', source: SOURCE }]);
  expect((await readdir(store)).toSorted()).toEqual(['add.py', 'add.sha256']);
  expect((await stat(join(store, 'add.py'))).mode & 0o777).toBe(0o600);
  expect((await stat(store)).mode & 0o777).toBe(0o700);
  expect(await readFile(join(store, 'add.sha256'), 'utf8')).toMatch(/^[0-9a-f]{64} {2}add\.py\n$/);
  expect(logged).toEqual([]);
});

test('saving again replaces a function; the list is sorted, and empty without a store', async () => {
  expect(await tools().list()).toEqual([]);
  await tools().save({ name: 'b', source: 'def b(): pass' });
  await tools().save({ name: 'a', source: 'def a(): pass' });
  await tools().save({ name: 'b', source: SOURCE });
  expect((await tools().list()).map((tool) => [tool.name, tool.source.length])).toEqual([
    ['a', 13],
    ['b', SOURCE.length],
  ]);
});

describe('refuses', () => {
  test.each([
    '../x',
    '..%2fx',
    '/etc/passwd',
    'a/b',
    'CON',
    'com1',
    'x\0',
    '.git',
    '',
    '1a',
    'ä',
    'a'.repeat(65),
    'a.py',
  ])('the name %j', async (name) => {
    await expect(tools().save({ name, source: SOURCE })).rejects.toMatchObject({ code: 'CALL_REFUSED' });
    await expect(readdir(stateDir)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('a source over the limit, counted in bytes', async () => {
    const source = 'ä'.repeat(MAX_SAVED_TOOL_BYTES / 2);
    await expect(tools().save({ name: 'big', source: `${source}x` })).rejects.toThrow(
      '65,537 bytes; the limit is 65,536',
    );
    await tools().save({ name: 'big', source });
  });

  test('a name that differs only in case from a stored one', async () => {
    await tools().save({ name: 'add', source: SOURCE });
    await expect(tools().save({ name: 'Add', source: SOURCE })).rejects.toThrow(
      "only in case from the saved tool 'add'",
    );
  });

  test('a tool over the limit, but not a new version of a stored one', async () => {
    await mkdir(store, { recursive: true });
    await Promise.all(
      Array.from({ length: MAX_SAVED_TOOLS }, (_, index) => writeFile(join(store, `t${index}.py`), '')),
    );
    await expect(tools().save({ name: 'more', source: SOURCE })).rejects.toThrow('200 tools are already saved');
    await tools().save({ name: 't0', source: SOURCE });
  });

  test('a store that is a link or a file', async () => {
    const outside = join(root, 'outside');
    await mkdir(outside);
    await mkdir(stateDir);
    await symlink(outside, store);
    await expect(tools().save({ name: 'add', source: SOURCE })).rejects.toMatchObject({ code: 'STATE_WRITE_FAILED' });
    expect(await readdir(outside)).toEqual([]);
    await rm(store);
    await writeFile(store, '');
    await expect(tools().save({ name: 'add', source: SOURCE })).rejects.toMatchObject({ code: 'STATE_WRITE_FAILED' });
  });
});

describe('links in the store', () => {
  test('saving over a link replaces the link and leaves its target alone', async () => {
    const target = join(root, 'target');
    await writeFile(target, 'precious');
    await mkdir(store, { recursive: true });
    await symlink(target, join(store, 'add.py'));
    await tools().save({ name: 'add', source: SOURCE });
    expect(await readFile(target, 'utf8')).toBe('precious');
    expect(await tools().list()).toEqual([{ name: 'add', source: SOURCE }]);
  });

  test('symbolic links, hard links, folders and large files are not read, and each is logged', async () => {
    const secret = join(root, 'secret');
    await writeFile(secret, 'secret = 1');
    await mkdir(store, { recursive: true });
    await symlink(secret, join(store, 'soft.py'));
    await writeFile(join(root, 'other'), 'other = 1');
    await link(join(root, 'other'), join(store, 'hard.py'));
    await mkdir(join(store, 'folder.py'));
    await writeFile(join(store, 'large.py'), 'x'.repeat(MAX_SAVED_TOOL_BYTES + 1));
    await writeFile(join(store, 'good.py'), SOURCE);
    expect((await tools().list()).map((tool) => tool.name)).toEqual(['good']);
    for (const name of ['soft', 'hard', 'folder', 'large']) {
      expect(logged.join('')).toContain(`The saved tool ${name} in ${store} was skipped`);
    }
  });
});

test('a function that was edited after it was saved is used, and the change is logged', async () => {
  await tools().save({ name: 'add', source: SOURCE });
  await writeFile(join(store, 'add.py'), 'def add(): pass');
  expect(await tools().list()).toEqual([{ name: 'add', source: 'def add(): pass' }]);
  expect(logged.join('')).toContain('was changed after it was saved');
});

test('a store that cannot be read is logged and counts as empty', async () => {
  await mkdir(stateDir);
  await writeFile(store, 'a file where the store should be');
  expect(await tools().list()).toEqual([]);
  expect(logged[0]).toContain('The saved tools were skipped: ');
  await expect(tools().save({ name: 'add', source: SOURCE })).rejects.toMatchObject({ code: 'STATE_WRITE_FAILED' });
});
