import { link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Question, Reply } from '../../../src/base/cell.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS } from '../../../src/base/limits.ts';
import { createLogger } from '../../../src/base/log.ts';
import type { SavingCall } from '../../../src/saved-tools/ask-to-save.ts';
import { createSavedTools, type SavedTool, type SavedToolsOptions } from '../../../src/saved-tools/saved-tools.ts';
import type { Asker } from '../../../src/session/asker.ts';

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

function tools(more: Partial<SavedToolsOptions> = {}) {
  const logger = createLogger('WARNING', (line) => logged.push(line));
  const made = createSavedTools({ stateDir, logger, mode: 'on', ...more });
  return { ...made, save: (tool: SavedTool, call: Partial<SavingCall> = {}) => made.save(tool, callOf(call)) };
}

function callOf(call: Partial<SavingCall>): SavingCall {
  return { session: 's', generation: 1, cell: 2, signal: new AbortController().signal, ...call };
}

/** A person who answers each question with `reply`, and the questions. */
function personWho(reply: Reply): { readonly asker: Asker; readonly questions: string[] } {
  const questions: string[] = [];
  const ask = async ({ message }: Question): Promise<Reply> => {
    questions.push(message);
    return reply;
  };
  return { asker: { code: '', opensPages: false, ask }, questions };
}

const YES: Reply = { action: 'accept', content: { save: true } };

test('a function is stored with its hash, readable by the owner only, and listed', async () => {
  await tools().save({ name: 'add', source: SOURCE });
  expect(await tools().list()).toEqual([{ name: 'add', source: SOURCE }]);
  expect((await readdir(store)).toSorted()).toEqual(['add.py', 'add.sha256']);
  expect((await stat(join(store, 'add.py'))).mode & 0o777).toBe(0o600);
  expect((await stat(store)).mode & 0o777).toBe(0o700);
  expect(await readFile(join(store, 'add.sha256'), 'utf8')).toMatch(/^[0-9a-f]{64} {2}add\.py\n$/);
  expect(logged).toEqual([]);
});

test('the list is sorted, and empty without a store', async () => {
  expect(await tools().list()).toEqual([]);
  await tools().save({ name: 'b', source: 'def b(): pass' });
  await tools().save({ name: 'a', source: 'import re\n\n# why\nfrom os import path\nasync def a(): pass' });
  expect((await tools().list()).map((tool) => tool.name)).toEqual(['a', 'b']);
});

describe('replacing a function', () => {
  const other = {
    name: 'add',
    source: 'def add(a, b):\n    return "\u202eforged\x1b[2J\u200b"' + ' '.repeat(300) + '; x\n',
  };

  test('is refused if no one can be asked; the same source is not a replacement', async () => {
    await tools().save({ name: 'add', source: SOURCE });
    await expect(tools().save(other)).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      message: "'add' was not saved: another function is saved under the name add, and this client cannot ask the user",
      hint: expect.stringContaining(join(store, 'add.py')),
    });
    await tools().save({ name: 'add', source: SOURCE });
    expect(await tools().list()).toEqual([{ name: 'add', source: SOURCE }]);
  });

  test('needs the permission of the user, who sees the whole source, escaped', async () => {
    await tools().save({ name: 'add', source: SOURCE });
    for (const reply of [
      { action: 'decline' },
      { action: 'cancel' },
      { action: 'accept', content: {} },
      { action: 'accept', content: { save: 'true' } },
    ] as const) {
      await expect(tools().save(other, personWho(reply))).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    }
    expect(await tools().list()).toEqual([{ name: 'add', source: SOURCE }]);
    const person = personWho(YES);
    await tools().save(other, person);
    expect(await tools().list()).toEqual([other]);
    expect(person.questions).toEqual([
      [
        "Code in session 's' wants to save the function 'add', which every later session will define.",
        'It replaces a different function that is saved under this name.',
        'The source:',
        // An empty line before it: otherwise Markdown hides what stands between <!-- and -->.
        '    | def add(a, b):\n    |     return "<U+202E>forged<U+001B>[2J<U+200B>"<300 spaces>; x',
      ].join('\n\n'),
    ]);
  });

  test('is not asked about if the source cannot be shown whole', async () => {
    await tools().save({ name: 'add', source: SOURCE });
    const person = personWho(YES);
    for (const body of ['    x = 1\n'.repeat(101), `    x = "${'x'.repeat(4_000)}"`]) {
      const long = { name: 'add', source: `def add():\n${body}` };
      await expect(tools().save(long, person)).rejects.toThrow(
        'a question shows at most 4,000 characters and 100 lines',
      );
    }
    expect(person.questions).toEqual([]);
  });

  test('by two calls at the same time is noticed', async () => {
    const one = tools();
    const saves = [one.save({ name: 'add', source: SOURCE }), one.save(other)];
    expect((await Promise.allSettled(saves)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });
});

