/** Configurations of the multi-language isolator, as people have them: what is taken over, and what is reported. */
import {
  existsSync,
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
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createContext } from '../../../src/app/bridge/context.ts';
import { MAX_LANGUAGES_FILE_BYTES, MAX_SNIPPETS } from '../../../src/core/base/limits.ts';
import type { ImportCommand } from '../../../src/features/languages/command.ts';
import type { ImportedPart } from '../../../src/features/languages/isolator-config.ts';
import { importIsolatorConfig } from '../../../src/features/languages/isolator-import.ts';
import { readLanguages } from '../../../src/features/languages/languages-file.ts';
import { runImport } from '../../../src/features/languages/run-import.ts';
import { Snippets } from '../../../src/features/languages/snippets.ts';

let root: string;
let stateDir: string;
let file: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'isolator-'));
  stateDir = join(root, 'state');
  file = join(root, 'old', 'isolator_config.json');
  mkdirSync(dirname(file));
  onTestFinished(() => rmSync(root, { recursive: true }));
});

/** Writes the configuration and files beside it. */
function put(config: unknown, files: Readonly<Record<string, string>> = {}): void {
  writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, 'old', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

const take = (more: { isDryRun?: boolean; isForced?: boolean } = {}) =>
  importIsolatorConfig({ file, stateDir, isDryRun: false, isForced: false, ...more });
const rowsOf = (parts: readonly ImportedPart[]) =>
  parts.map(({ outcome, part, detail }) => `${outcome} ${part}: ${detail}`);
const written = (): unknown => JSON.parse(readFileSync(join(stateDir, 'languages.json'), 'utf8'));
const snippets = () => new Snippets(stateDir, () => readLanguages(stateDir));

/** As its documentation describes it. */
const USUAL = {
  isolatorPath: '/opt/isolator/isolator',
  promptsDir: './prompts',
  containerWorkdir: '/workspace',
  defaults: { timeoutSeconds: 60, memoryMB: 256, cpus: 0.5, pidsLimit: 64, network: 'none' },
  languages: {
    python: { image: 'python:3.11-alpine', command: ['python'], extension: '.py', filename: 'main.py' },
    go: { image: 'golang:1.21-alpine', command: ['go', 'run'], extension: '.go', filename: 'main.go' },
    javascript: { image: 'node:18-alpine', command: ['node'], extension: '.js', filename: 'index.js' },
  },
};

describe('the usual file', () => {
  const PROMPTS = {
    'prompts/hello_world.py': 'print("hi")\n',
    'prompts/go/sum.go': 'package main\n',
    'prompts/.DS_Store': '',
  };

  it('is taken over, and what has no counterpart is named', async () => {
    put(USUAL, { ...PROMPTS, 'prompts/notes.md': '# Notes' });
    expect(rowsOf(await take())).toEqual([
      'left out isolatorPath: no other program is needed',
      'left out containerWorkdir: programs always run in /workspace',
      'left out defaults.cpus: programs have the CPUs of sessions: set MCP_BRIDGE_CPUS',
      'left out defaults.network: programs never have a network',
      'imported languages.python: {"timeout":60,"memory":"256m","pids":64,"image":"python:3.11-alpine","command":["python","{file}"]}',
      'imported languages.go: {"timeout":60,"memory":"256m","pids":64,"image":"golang:1.21-alpine"}',
      'imported languages.javascript: {"timeout":60,"memory":"256m","pids":64,"image":"node:18-alpine","file":"index.js"}',
      "imported prompts/hello_world.py: snippet 'hello_world' in python",
      'left out prompts/notes.md: no language has its extension',
      "imported prompts/go/sum.go: snippet 'sum' in go",
    ]);
    const { find } = await readLanguages(stateDir);
    expect(find('js')).toMatchObject({
      image: 'node:18-alpine',
      runner: 'node',
      fileName: 'index.js',
      timeoutMs: 60_000,
    });
    expect(find('go')).toMatchObject({
      command: ['go', 'run', '{file}'],
      canExecuteFiles: true,
      memoryBytes: 256 * 1024 ** 2,
    });
    expect(await snippets().find('hello_world')).toMatchObject({ code: 'print("hi")\n', language: { name: 'python' } });
    expect(statSync(join(stateDir, 'languages.json')).mode & 0o777).toBe(0o600);
  });

  it('changes nothing in a dry run, and nothing the second time', async () => {
    put(USUAL, PROMPTS);
    const first = await take({ isDryRun: true });
    expect(existsSync(stateDir)).toBe(false);
    expect(await take()).toEqual(first);
    const outcomes = (await take()).filter(({ outcome }) => outcome !== 'left out');
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => 'unchanged'));
  });

  it('replaces what is there only by force', async () => {
    put(USUAL, PROMPTS);
    mkdirSync(join(stateDir, 'snippets'), { recursive: true });
    writeFileSync(join(stateDir, 'snippets', 'hello_world.sh'), 'ls');
    const mine = {
      languages: { go: { image: 'mine' }, python: null, perl: { command: ['perl', '{file}'], extensions: ['.pl'] } },
    };
    writeFileSync(join(stateDir, 'languages.json'), JSON.stringify(mine));
    const kept = rowsOf(await take()).filter((row) => row.startsWith('kept'));
    expect(kept).toEqual([
      'kept languages.python: languages.json has another entry; --force replaces it',
      'kept languages.go: languages.json has another entry; --force replaces it',
    ]);
    expect(written()).toMatchObject({ languages: { ...mine.languages, javascript: { image: 'node:18-alpine' } } });
    // Python was disabled, so its snippet had no language.
    expect(readdirSync(join(stateDir, 'snippets'))).toEqual(['hello_world.sh', 'sum.go']);
    const forced = rowsOf(await take({ isForced: true })).filter((row) => !row.startsWith('left out'));
    expect(forced.map((row) => row.replace(/:.*/, ''))).toEqual([
      'imported languages.python',
      'imported languages.go',
      'unchanged languages.javascript',
      'imported prompts/hello_world.py',
      'unchanged prompts/go/sum.go',
    ]);
    expect(written()).toMatchObject({ languages: { perl: mine.languages.perl, go: { image: 'golang:1.21-alpine' } } });
    expect(readdirSync(join(stateDir, 'snippets'))).toEqual(['hello_world.py', 'sum.go']);
  });

  it('keeps a snippet of that name, unless forced', async () => {
    put({ promptsDir: 'prompts' }, PROMPTS);
    mkdirSync(join(stateDir, 'snippets'), { recursive: true });
    writeFileSync(join(stateDir, 'snippets', 'sum.py'), '1');
    expect(rowsOf(await take())).toContain(
      'kept prompts/go/sum.go: the snippet sum.py is another one; --force replaces it',
    );
  });

  it('writes through a link to where the user keeps languages.json', async () => {
    put(USUAL);
    mkdirSync(stateDir);
    writeFileSync(join(root, 'mine.json'), '{}');
    symlinkSync(join(root, 'mine.json'), join(stateDir, 'languages.json'));
    await take();
    expect(JSON.parse(readFileSync(join(root, 'mine.json'), 'utf8'))).toEqual(written());
  });
});

