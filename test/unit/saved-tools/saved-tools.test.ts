import { link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Question, Reply } from '../../../src/core/base/cell.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS, MAX_SAVED_TOOLS_OF_SESSION } from '../../../src/core/base/limits.ts';
import { createLogger } from '../../../src/core/base/log.ts';
import type { Asker } from '../../../src/core/session/asker.ts';
import { hashText } from '../../../src/core/state/file-consents.ts';
import type { SavingCall } from '../../../src/features/saved-tools/ask-to-save.ts';
import type { SavedTool } from '../../../src/features/saved-tools/function-source.ts';
import { FunctionStore } from '../../../src/features/saved-tools/function-store.ts';
import {
  createSavedTools,
  type SavedToolsOptions,
  savedToolMethods,
} from '../../../src/features/saved-tools/saved-tools.ts';

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
  expect((await readdir(store)).toSorted()).toEqual(['.history', 'add.json', 'add.py', 'add.sha256']);
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
      "only in case from the saved function 'add'",
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

  // One session took all 200.
  test('a tool of a session that has most of them, but not one of another session', async () => {
    await mkdir(store, { recursive: true });
    const record = { version: 1, sha256: 'x', at: '2026-11-21T00:00:00Z', session: 's' };
    await Promise.all(
      Array.from({ length: MAX_SAVED_TOOLS_OF_SESSION }, async (_, index) => {
        await writeFile(join(store, `t${index}.py`), '');
        await writeFile(join(store, `t${index}.json`), JSON.stringify(record));
      }),
    );
    const more = { name: 'more', source: 'def more(): pass' };
    await expect(tools().save(more)).rejects.toThrow('this session has saved 150 tools, which is the limit');
    await tools().save(more, { session: 'other' });
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
    await tools().save({ name: 'add', source: SOURCE });
    expect((await tools().list()).map((tool) => tool.name)).toEqual(['add']);
    for (const name of ['soft', 'hard', 'folder', 'large']) {
      expect(logged.join('')).toContain(`The saved function ${name} in ${store} was skipped`);
    }
  });
});

describe('a function that was changed by hand', () => {
  test('is not loaded, and a bridge says so once', async () => {
    const bridge = tools();
    await bridge.save({ name: 'add', source: SOURCE });
    await writeFile(join(store, 'add.py'), 'def add(): pass');
    expect(await bridge.list()).toEqual([]);
    expect(await bridge.list()).toEqual([]);
    expect(logged).toEqual([expect.stringContaining('was changed after it was saved and is not loaded.')]);
    expect(logged[0]).toContain('tools approve add');
    await expect(bridge.load('add', callOf({}))).rejects.toMatchObject({
      code: 'CALL_REFUSED',
      hint: expect.stringContaining('tools approve add'),
    });
  });

  test('is asked about when code saves the same source again', async () => {
    await tools().save({ name: 'add', source: SOURCE });
    await writeFile(join(store, 'add.py'), 'def add(): pass');
    const again = { name: 'add', source: 'def add(): pass' };
    await expect(tools().save(again)).rejects.toMatchObject({ code: 'APPROVAL_UNAVAILABLE' });
    await tools().save(again, personWho(YES));
    expect(await tools().list()).toEqual([again]);
  });
});

test('a file that the bridge did not save is not loaded', async () => {
  await mkdir(store, { recursive: true });
  await writeFile(join(store, 'add.py'), SOURCE);
  expect(await tools().list()).toEqual([]);
  expect(logged.join('')).toContain('was not saved by the bridge and is not loaded');
});

test('what an earlier version of the bridge saved is loaded as before, and becomes version 1', async () => {
  await mkdir(store, { recursive: true });
  await writeFile(join(store, 'add.py'), SOURCE);
  await writeFile(join(store, 'add.sha256'), `${hashText(SOURCE)}  add.py\n`);
  expect(await tools().list()).toEqual([{ name: 'add', source: SOURCE }]);
  expect(logged).toEqual([]);
  await tools().save({ name: 'add', source: 'def add(): pass\n' }, personWho(YES));
  const files = new FunctionStore(stateDir);
  expect((await files.read('add'))?.record?.versions.map(({ number, session }) => [number, session])).toEqual([
    [1, undefined],
    [2, 's'],
  ]);
  expect(await files.source('add', 1)).toBe(SOURCE);
});