describe('the setting and the policy', () => {
  const tool = { name: 'add', source: SOURCE };

  test('off saves nothing and defines nothing', async () => {
    await tools().save(tool);
    const off = tools({ mode: 'off' });
    await expect(off.save({ name: 'b', source: 'def b(): pass' }, personWho(YES))).rejects.toMatchObject({
      code: 'CALL_REFUSED',
      message: 'functions cannot be saved, because MCP_BRIDGE_SAVED_TOOLS is off',
    });
    expect(await off.list()).toEqual([]);
  });

  const cases: [string, Partial<SavedToolsOptions>][] = [
    ['the setting', { mode: 'ask' }],
    ['the default of the policy', { fallback: () => ({ effect: 'ask', reason: 'r' }) }],
  ];

  test.each(cases)('%s asks before each new function', async (_, more) => {
    await expect(tools(more).save(tool)).rejects.toMatchObject({ code: 'APPROVAL_UNAVAILABLE' });
    const person = personWho(YES);
    await tools(more).save(tool, person);
    expect(person.questions).toHaveLength(1);
    expect(await tools(more).list()).toEqual([tool]);
  });

  test('a policy that denies by default denies it, whatever the setting', async () => {
    const fallback = () => ({ effect: 'deny', reason: '"default": "deny" in /p' }) as const;
    await expect(tools({ fallback }).save(tool, personWho(YES))).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      message: 'functions cannot be saved: "default": "deny" in /p',
    });
  });
});

test('each save is reported for the record', async () => {
  const saved: unknown[] = [];
  const one = tools({ onSaved: ({ cell }, facts) => saved.push([cell, facts]) });
  await one.save({ name: 'add', source: SOURCE });
  await one.save({ name: 'add', source: SOURCE });
  await one.save({ name: 'add', source: 'def add(): pass' }, personWho(YES));
  const hash = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
  expect(saved).toEqual([
    [2, { name: 'add', sha256: hash, bytes: SOURCE.length, asked: false }],
    [2, { name: 'add', sha256: hash, replaced: hash, bytes: 15, asked: true }],
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

  test.each(['runtime', 'print', 'save_tool', 'mcp', 'mcp_files', '__import__', '_private', 'MCPError'])(
    'the name %j, which has a meaning in every session',
    async (name) => {
      const source = `def ${name}(): pass`;
      await expect(tools().save({ name, source })).rejects.toMatchObject({ code: 'CALL_REFUSED' });
    },
  );

  test.each([
    ['a statement', 'x = 1\ndef f(): pass'],
    ['a statement after an import', 'import os; os.system("x")\ndef f(): pass'],
    ['a decorator', '@trace\ndef f(): pass'],
    ['a class', 'class f: pass'],
    ['another function', 'def g(): pass'],
    ['a function in a block', 'if True:\n    def f(): pass'],
    ['nothing', ''],
  ])('%s instead of one function', async (_, source) => {
    await expect(tools().save({ name: 'f', source })).rejects.toThrow("'f' is not one function with its imports");
  });

  test('a source over the limit, counted in bytes', async () => {
    const source = `def big(): #${'ä'.repeat((MAX_SAVED_TOOL_BYTES - 12) / 2)}`;
    await expect(tools().save({ name: 'big', source: `${source}x` })).rejects.toThrow(
      '65,537 bytes; the limit is 65,536',
    );
    await tools().save({ name: 'big', source });
  });

  test('a name that differs only in case from a stored one', async () => {
    await tools().save({ name: 'add', source: SOURCE });
    await expect(tools().save({ name: 'Add', source: 'def Add(): pass' })).rejects.toThrow(
      "only in case from the saved tool 'add'",
    );
  });

  test('a tool over the limit, but not a new version of a stored one', async () => {
    await mkdir(store, { recursive: true });
    await Promise.all(
      Array.from({ length: MAX_SAVED_TOOLS }, (_, index) => writeFile(join(store, `t${index}.py`), '')),
    );
    await expect(tools().save({ name: 'more', source: 'def more(): pass' })).rejects.toThrow(
      '200 tools are already saved',
    );
    await tools().save({ name: 't0', source: 'def t0(): pass' }, personWho(YES));
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
    await tools().save({ name: 'add', source: SOURCE }, personWho(YES));
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
