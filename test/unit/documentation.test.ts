/**
 * What documents name exists: settings, commands, codes of errors, scripts. Each of their samples is run or read by a test, or says
 * here why not. What needs an engine is in `test/e2e/readme.test.ts` and `test/e2e/documented-commands.test.ts`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { withoutTier, withTier } from '../../scripts/generate/layers.ts';
import { LAB } from '../../scripts/lab-table.ts';
import { parseCommandLine } from '../../src/app/cli/command-line.ts';
import { slugOf } from '../../src/app/cli/help/page.ts';
import { ERROR_CODES, messageOf, renderError, toBridgeError } from '../../src/core/base/errors.ts';
import { silentLogger } from '../../src/core/base/log.ts';
import { splitWords } from '../../src/core/base/shell-words.ts';
import { elicitFor } from '../../src/core/calls/server-questions.ts';
import { buildPayload } from '../../src/core/render/payload.ts';
import { parseServerFile } from '../../src/edges/servers/server-file.ts';
import { loadSettings, REMOVED_VARIABLES, SETTINGS_TABLE } from '../../src/edges/settings/settings.ts';
import { LoginProvider } from '../../src/edges/upstream/oauth/login-provider.ts';
import { approvalForm } from '../../src/features/approvals/approval-form.ts';
import { readPolicy } from '../../src/features/policy/rules/schema.ts';
import { ROOT } from '../support/bridge-client.ts';
import { allFences, type Fence, findDocuments, readFences } from '../support/documented-samples.ts';
import { answerOf, text as outputOf } from './render/answer-of.ts';

const DOCUMENTS = findDocuments();
const NAME = 'mcp-server-code-execution-mode';
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

describe('settings', () => {
  /** Of tests and of the servers that the bridge starts. */
  const OTHERS = /^MCP_BRIDGE_(?:TEST_\w+|FUZZ_\w+|CI_\w+|DEPTH)$/;
  const known = SETTINGS_TABLE.map(({ variable }) => variable);

  it.each(DOCUMENTS)('%s names none that does not exist', (file) => {
    const named = textOf(file).match(/\bMCP_(?:BRIDGE|SERVERS)_[A-Z_]*[A-Z]/g) ?? [];
    // The changelog and the decisions may name what was removed.
    const allowed = [...known, ...Object.keys(REMOVED_VARIABLES)];
    expect(named.filter((name) => !allowed.includes(name) && !OTHERS.test(name))).toEqual([]);
  });

  it('are all in the reference', () => {
    expect(known.filter((name) => !textOf('docs/reference/settings.md').includes(`\`${name}\``))).toEqual([]);
  });

  it('are refused as the reference shows', () => {
    const shown = readFences('docs/configuration.md', '').find((text) => text.startsWith('CONFIG_INVALID'));
    const load = () => loadSettings({ MCP_BRIDGE_TIMEOUT: 'soon', MCP_BRIDGE_PULL: 'always' });
    try {
      load();
      expect.unreachable();
    } catch (error) {
      expect(renderError(toBridgeError(error))).toBe(shown);
    }
  });
});