test('the record has the origin, the packages, the signature and the docstring', async () => {
  const source =
    'import pandas\nasync def rows(path: str, n: int = 5) -> list[dict]:\n    """Reads rows.\n\n    More."""\n';
  await tools().save({ name: 'rows', source, packages: ['pandas==2.2.3'] } as SavedTool);
  const file = join(store, 'rows.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
    sha256: hashText(source),
    session: 's',
    packages: ['pandas==2.2.3'],
    signature: 'rows(path: str, n: int = 5) -> list[dict]',
    summary: 'Reads rows.',
  });
});

test('twenty versions are kept', async () => {
  const files = new FunctionStore(stateDir);
  const facts = { packages: [], signature: '', summary: '' };
  for (let number = 1; number <= 22; number += 1) {
    await files.write({ name: 'add', source: `def add(): return ${number}\n` }, facts);
  }
  const numbers = (await files.read('add'))?.record?.versions.map(({ number }) => number);
  expect([numbers?.length, numbers?.[0], numbers?.at(-1)]).toEqual([20, 3, 22]);
  expect((await readdir(join(store, '.history', 'add'))).length).toBe(20);
  expect(await files.source('add', 2)).toBeUndefined();
  expect(await files.source('add', 3)).toBe('def add(): return 3\n');
  expect(await files.remove('add')).toBe(true);
  expect(await readdir(store)).toEqual(['.history']);
  expect(await files.remove('add')).toBe(false);
});

test('a method call with malformed packages is refused', () => {
  const methods = new Map(savedToolMethods(tools()));
  const save = methods.get('save_tool')?.schema;
  const tool = { name: 'add', source: SOURCE };
  expect(save?.safeParse({ ...tool, packages: ['a==1'] }).success).toBe(true);
  for (const packages of [['a'], ['a==1\u001b[2J'], [`a==${'1'.repeat(100)}`], Array(51).fill('a==1'), 'a==1']) {
    expect(save?.safeParse({ ...tool, packages }).success).toBe(false);
  }
});