describe('other spellings', () => {
  it('of keys, commands and limits are understood', async () => {
    put({
      'default_timeout-seconds': '90',
      resource_limits: { memory: 512, pids: 32, env: ['A=1=2'], network: true, cpu: 2, banana: 1 },
      languages: [
        { name: 'Py', docker_image: 'python:3.13', cmd: 'python -u', file_extension: 'py' },
        { name: 'node', command: 'node /workspace/{filename}', extensions: ['js', '.mjs'], timeout_ms: 1500 },
        { name: 'golang', run: ['go', 'run', '.'], limits: { memory: '1g' }, env: { B: true } },
        {
          name: 'Ruby',
          image: 'ruby:3.4',
          command: ['sh', '-c', 'ruby start.rb'],
          entrypoint: 'start.rb',
          extension: '.rb',
          aliases: 'rb',
          prompt_subdir: 'ruby',
        },
      ],
    });
    const left = rowsOf(await take()).filter((row) => !row.startsWith('imported'));
    expect(left).toEqual([
      'left out resource_limits.network: programs never have a network',
      'left out resource_limits.cpu: programs have the CPUs of sessions: set MCP_BRIDGE_CPUS',
      'left out resource_limits.banana: is not known',
      'left out languages.Ruby.prompt_subdir: every folder of prompts is searched',
    ]);
    const common = { timeout: 90, memory: '512m', pids: 32, env: { A: '1=2' } };
    expect(written()).toEqual({
      languages: {
        python: { ...common, image: 'python:3.13', command: ['python', '-u', '{file}'] },
        javascript: { ...common, timeout: 2, command: ['node', '/workspace/{file}'] },
        go: { ...common, memory: '1g', env: { A: '1=2', B: 'true' } },
        ruby: {
          ...common,
          image: 'ruby:3.4',
          file: 'start.rb',
          extensions: ['.rb'],
          aliases: ['rb'],
          command: ['sh', '-c', 'ruby {file}'],
        },
      },
    });
    expect((await readLanguages(stateDir)).find('rb')?.fileName).toBe('start.rb');
  });

  it('such as images alone are understood, and limits apply to languages that are not described', async () => {
    put({ languageImages: { python: 'python:3.11-alpine' }, limits: { timeout: '2m' } }, { 'prompts/a.js': '1' });
    await take();
    expect(written()).toEqual({
      languages: {
        python: { timeout: 120, image: 'python:3.11-alpine' },
        go: { timeout: 120 },
        javascript: { timeout: 120 },
      },
    });
    // The folder that the other system uses if its file names none.
    expect(await snippets().find('a')).toMatchObject({ code: '1' });
  });

  it('such as a folder of prompts alone elsewhere are understood', async () => {
    mkdirSync(join(root, 'elsewhere'));
    writeFileSync(join(root, 'elsewhere', 'a.go'), 'package main');
    put({ prompts_folder: join(root, 'elsewhere') });
    expect(rowsOf(await take())).toEqual(["imported prompts/a.go: snippet 'a' in go"]);
    expect(existsSync(join(stateDir, 'languages.json'))).toBe(false);
  });
});

