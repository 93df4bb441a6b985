/** The folder of snippets: what is in it, and what is refused in it. */
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createContext } from '../../../src/app/bridge/context.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { MAX_SNIPPET_BYTES, MAX_SNIPPETS } from '../../../src/core/base/limits.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { SnippetsCommand } from '../../../src/features/languages/command.ts';
import { DEFAULT_LANGUAGES, type Language } from '../../../src/features/languages/languages-file.ts';
import { snippetResources } from '../../../src/features/languages/resources.ts';
import { manageSnippets } from '../../../src/features/languages/run.ts';
import { Snippets } from '../../../src/features/languages/snippets.ts';

let root: string;
let folder: string;
let snippets: Snippets;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'snippets-'));
  folder = join(root, 'snippets');
  snippets = new Snippets(root, async () => DEFAULT_LANGUAGES);
  onTestFinished(() => rmSync(root, { recursive: true }));
});

function language(name: string): Language {
  const found = DEFAULT_LANGUAGES.find(name);
  if (found === undefined) {
    throw new Error(name);
  }
  return found;
}

/** Writes files as a person does. */
function put(files: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, code] of Object.entries(files)) {
    writeFileSync(join(folder, name), code);
  }
}

const hello = { name: 'hello', language: language('python'), code: 'print(1)\n' };