describe('shared functions', () => {
  const shared = 'def double(n):\n    return 2 * n\n';
  let folder: string;

  beforeEach(async () => {
    folder = join(root, 'team');
    await mkdir(folder);
    await writeFile(join(folder, 'double.py'), shared);
  });

  const bridge = () => tools({ folders: [folder] });
  const never = new AbortController().signal;

  test('are loaded after the person has consented to the source, once', async () => {
    const one = bridge();
    expect(await one.list()).toEqual([]);
    expect(logged.join('')).toContain('double.py is new and is not loaded. To review and allow it: ');
    const { asker, questions } = personWho({ action: 'accept', content: { load: true } });
    await one.askAboutShared(asker, never);
    expect(questions).toEqual([expect.stringContaining('    | def double(n):\n    |     return 2 * n')]);
    expect(await one.list()).toEqual([{ name: 'double', source: shared }]);
    const later = bridge();
    await later.askAboutShared(asker, never);
    expect(await later.list()).toEqual([{ name: 'double', source: shared }]);
    expect(questions.length).toBe(1);
  });

  // Code of any session could take the place of a function that the user shares with a team, unseen.
  test('are replaced by a saved function of their name only if the user allows it', async () => {
    const consent = personWho({ action: 'accept', content: { load: true } });
    await bridge().askAboutShared(consent.asker, never);
    const other = { name: 'double', source: 'def double(n):\n    return 0\n' };
    await expect(bridge().save(other)).rejects.toMatchObject({ code: 'APPROVAL_UNAVAILABLE' });
    expect(await bridge().list()).toEqual([{ name: 'double', source: shared }]);
    const person = personWho(YES);
    await bridge().save(other, person);
    expect(person.questions).toEqual([expect.stringContaining('It replaces a different function')]);
    expect(await bridge().list()).toEqual([other]);
  });

  test('have room before what code has saved', async () => {
    const consent = personWho({ action: 'accept', content: { load: true } });
    await bridge().askAboutShared(consent.asker, never);
    await mkdir(store, { mode: 0o700 });
    const write = async (name: string) => {
      const source = `def ${name}(): pass\n`;
      const record = { version: 1, sha256: hashText(source), at: new Date().toISOString(), session: 's' };
      await writeFile(join(store, `${name}.py`), source);
      await writeFile(join(store, `${name}.json`), JSON.stringify(record));
    };
    await Promise.all(Array.from({ length: MAX_SAVED_TOOLS }, (_, number) => write(`a${number}`)));
    const names = (await bridge().list()).map(({ name }) => name);
    expect(names).toHaveLength(MAX_SAVED_TOOLS);
    expect(names).toContain('double');
  });

  test('are asked about again when they change, and not loaded if the person refuses', async () => {
    const yes = personWho({ action: 'accept', content: { load: true } });
    await bridge().askAboutShared(yes.asker, never);
    await writeFile(join(folder, 'double.py'), 'def double(n):\n    return "stolen"\n');
    const one = bridge();
    const no = personWho({ action: 'decline' });
    await one.askAboutShared(no.asker, never);
    await one.askAboutShared(no.asker, never);
    expect(no.questions).toEqual([expect.stringContaining('it has changed since you allowed it')]);
    expect(await one.list()).toEqual([]);
    // Code that names it asks again.
    await expect(one.load('double', callOf(no))).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    await expect(one.load('double', callOf({}))).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      hint: expect.stringContaining('tools approve double'),
    });
    expect((await one.load('double', callOf(yes))).source).toContain('stolen');
    expect((await one.list()).length).toBe(1);
  });

  test('give way to a saved function of the same name, and that is said once', async () => {
    const one = bridge();
    const own = { name: 'double', source: 'def double(n): return n + n\n' };
    await one.save(own, personWho(YES));
    const { asker, questions } = personWho({ action: 'accept', content: { load: true } });
    await one.askAboutShared(asker, never);
    expect(await one.list()).toEqual([own]);
    expect(await one.list()).toEqual([own]);
    expect(questions).toEqual([]);
    expect(logged.filter((line) => line.includes('was skipped: you have kept another function double'))).toHaveLength(
      1,
    );
  });

  test('with unusable names or sources, links and missing folders are skipped and said once', async () => {
    await writeFile(join(folder, 'runtime.py'), 'def runtime(): pass');
    await writeFile(join(folder, 'other.py'), 'print("runs")');
    await symlink(join(folder, 'double.py'), join(folder, 'linked.py'));
    const one = tools({ folders: [folder, join(root, 'absent')] });
    await one.askAboutShared(personWho({ action: 'accept', content: { load: true } }).asker, never);
    expect((await one.list()).map(({ name }) => name)).toEqual(['double']);
    for (const name of ['runtime.py', 'other.py', 'linked.py', 'absent']) {
      expect(logged.filter((line) => line.includes(`${name} was skipped`))).toHaveLength(1);
    }
  });
});

test('a name that is not kept names those that are', async () => {
  await tools().save({ name: 'add', source: SOURCE });
  await expect(tools().load('ad', callOf({}))).rejects.toMatchObject({
    code: 'CALL_REFUSED',
    message: expect.stringContaining("no function 'ad' is kept."),
    hint: 'There are: add.',
  });
  await expect(tools().load('../add', callOf({}))).rejects.toMatchObject({ code: 'CALL_REFUSED' });
});

test('search gets the functions that sessions define, the same object until they change', async () => {
  const one = tools();
  expect(await one.extraTools()).toBeUndefined();
  await one.save({ name: 'add', source: SOURCE });
  const documents = await one.extraTools();
  expect(documents?.tools).toEqual([expect.objectContaining({ name: 'add', signature: 'add(a, b)', isAsync: false })]);
  expect((await one.extraTools())?.tools).toBe(documents?.tools);
  await one.save({ name: 'more', source: 'def more(): pass' });
  expect((await one.extraTools())?.tools.length).toBe(2);
});

test('a store that cannot be read is logged and counts as empty', async () => {
  await mkdir(stateDir);
  await writeFile(store, 'a file where the store should be');
  expect(await tools().list()).toEqual([]);
  expect(logged[0]).toContain('The saved functions were skipped: ');
  await expect(tools().save({ name: 'add', source: SOURCE })).rejects.toMatchObject({ code: 'STATE_WRITE_FAILED' });
});