describe('a file with mistakes', () => {
  it('is taken over without the parts that are invalid', async () => {
    put(
      {
        ...USUAL,
        defaults: { timeout: 'soon', memory: -1, env: { A: {} } },
        languages: {
          python: { image: '--privileged' },
          py: { image: 'x' },
          go: 7,
          rust: { image: 'rust:1', command: ['rustc'] },
          javascript: { image: 'node:18', command: 5 },
          perl: { command: ['perl'], extension: '.py' },
          ['__proto__']: { image: 'x' },
        },
      },
      {
        'prompts/a.py': '1',
        'prompts/A.go': '2',
        'prompts/a b.py': '3',
        'prompts/sub/a.js': '4',
        'prompts/bin.js': 'a\0',
      },
    );
    symlinkSync(file, join(root, 'old/prompts/link.js'));
    expect(rowsOf(await take()).filter((row) => !row.startsWith('left out'))).toEqual([
      'invalid defaults.timeout: is not a value for timeout',
      'invalid defaults.memory: is not a value for memory',
      'invalid defaults.env: is not a value for env',
      'invalid languages.go: is neither an object nor an image',
      "invalid languages.py: is 'python' once more",
      'invalid languages.javascript.command: is not a command',
      'invalid languages.python: image must be the name of an image, such as "ruby:3.4-slim"',
      'invalid languages.rust: extensions is missing; a language that is not built in needs it',
      'imported languages.javascript: {"image":"node:18"}',
      "invalid languages.perl: the extension '.py' belongs to both 'python' and 'perl'",
      expect.stringMatching(/^invalid languages\.__proto__: must begin with a lower-case letter/),
      "imported prompts/A.go: snippet 'A' in go",
      "invalid prompts/a b.py: a snippet cannot have the name 'a b'",
      'invalid prompts/a.py: has the same name as A.go; rename one of them',
      'invalid prompts/bin.js: it has a null byte',
      expect.stringMatching(/^invalid prompts\/link\.js: ELOOP/),
      'invalid prompts/sub/a.js: has the same name as A.go; rename one of them',
    ]);
    expect(written()).toEqual({ languages: { javascript: { image: 'node:18' } } });
  });

  it('such as a folder of prompts that is missing or has too many files says so', async () => {
    put({ ...USUAL, promptsDir: 'nowhere' });
    expect(rowsOf(await take()).at(-1)).toMatch(/^invalid prompts: cannot read .*nowhere: ENOENT/);
    put(USUAL, Object.fromEntries(Array.from({ length: MAX_SNIPPETS + 1 }, (_, at) => [`prompts/${at}.py`, ''])));
    expect(rowsOf(await take()).at(-1)).toMatch(/it has 1,001 files; the limit is 1,000$/);
  });

  it.each([
    ['{"languages": {', /isolator_config\.json': it is not JSON \(line 1, column 16\): it ends too early$/],
    ['[]', /it is not a JSON object$/],
    ['{"mcpServers": {}}', /it has neither languages nor limits nor a folder of prompts$/],
    ['{"languages": {}, "prompts": 3}', /it has neither languages/],
  ])('that cannot be understood is refused: %s', async (text, message) => {
    put(text);
    await expect(take()).rejects.toMatchObject({ code: 'USAGE_INVALID', message: expect.stringMatching(message) });
  });

  it('that is missing, a folder or too large is refused', async () => {
    await expect(take()).rejects.toMatchObject({ code: 'USAGE_INVALID', message: expect.stringMatching(/ENOENT/) });
    put('');
    truncateSync(file, MAX_LANGUAGES_FILE_BYTES + 1);
    await expect(take()).rejects.toThrow(/it has 1,048,577 bytes; the limit is 1,048,576 bytes/);
    rmSync(file);
    mkdirSync(file);
    await expect(take()).rejects.toThrow(/it is not a file/);
  });

  it('is not merged into a languages.json with mistakes', async () => {
    put(USUAL);
    mkdirSync(stateDir);
    writeFileSync(join(stateDir, 'languages.json'), '{"languages": {"go": {"imag": "x"}}}');
    await expect(take()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('the command', () => {
  async function run(more: Partial<ImportCommand> = {}) {
    let out = '';
    const { settings } = createContext({ MCP_BRIDGE_STATE_DIR: stateDir });
    const line: ImportCommand = { command: 'import', file, isDryRun: false, isForced: false, isJson: false, ...more };
    const exitCode = await runImport(line, { settings, writeOut: (text) => void (out += text) });
    return { out, exitCode };
  }

  it('prints a table, and fails if something was not taken over', async () => {
    put({ languages: { go: { image: 'golang:1.21' } }, network: false }, { 'prompts/a.py': '1' });
    const table = `left out    network       programs never have a network
taken over  languages.go  {"image":"golang:1.21"}
taken over  prompts/a.py  snippet 'a' in python
`;
    expect(await run({ isDryRun: true })).toEqual({
      out: `${table}Nothing was changed: this was a dry run.\n`,
      exitCode: 0,
    });
    expect(await run()).toEqual({ out: table, exitCode: 0 });
    put({ languages: { go: { image: '-x' } } });
    expect(await run()).toMatchObject({ out: expect.stringMatching(/^NOT taken over +languages\.go/), exitCode: 78 });
    const { out } = await run({ isJson: true, isDryRun: true });
    expect(JSON.parse(out)).toMatchObject({ dry_run: true, parts: [{ part: 'languages.go', outcome: 'kept' }, {}] });
  });
});