describe('commands', () => {
  /** Words that stand for what a user types. */
  const PLACEHOLDERS: readonly [RegExp, string][] = [
    [/\[[^\]]*\]/g, ''],
    [/\bCLIENT…?/g, 'cursor'],
    [/\bCODE\b/g, 'IMAGE_MISSING'],
    [/\bCOMMAND\b/g, 'servers list'],
    [/\bFILE\b/g, 'file.py'],
    [/\bNAME\b/g, 'github'],
    // Here the word is the command itself.
    [/^exec$/g, 'exec -'],
  ];

  /** Command lines of ours in a text: in lines of samples, and between backticks. */
  function commandsIn(file: string): string[] {
    const lines = allFences(file).flatMap(({ language, text }) =>
      /^(?:|console|sh)$/.test(language) ? text.split('\n') : [],
    );
    const prose = textOf(file).replaceAll(/^```[\s\S]*?^```$/gm, '');
    const spans = [...prose.matchAll(/`((?:npx |… |mcp-server-|node dist\/cli\.js)[^`]*)`/g)].map(([, span = '']) =>
      span.replace(/^… /, `${NAME} `),
    );
    return [...lines, ...spans].flatMap((line) => {
      const own = new RegExp(`(?:^|[|$] ?|^npx (?:-y )?)(?:${NAME}|node dist/cli\\.js)(?: (.*))?$`).exec(
        line.replace(/ +# .*$/, ''),
      );
      return own === null ? [] : [(own[1] ?? '').trim()];
    });
  }

  const documents = DOCUMENTS.filter((file) => commandsIn(file).length > 0);

  it.each(documents)('%s shows command lines that are understood', async (file) => {
    for (const command of commandsIn(file)) {
      const typed = PLACEHOLDERS.reduce((text, [pattern, word]) => text.replaceAll(pattern, word), command);
      const understood = await parseCommandLine(splitWords(typed) ?? []).catch(messageOf);
      expect({ command, understood }).toEqual({ command, understood: expect.any(Object) });
    }
  });

  it('are found in the documents', () => {
    expect(documents).toEqual(
      expect.arrayContaining(['README.md', 'docs/start.md', 'docs/clients.md', 'docs/remote.md']),
    );
  });
});

it.each(DOCUMENTS.filter((file) => file !== 'CHANGELOG.md'))('%s names codes of errors that exist', (file) => {
  /** Names that look like one. */
  const others = ['PROTOCOL_VERSION', 'HTTP_PROXY'];
  const families = new Set(Object.keys(ERROR_CODES).map((code) => code.split('_')[0]));
  const named = [...textOf(file).matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, code = '']) => code);
  const codes = named.filter((code) => families.has(code.split('_')[0]) && !others.includes(code));
  expect(
    codes.filter((code) => !Object.hasOwn(ERROR_CODES, code) && !textOf('docs/reference/errors.md').includes(code)),
  ).toEqual([]);
});

it('README.md promises the figures that were measured', () => {
  const FIGURE = /\d+(?:,\d{3})*/g;
  const [, promise = ''] = /With three small servers, ([^(]*)\s\(\[measured\]/.exec(textOf('README.md')) ?? [];
  const figures = promise.match(FIGURE) ?? [];
  expect(figures).toHaveLength(4);
  const measured: readonly string[] = textOf('docs/comparison.md').match(FIGURE) ?? [];
  expect(figures.filter((figure) => !measured.includes(figure))).toEqual([]);
});

describe('scripts', () => {
  /** Comments, hints, workflows and shell scripts name scripts of npm, too. */
  const FOLDERS = ['src', 'scripts', 'bench', 'test', 'sandbox-runtime', 'deploy', '.ci', '.github'];
  const sources = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /(?:^|\.)(?:tsx?|mjs|py|sh|json|ya?ml|md|run)$/.test(entry.name))
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name))),
  );
  const files = [...new Set([...DOCUMENTS, 'AGENTS.md', 'package.json', ...sources])];

  /** Scripts of npm, experiments and stages that a text names and that do not exist. */
  function missingIn(text: string): string[] {
    const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);
    return [
      ...all(/npm run (?:-s )?([a-z][\w:-]*)/g).filter((name) => !Object.hasOwn(packageJson.scripts, name)),
      ...all(/npm run lab -- ([a-z][\w:-]*)/g).filter((name) => !Object.hasOwn(LAB, name)),
      ...all(/\bnode (scripts\/[\w./-]+)/g).filter((path) => !existsSync(join(ROOT, path))),
    ];
  }

  it('that texts and sources name exist', () => {
    expect(sources.length).toBeGreaterThan(500);
    const missing = files.map((file) => [file, missingIn(textOf(file))] as const);
    // The names in this test are no mentions.
    expect(missing.filter(([file, names]) => names.length > 0 && !file.endsWith('documentation.test.ts'))).toEqual([]);
  });

  it('are missed where one was renamed', () => {
    expect(missingIn('run `npm run bench:load`, npm run lab -- lod or node scripts/tests.mjs')).toEqual([
      'bench:load',
      'lod',
      'scripts/tests.mjs',
    ]);
  });
});

it('only main.ts and the children of the embedded engine end their process, as CONTRIBUTING.md says', () => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && textOf(join('src', file)).includes('process.exit('))
    .map((file) => withoutTier(file.replaceAll('\\', '/')));
  expect(files).toContain('main.ts');
  expect(files.filter((file) => !/^main\.ts$|^engines\/embedded\/(?:child|javascript)\//.test(file))).toEqual([]);
});

describe('links', () => {
  const outsideOfFences = (file: string) => textOf(file).replaceAll(/^```[\s\S]*?^```$/gm, '');
  const headingsOf = (file: string) =>
    [...outsideOfFences(file).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => slugOf(title));

  it.each(DOCUMENTS)('of %s lead to files and headings that exist', (file) => {
    const targets = [...outsideOfFences(file).matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)].map(([, target = '']) => target);
    const broken = targets.filter((target) => {
      const [path = '', heading] = target.split('#');
      const linked = path === '' ? file : join(dirname(file), path);
      return !existsSync(join(ROOT, linked)) || (heading !== undefined && !headingsOf(linked).includes(heading));
    });
    expect(broken).toEqual([]);
  });
});

describe('files of this project', () => {
  it.each(DOCUMENTS)('that %s names exist', (file) => {
    const named = [...textOf(file).matchAll(/`((?:src|test|docs|scripts|sandbox-runtime|deploy)\/[\w./-]+)`/g)];
    expect(named.map(([, path = '']) => path).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  // These pages leave out `src/` and the folder of the kernel.
  it.each(['architecture', 'lifecycle', 'data-ways'])('that docs/internals/%s.md names in short exist', (page) => {
    const named = [...textOf(`docs/internals/${page}.md`).matchAll(/`((?:[\w-]+\/)+[\w-]+\.ts|[\w-]+\.py)`/g)];
    const lost = named.filter(
      ([, path = '']) =>
        ![path, `src/${withTier(path)}`, `sandbox-runtime/bridge_kernel/${path}`].some((one) =>
          existsSync(join(ROOT, one)),
        ),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(lost.map(([, path]) => path)).toEqual([]);
  });
});

/** Fields of an answer, as the reference lists them. */
const ANSWER_FIELDS = [
  ...textOf('docs/reference/answers.md').matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (?:always|if|unless|in the)/gm),
].flatMap(([, names = '']) => names.replaceAll('`', '').split(', '));

it('docs/reference/answers.md has a row for each field of an answer, in order', () => {
  const everything = answerOf({
    status: 'error',
    stdout: outputOf('out'),
    stderr: outputOf('err'),
    value: '1',
    error: { code: 'INTERNAL', message: 'failed' },
    exitCode: 1,
    servers: ['memory'],
    session: 'other',
    notices: ['State was lost.'],
    engine: { name: 'podman', isolation: 'container', refused: [] },
  });
  expect(ANSWER_FIELDS).toEqual(Object.keys(buildPayload(everything, 1000)));
});

describe('samples', () => {
  /** Tests that read all samples of a document, by language. */
  const READ_BY: Readonly<Record<string, readonly [languages: RegExp, test: string]>> = {
    'docs/policy.md': [/json|python|text|console/, 'test/e2e/policy-docs.test.ts'],
    'docs/apis.md': [/python/, 'test/e2e/apis.test.ts'],
    'docs/egress.md': [/python/, 'test/e2e/egress.test.ts'],
    // With servers of a registry on this machine.
    'docs/servers.md': [/sh/, 'test/e2e/new-servers.test.ts'],
    'docs/profiles.md': [/json/, 'test/unit/policy/profiles.test.ts'],
    'docs/live.md': [/text/, 'test/unit/live/top-view.test.ts'],
    'docs/ui.md': [/json/, 'test/unit/ui/server.test.ts'],
    'docs/http.md': [/sh|nginx/, 'test/e2e/http.test.ts'],
    'docs/packages.md': [/sh/, 'test/e2e/debian-image.test.ts'],
    'docs/users.md': [/sh|json/, 'test/e2e/documented-commands.test.ts'],
    'docs/several-bridges.md': [/sh/, 'test/e2e/several-bridges.test.ts'],
    'docs/kubernetes.md': [/yaml/, 'test/integration/engines/kubernetes.test.ts'],
    'docs/deploy.md': [/yaml/, 'test/unit/deploy/kubernetes.test.ts'],
    'docs/telemetry.md': [/text/, 'test/e2e/telemetry.test.ts'],
    'docs/audit.md': [/jsonl/, 'test/e2e/audit.test.ts'],
    'docs/snippets.md': [/json/, 'test/unit/languages/languages-file.test.ts'],
    'docs/internals/elicitation.md': [/json/, 'test/e2e/asking.test.ts'],
  };
  /** Samples that no test runs, by their beginning, and why. */
  const NOT_RUN: Readonly<Record<string, string>> = {
    ' MCP client': 'a drawing',
    'curl --unix-socket': 'the socket has another name in each bridge; test/e2e/live.test.ts sends such requests',
    'curl -H "Authorization: Bearer $TOKEN"':
      'port and token are new each time; test/e2e/ui.test.ts sends such requests',
    'npm ci ': 'the commands that CI runs; that the scripts exist is tested above',
    '> run_python': 'a part of what the demo prints; test/e2e/demo.test.ts compares it',
    'npm run fix': 'changes the sources; that the scripts exist is tested above',
    'npm run bench': 'takes minutes, and no test depends on figures; that the script exists is tested above',
    'npm run eval': 'needs an agent; test/unit/scripts/eval.test.ts reads the command lines',
    'npx vitest run': 'runs tests, and a test that runs tests is a loop',
    '$ npx vitest run': 'runs tests, and a test that runs tests is a loop',
    '$ cat /usr/local/bin/runsc-no-network': 'gVisor is not on the machines that test',
    '$ podman ps': 'a command of podman',
  };

  function isCovered(file: string, fence: Fence, previous: Fence | undefined): boolean {
    const { before, language, text } = fence;
    const isRun = (one: Fence | undefined) => /^<!-- run(?:: .*)? -->$/.test(one?.before ?? '');
    const [languages, test = ''] = READ_BY[file] ?? [];
    return (
      isRun(fence) ||
      (language === 'text' && isRun(previous)) ||
      (languages?.test(language) === true && existsSync(join(ROOT, test))) ||
      (language === 'json' && (text.includes('"mcpServers"') || isReadHere(fence))) ||
      (file === 'docs/approvals.md' && language === 'text') ||
      // test/unit/packages/package-index.test.ts
      (file === 'docs/packages.md' && language === 'toml') ||
      (language === '' && (text.includes(NAME) || text.startsWith('CONFIG_INVALID'))) ||
      before === '<!-- not run -->' ||
      Object.keys(NOT_RUN).some((start) => text.startsWith(start))
    );
  }

  it.each(DOCUMENTS)('of %s are each run or read by a test', (file) => {
    const fences = allFences(file);
    const open = fences.filter((fence, index) => !isCovered(file, fence, fences[index - 1]));
    expect(open.map(({ place }) => place)).toEqual([]);
  });

  /** A policy, the error of a command, the client metadata of a login, or an entry of a server. */
  function isReadHere({ text }: Fence): boolean {
    const value = JSON.parse(text) as object;
    if ('rules' in value || 'limits' in value) {
      return !('problem' in readPolicy(value, 'policy.json'));
    }
    if ('client_id' in value) {
      const { client_id: _, redirect_uris: addresses, ...rest } = value as Record<string, unknown>;
      const [redirectUrl = ''] = addresses as string[];
      const provider = new LoginProvider({} as never, { redirectUrl } as never);
      return isDeepStrictEqual({ redirect_uris: addresses, ...rest }, provider.clientMetadata);
    }
    if ('summary' in value) {
      return Object.keys(value).every((field) => ANSWER_FIELDS.includes(field));
    }
    if ('error' in value) {
      return Object.hasOwn(ERROR_CODES, (value.error as { code: string }).code);
    }
    const file = JSON.stringify({ mcpServers: { sample: value } });
    const read = parseServerFile('/example.json', file, { home: '/home/me', env: { SECRET: 'secret' } });
    return read.servers.length === 1 && read.issues.every(({ level }) => level === 'debug');
  }

  it('of a question are what a person sees', async () => {
    const [ours, theirs] = readFences('docs/approvals.md', 'text');
    const line = { number: 3, text: 'await mcp_github.delete_file(path=name, branch="main")', candidates: 1 };
    const reason = 'rules[0] of /home/you/MCPs/policy.json asks for approval';
    const call = {
      server: 'github',
      tool: 'delete_file',
      reason,
      arguments: { path: 'README.md', branch: 'main' },
      parameters: ['path', 'branch'],
      count: 1,
      line,
    };
    expect(approvalForm('default', [call]).message).toBe(ours);
    let asked = '';
    const ask = async ({ message }: { message: string }) => {
      asked = message;
      return { action: 'cancel' as const };
    };
    const elicit = elicitFor('github', { ask, opensPages: true } as never, silentLogger);
    const requestedSchema = { type: 'object', properties: { account: { type: 'string' } } };
    await elicit?.({ message: 'Which account do you mean?', requestedSchema }, new AbortController().signal);
    expect(asked).toBe(theirs);
  });
});