describe('a snippet', () => {
  it('is a file that only the user can read, with the language of its extension', async () => {
    expect(await snippets.add(hello)).toEqual({ fileName: 'hello.py', change: 'create', replaced: [] });
    expect(readdirSync(folder)).toEqual(['hello.py']);
    expect(statSync(join(folder, 'hello.py')).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(await snippets.find('hello')).toEqual({ ...hello, fileName: 'hello.py' });
  });

  it('may be written by hand, with a byte order mark', async () => {
    put({ 'a-b_1.mjs': '\uFEFF1\n', '.hidden.py': '', 'x.py.tmp': '' });
    expect(await snippets.find('a-b_1')).toMatchObject({ code: '1\n', language: { name: 'javascript' } });
    expect((await snippets.list()).map(({ fileName }) => fileName)).toEqual(['a-b_1.mjs']);
  });

  it('replaces another one only if it may, also one of another language', async () => {
    await snippets.add(hello);
    expect(await snippets.add(hello)).toMatchObject({ change: 'none' });
    const other = { ...hello, language: language('go'), code: 'package main' };
    await expect(snippets.add(other)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: "there is already a snippet 'hello': hello.py",
    });
    expect(await snippets.add(other, { mayReplace: true })).toMatchObject({
      change: 'replace',
      replaced: ['hello.py'],
    });
    expect(readdirSync(folder)).toEqual(['hello.go']);
  });

  it('replaces a link itself, not the file that it leads to', async () => {
    put({});
    writeFileSync(join(root, 'outside'), 'mine');
    symlinkSync(join(root, 'outside'), join(folder, 'hello.py'));
    await snippets.add(hello, { mayReplace: true });
    expect(readFileSync(join(root, 'outside'), 'utf8')).toBe('mine');
    expect(await snippets.find('hello')).toMatchObject({ code: 'print(1)\n' });
  });

  it.each(['', '../x', 'a/b', 'a.b', '-x', 'con', 'COM1', 'é', 'x'.repeat(65), 'a b', '.x'])(
    'cannot have the name %j',
    async (name) => {
      await expect(snippets.add({ ...hello, name })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
      await expect(snippets.find(name)).rejects.toMatchObject({ code: 'CALL_REFUSED' });
      expect(existsSync(folder)).toBe(false);
    },
  );

  it('cannot differ from another one only in case, even by force', async () => {
    await snippets.add(hello);
    await expect(snippets.add({ ...hello, name: 'Hello' }, { mayReplace: true })).rejects.toThrow(
      "'Hello.py' and the stored 'hello.py' differ only in case",
    );
  });

  it('is limited in size and number', async () => {
    const code = 'x'.repeat(MAX_SNIPPET_BYTES + 1);
    await expect(snippets.add({ ...hello, code })).rejects.toThrow(/has 1,048,577 bytes; the limit is 1,048,576 bytes/);
    put(Object.fromEntries(Array.from({ length: MAX_SNIPPETS + 1 }, (_, at) => [`s${at}.py`, ''])));
    await expect(snippets.add(hello)).rejects.toThrow(/there are 1,001 snippets; the limit is 1000/);
    expect(await snippets.list()).toHaveLength(MAX_SNIPPETS);
  });

  it('that is not there is answered with near names', async () => {
    put({ 'weekly-report.py': '', 'broken.rs': '' });
    await expect(snippets.find('weekly-reports')).rejects.toMatchObject({
      code: 'CALL_REFUSED',
      message: "there is no snippet 'weekly-reports'. Did you mean 'weekly-report'?",
    });
    await expect(snippets.find('weekly-report.py')).rejects.toThrow(/Did you mean 'weekly-report'\?/);
    await expect(snippets.find('\u001b[2J')).rejects.toThrow("there is no snippet '\\u001b[2J'.");
  });

  it('can be removed by its name, or by that of its file if there are several', async () => {
    put({ 'a.py': '', 'a.go': '', 'b.rs': '' });
    await expect(snippets.remove('a')).rejects.toThrow("several files have the name 'a': a.go, a.py");
    expect(await snippets.remove('a.go')).toBe('a.go');
    expect(await snippets.remove('a')).toBe('a.py');
    expect(await snippets.remove('b')).toBe('b.rs');
    await expect(snippets.remove('../snippets')).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('cannot be written where the folder is a file', async () => {
    writeFileSync(folder, '');
    await expect(snippets.list()).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  });
});

describe('what is not a usable snippet', () => {
  const problems = async () =>
    (await snippets.list()).map(({ fileName, problem }) => `${fileName}: ${problem ?? 'ok'}`);

  it('is listed with the reason, and refused', async () => {
    put({
      'ok.py': '',
      'same.py': '',
      'Same.go': '',
      'a b.py': '',
      'x.rs': '',
      README: '',
      'large.py': '',
      'bin.py': '',
    });
    mkdirSync(join(folder, 'folder.py'));
    symlinkSync('ok.py', join(folder, 'link.py'));
    writeFileSync(join(root, 'other'), '');
    linkSync(join(root, 'other'), join(folder, 'hard.py'));
    truncateSync(join(folder, 'large.py'), MAX_SNIPPET_BYTES + 1);
    writeFileSync(join(folder, 'bin.py'), Buffer.from([0xff, 0xfe, 0]));
    expect(await problems()).toEqual([
      'README: has no extension',
      'Same.go: has the same name as another file, apart from case and extension',
      "a b.py: has a name that no snippet can have: use 1 to 64 letters, digits, '_' and '-', such as daily-report, without an extension",
      'bin.py: ok',
      'folder.py: is not a file',
      'hard.py: has a second hard link',
      'large.py: has 1,048,577 bytes; the limit is 1,048,576 bytes',
      'link.py: is a link, which is not followed',
      'ok.py: ok',
      'same.py: has the same name as another file, apart from case and extension',
      "x.rs: no enabled language has the extension '.rs'",
    ]);
    for (const name of ['same', 'Same', 'a b', 'x', 'README', 'large', 'folder', 'link', 'hard', 'bin']) {
      await expect(snippets.find(name)).rejects.toMatchObject({
        code: 'CALL_REFUSED',
        message: expect.stringMatching(/cannot be used: /),
      });
    }
    await expect(snippets.find('bin')).rejects.toThrow(/it is not text in UTF-8/);
  });

  it('is a folder that is a link', async () => {
    mkdirSync(join(root, 'elsewhere'));
    writeFileSync(join(root, 'elsewhere', 'a.py'), '');
    symlinkSync('elsewhere', folder);
    await expect(snippets.find('a')).rejects.toThrow(/cannot be read: .* is a link, not a directory/);
    await expect(snippets.add(hello)).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  });
});

describe('resources', () => {
  const PREFIX = 'resource://mcp-server-code-execution-mode/snippets/';

  it('are the usable snippets, and have their code', async () => {
    put({ 'a.go': 'package main', 'b.sh': 'ls', 'broken.rs': '' });
    const { list, read } = snippetResources(snippets, silentLogger);
    expect((await list()).map(({ mimeType, name, size, uri }) => [uri, name, mimeType, size])).toEqual([
      [`${PREFIX}a`, 'a', 'text/x-go', 12],
      [`${PREFIX}b`, 'b', 'text/x-shellscript', 2],
    ]);
    expect(await read(`${PREFIX}b`)).toEqual({ uri: `${PREFIX}b`, mimeType: 'text/x-shellscript', text: 'ls' });
    expect(await read('artifact:///default/a')).toBeUndefined();
    await expect(read(`${PREFIX}broken`)).rejects.toThrow(/no enabled language/);
    await expect(read(`${PREFIX}..%2Fa`)).rejects.toThrow(/there is no snippet/);
  });

  it('are not listed, with a warning, if languages.json is invalid', async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warning: (text: string) => void warnings.push(text) };
    const failing = new Snippets(root, () => Promise.reject(new BridgeError('CONFIG_INVALID', 'no good')));
    expect(await snippetResources(failing, logger).list()).toEqual([]);
    expect(warnings).toEqual(['Snippets are not listed: no good']);
  });
});

describe('the command', () => {
  type Given = SnippetsCommand extends infer One
    ? One extends unknown
      ? Omit<One, 'command' | 'isJson'>
      : never
    : never;

  async function run(command: Given, { isJson = false, isShown = false, input = '', env = {} } = {}): Promise<string> {
    let out = '';
    const { settings } = createContext({ MCP_BRIDGE_STATE_DIR: root, ...env });
    const writeOut = (text: string): void => {
      out += text;
    };
    const line = { command: 'snippets', isJson, ...command } as SnippetsCommand;
    const io = {
      writeOut,
      writeError: writeOut,
      isShown,
      input: Readable.from([input]),
      findPerson: async () => undefined,
    };
    expect(await manageSnippets(line, { settings, logger: silentLogger, ...io })).toBe(0);
    return out;
  }

  const add = (nameOrFile: string, more: { language?: string; file?: string; isForced?: boolean } = {}): Given => ({
    action: 'add',
    nameOrFile,
    language: undefined,
    file: undefined,
    isForced: false,
    ...more,
  });

  it('approves shared ones as they are, which the list says, and asks unless told not to', async () => {
    const team = join(root, 'team');
    mkdirSync(team);
    writeFileSync(join(team, 'report.js'), 'console.log(1)\n');
    const env = { MCP_BRIDGE_TOOLBOX: team };
    expect(await run({ action: 'list' }, { env })).toMatch(/report +javascript +15 bytes +shared, not approved yet: /);
    expect(await run({ action: 'show', name: 'report' }, { env })).toBe('console.log(1)\n');
    await expect(run({ action: 'approve', names: ['report'], isSure: false }, { env })).rejects.toThrow(
      'there is no terminal to ask at',
    );
    expect(await run({ action: 'approve', names: ['report'], isSure: true }, { env })).toMatch(
      /report\.js \(new\):\n {2}\| console\.log\(1\)\nApproved: report\.\n$/,
    );
    expect(await run({ action: 'list' }, { env })).toMatch(/report +javascript +15 bytes +shared: /);
    await expect(run({ action: 'approve', names: ['raport'], isSure: true }, { env })).rejects.toThrow(
      "there is no shared snippet 'raport'. Did you mean 'report'?",
    );
  });

  it('stores a file, a file under another name, and standard input', async () => {
    const file = join(root, 'tidy.cjs');
    writeFileSync(file, '1');
    expect(await run(add(file))).toBe('tidy: stored as tidy.cjs\n');
    expect(await run(add('other', { file }))).toBe('other: stored as other.cjs\n');
    expect(await run(add('prog', { file, language: 'go' }))).toBe('prog: stored as prog.go\n');
    expect(await run(add('piped', { language: 'JS' }), { input: '2' })).toBe('piped: stored as piped.js\n');
    expect(readFileSync(join(folder, 'piped.js'), 'utf8')).toBe('2');
    writeFileSync(file, '3');
    await expect(run(add(file))).rejects.toThrow(/there is already a snippet 'tidy'/);
    expect(await run(add(file, { isForced: true }), { isJson: true })).toContain('"change": "replace"');
    expect(await run({ action: 'list' })).toBe(
      'other  javascript  1 byte\npiped  javascript  1 byte\nprog   go          1 byte\ntidy   javascript  1 byte\n',
    );
  });

  it.each([
    [add('x'), 'code from standard input needs --language'],
    [add('x', { language: 'javascrpt' }), "there is no language 'javascrpt'. Did you mean 'javascript'?"],
    [add('./x.rs'), "no language has the extension of './x.rs'"],
    [add('./missing.py'), "could not read './missing.py': ENOENT: no such file or directory, stat './missing.py'"],
    [add('x', { language: 'go', file: '/' }), "could not read '/': it is not a file"],
  ])('refuses %j', async (command, message) => {
    await expect(run(command)).rejects.toMatchObject({ code: 'USAGE_INVALID', message });
  });

  it('refuses standard input that is too large or no text', async () => {
    await expect(run(add('x', { language: 'go' }), { input: 'x'.repeat(MAX_SNIPPET_BYTES + 1) })).rejects.toThrow(
      'could not read standard input: it has more than 1,048,576 bytes, the limit for a snippet',
    );
    await expect(run(add('x', { language: 'go' }), { input: 'a\0b' })).rejects.toThrow(/it has a null byte/);
  });

  it('prints code as it is to a pipe, and with control characters escaped to a terminal', async () => {
    put({ 'a.sh': 'echo \u001b[2J\n' });
    expect(await run({ action: 'show', name: 'a' })).toBe('echo \u001b[2J\n');
    expect(await run({ action: 'show', name: 'a' }, { isShown: true })).toBe('echo \\x1b[2J\n');
    expect(JSON.parse(await run({ action: 'show', name: 'a' }, { isJson: true }))).toEqual({
      name: 'a',
      language: 'bash',
      file: 'a.sh',
      code: 'echo \u001b[2J\n',
    });
    await expect(run({ action: 'show', name: 'b' })).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      hint: expect.stringMatching(/snippets list$/),
    });
  });

  it('lists problems, and removes what has them', async () => {
    put({ 'bad\u001b.rs': '' });
    expect(await run({ action: 'list' })).toMatch(/^bad\\x1b\.rs +0 bytes +cannot be used: has a name/);
    expect(JSON.parse(await run({ action: 'list' }, { isJson: true }))).toMatchObject([{ language: null, bytes: 0 }]);
    expect(await run({ action: 'rm', names: ['bad\u001b.rs'] })).toBe('removed bad\\x1b.rs\n');
    expect(await run({ action: 'list' })).toMatch(/^There are no snippets\./);
  });

  it('fails if languages.json is invalid, or the folder cannot be written', async () => {
    writeFileSync(join(root, 'languages.json'), '{');
    await expect(run({ action: 'list' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    rmSync(join(root, 'languages.json'));
    put({ 'a.py': '' });
    mkdirSync(join(folder, 'b.py'));
    await expect(run({ action: 'rm', names: ['b'] })).rejects.toMatchObject({ code: 'STATE_WRITE_FAILED' });
  });
});
