/** `languages.json`: what it changes, and that mistakes in it are errors that name file and place. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../../src/core/base/errors.ts';
import { MAX_LANGUAGES, MAX_LANGUAGES_FILE_BYTES } from '../../../src/core/base/limits.ts';
import {
  DEFAULT_LANGUAGES,
  LANGUAGE_KEYS,
  type Language,
  readLanguages,
} from '../../../src/features/languages/languages-file.ts';
import { ROOT } from '../../support/bridge-client.ts';

function stateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'languages-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The languages with this file. */
function readText(text: string) {
  const folder = stateFolder();
  writeFileSync(join(folder, 'languages.json'), text);
  return readLanguages(folder);
}

const read = (languages: unknown) => readText(JSON.stringify({ languages }));
const ruby = { command: ['ruby', '{file}'], extensions: ['.rb'] };

describe('without a file', () => {
  it('there are the built-in languages', async () => {
    const { all, byFileName, find } = await readLanguages(stateFolder());
    expect(all.map(({ image, name, runner }) => [name, runner, image])).toEqual([
      ['javascript', 'node', 'node:24-slim'],
      ['typescript', 'node', 'node:24-slim'],
      ['go', 'shell', 'golang:1.26'],
      ['bash', 'shell', undefined],
      ['python', 'shell', undefined],
    ]);
    expect(find('JS')?.name).toBe('javascript');
    expect(find('golang')).toMatchObject({ canExecuteFiles: true, env: { GOPROXY: 'off', GOFLAGS: '-mod=mod' } });
    expect(find('constructor')).toBeUndefined();
    expect(byFileName('dir.go/main.TS')?.name).toBe('typescript');
    expect(byFileName('main.rs')).toBeUndefined();
    expect(byFileName('.js')).toBeUndefined();
    expect(all.filter(({ canExecuteFiles }) => canExecuteFiles).map(({ name }) => name)).toEqual(['go']);
  });

  it('there are also those of an empty file', async () => {
    expect((await readText('{}')).all).toEqual(DEFAULT_LANGUAGES.all);
  });
});

describe('the file', () => {
  it('changes, adds and disables languages', async () => {
    const { all, byFileName, find } = await read({
      javascript: { image: 'node:22-slim', timeout: '2m', memory: '1g', pids: 32, workspace: '64m', env: { A: '1' } },
      ruby: {
        ...ruby,
        image: 'registry.example.com:5000/ruby@sha256:0a',
        aliases: ['rb'],
        timeout: 5,
        file: 'start.rb',
      },
      go: null,
    });
    expect(all.map(({ name }) => name)).toEqual(['javascript', 'typescript', 'bash', 'python', 'ruby']);
    expect(find('js')).toMatchObject({
      image: 'node:22-slim',
      runner: 'node',
      timeoutMs: 120_000,
      memoryBytes: 1024 ** 3,
      pids: 32,
      workspaceBytes: 64 * 1024 ** 2,
      env: { A: '1' },
    });
    const expected: Language = {
      name: 'ruby',
      aliases: ['rb'],
      image: 'registry.example.com:5000/ruby@sha256:0a',
      runner: 'shell',
      command: ['ruby', '{file}'],
      fileName: 'start.rb',
      extensions: ['.rb'],
      env: {},
      canExecuteFiles: false,
      timeoutMs: 5_000,
      memoryBytes: undefined,
      pids: undefined,
      workspaceBytes: undefined,
    };
    expect(byFileName('x.RB')).toEqual(expected);
    expect(find('golang')).toBeUndefined();
  });

  it('adds variables to those of a built-in language', async () => {
    const { find } = await read({ go: { env: { GOFLAGS: '-v', CGO_ENABLED: '0' } } });
    expect(find('go')?.env).toMatchObject({ GOFLAGS: '-v', GOPROXY: 'off', CGO_ENABLED: '0' });
  });

  it.each([
    [{ command: ['deno', 'run', '{file}'] }, 'shell'],
    [{ command: ['node', '--no-warnings', '{file}'] }, 'shell'],
    [{ command: ['/usr/local/bin/node', '{file}'] }, 'node'],
    [{ runner: 'shell' }, 'shell'],
  ])('javascript with %j has the runner %s', async (entry, runner) => {
    expect((await read({ javascript: entry })).find('js')?.runner).toBe(runner);
  });

  it('names the entry file after the first extension, unless it says another name', async () => {
    expect((await read({ ruby })).find('ruby')?.fileName).toBe('main.rb');
    expect((await read({ javascript: { extensions: ['.cjs'] } })).find('js')?.fileName).toBe('main.cjs');
  });

  it('may use the names of a disabled language', async () => {
    expect(
      (await read({ javascript: null, deno: { ...ruby, extensions: ['.js'], aliases: ['js'] } })).find('js')?.name,
    ).toBe('deno');
  });

  it('may be a link, for people who keep their settings elsewhere', async () => {
    const folder = stateFolder();
    writeFileSync(join(folder, 'mine.json'), JSON.stringify({ languages: { ruby } }));
    symlinkSync('mine.json', join(folder, 'languages.json'));
    expect((await readLanguages(folder)).find('ruby')).toBeDefined();
  });
});

const notANode = 'languages.ruby.runner can be "node" only if command is ["node", "{file}"]';
const noImage = 'languages.ruby.image must be the name of an image, such as "ruby:3.4-slim"';
const noProgram = 'languages.ruby.command[0] must be the name or path of a program, such as "ruby"';
const noFile = 'languages.ruby.file must be the name of a file without folders, such as "main.rb"';

describe('a mistake', () => {
  it.each<[string, unknown, string]>([
    [
      'unknown key',
      { ruby: { ...ruby, imgae: 'x' } },
      "languages.ruby.imgae is not a known key. Did you mean 'image'?",
    ],
    ['image as a flag', { ruby: { ...ruby, image: '--privileged' } }, noImage],
    ['image with a space', { ruby: { ...ruby, image: 'ruby --privileged' } }, noImage],
    ['file with a folder', { ruby: { ...ruby, file: '../main.rb' } }, noFile],
    ['file as a flag', { ruby: { ...ruby, file: '-e' } }, noFile],
    ['file with a command', { ruby: { ...ruby, file: 'a;b' } }, noFile],
    ['program as a flag', { ruby: { ...ruby, command: ['-c', '{file}'] } }, noProgram],
    ['program with a command', { ruby: { ...ruby, command: ['ruby;id', '{file}'] } }, noProgram],
    [
      'line break',
      { ruby: { ...ruby, command: ['ruby', 'a\nb', '{file}'] } },
      'languages.ruby.command[1] must have no control characters',
    ],
    [
      'no entry file',
      { ruby: { ...ruby, command: ['ruby', 'main.rb'] } },
      'languages.ruby.command must have "{file}" for the entry file',
    ],
    [
      'text as command',
      { ruby: { ...ruby, command: 'ruby' } },
      'languages.ruby.command must be a list of strings, such as ["ruby", "{file}"]',
    ],
    [
      'name of a variable',
      { ruby: { ...ruby, env: { 'A B': '1' } } },
      'languages.ruby.env["A B"] must be the name of a variable: letters, digits and underscores',
    ],
    [
      'value of a variable',
      { ruby: { ...ruby, env: { A: 'x\0' } } },
      'languages.ruby.env.A must have no control characters',
    ],
    [
      'extension',
      { ruby: { ...ruby, extensions: ['rb'] } },
      'languages.ruby.extensions[0] must be an extension with its dot, such as ".rb"',
    ],
    [
      'name',
      { 'Ruby!': ruby },
      `languages["Ruby!"] must begin with a lower-case letter, then up to 31 of a-z, 0-9, '+', '#', '_', '-'`,
    ],
    [
      'timeout',
      { ruby: { ...ruby, timeout: 0 } },
      'languages.ruby.timeout must be a number of seconds or a duration such as "2m", from 1 s to 24 h',
    ],
    [
      'memory',
      { ruby: { ...ruby, memory: '1k' } },
      'languages.ruby.memory must be a size such as "512m", at least 32m',
    ],
    ['pids', { ruby: { ...ruby, pids: 1 } }, 'languages.ruby.pids must be at least 8'],
    ['runner', { ruby: { ...ruby, runner: 'node' } }, notANode],
    [
      'no command',
      { ruby: { extensions: ['.rb'] } },
      'languages.ruby.command is missing; a language that is not built in needs it',
    ],
    [
      'no extensions',
      { ruby: { command: ruby.command } },
      'languages.ruby.extensions is missing; a language that is not built in needs it',
    ],
    [
      'unknown language disabled',
      { pyton: null },
      "languages.pyton cannot be disabled: there is no language 'pyton'. Did you mean 'python'?",
    ],
    [
      'alias taken',
      { ruby: { ...ruby, aliases: ['js'] } },
      "the name or alias 'js' belongs to both 'javascript' and 'ruby'",
    ],
    ['name is an alias', { js: ruby }, "the name or alias 'js' belongs to both 'javascript' and 'js'"],
    [
      'extension taken',
      { ruby: { ...ruby, extensions: ['.PY'] } },
      "the extension '.py' belongs to both 'python' and 'ruby'",
    ],
    ['not an object', [], 'languages must be an object with string values'],
  ])('is an error: %s', async (_what, languages, message) => {
    await expect(read(languages)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/languages\.json: /),
    });
    const problem = await read(languages).then(() => '', messageOf);
    expect(problem.replace(/^.*languages\.json: /, '')).toBe(message);
  });

  it.each([
    ['{"languages": {"go": null,}}', /is not JSON \(line 1, column \d+\): trailing commas are not allowed/],
    ['{"languages": {"go": null, "go": {}}}', /has the key "go" more than once in one object/],
    ['[]', /must be an object with the key "languages"/],
    ['{"languages": {"__proto__": {"image": "x"}}}', /languages\.__proto__ must begin with a lower-case letter/],
    ['{"language": {}}', /language is not a known key\. Did you mean 'languages'\?/],
  ])('in the whole file is an error: %s', async (text, message) => {
    await expect(readText(text)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message),
    });
  });

  it('is one of at most three in a message', async () => {
    await expect(read({ ruby: { ...ruby, a: 1, b: 2, c: 3, d: 4, e: 5 } })).rejects.toThrow(/and 2 more$/);
  });

  it('is a file that is too large, has too many languages, is a folder or a pipe', async () => {
    const folder = stateFolder();
    const path = join(folder, 'languages.json');
    writeFileSync(path, '');
    truncateSync(path, MAX_LANGUAGES_FILE_BYTES + 1);
    await expect(readLanguages(folder)).rejects.toThrow(
      /cannot be read: it has 1,048,577 bytes; the limit is 1,048,576 bytes/,
    );
    const many = Object.fromEntries(Array.from({ length: MAX_LANGUAGES + 1 }, (_, at) => [`l${at}`, null]));
    await expect(read(many)).rejects.toThrow(/languages has 101 entries; the limit is 100 languages/);
    rmSync(path);
    execFileSync('mkfifo', [path]);
    await expect(readLanguages(folder)).rejects.toThrow(/cannot be read: it is not a file/);
  });
});

describe('the documentation', () => {
  const page = readFileSync(join(ROOT, 'docs/snippets.md'), 'utf8');

  it('has a row for each key', () => {
    expect([...page.matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, key]) => key)).toEqual(LANGUAGE_KEYS);
  });

  it('has a row for each built-in language with its aliases, image, command and extensions', () => {
    const rows = DEFAULT_LANGUAGES.all.map(({ aliases, command, extensions, image, name }) => {
      const shown = command.join(' ').replace('{file}', 'FILE');
      const quoted = (all: readonly string[]): string => all.map((one) => `\`${one}\``).join(', ');
      return `| \`${name}\` | ${quoted(aliases)} | ${quoted(extensions)} | ${image === undefined ? 'that of sessions' : `\`${image}\``} | \`${shown}\` |`;
    });
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });

  it('shows a file that is valid', async () => {
    const [, sample = ''] = /```json\n([\s\S]*?)\n```/.exec(page) ?? [];
    const { find } = await readText(sample);
    expect(find('ruby')?.command).toEqual(['ruby', '{file}']);
    expect(find('go')).toBeUndefined();
  });
});
