// Tags: anywhere, full
/** What users get from npm: only the files that run, and a command that works with just those. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { TOPIC_NAMES } from '../../src/app/cli/help/topics.ts';
import { coverEngines } from '../support/covered-engines.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NAME = 'mcp-server-code-execution-mode';
const EMBEDDED_FILES = [
  'child.cjs',
  'javascript-guest.bytecode',
  'javascript.cjs',
  'manifest.json',
  'memory.snapshot',
  'python.wasm',
  'quickjs.wasm',
  'stdlib.pack',
];
const run = promisify(execFile);
const engines = await coverEngines();

let folder: string;
let packed: string[];
let command: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bridge-pack-'));
  // The bundle was built before these tests; rebuilding it would remove it while other tests run it.
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: ROOT,
  });
  const [report] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  packed = report.files.map(({ path }) => path);
  await writeFile(join(folder, 'package.json'), '{}');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, report.filename)], { cwd: folder });
  command = join(folder, 'node_modules', '.bin', NAME);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the package', () => {
  it('contains only what runs', async () => {
    const kernel = await readdir(join(ROOT, 'sandbox-runtime', 'bridge_kernel'));
    const embedded = EMBEDDED_FILES.map((file) => `dist/embedded/${file}`);
    const isLicense = (path: string) => path.startsWith('dist/embedded/licenses/');
    const isChunk = (path: string) => /^dist\/[\w-]+-[0-9A-Z]{8}\.js$/.test(path);
    const isToRead = (path: string) => /^(?:docs\/(?!internals\/)|servers\.d\/)/.test(path);
    expect(packed.filter((path) => !isChunk(path) && !isLicense(path) && !isToRead(path)).toSorted()).toEqual(
      [
        'CHANGELOG.md',
        'LICENSE',
        'NOTICE',
        'README.md',
        'dist/THIRD_PARTY_LICENSES.txt',
        'dist/cell-view.html',
        'dist/cli.js',
        'dist/compile-thread.js',
        'dist/start-up.js',
        ...['app.css', 'app.js', 'favicon.svg', 'index.html'].map((file) => `dist/ui/${file}`),
        ...embedded,
        // Printed by `help engines`.
        'docs/internals/engines.md',
        'package.json',
        'sandbox-runtime/Containerfile',
        'sandbox-runtime/package_builder/builder.py',
        'sandbox-runtime/pod/door.py',
        'sandbox-runtime/pod/holder.py',
        'sandbox-runtime/program-seccomp.json',
        'sandbox-runtime/program_runner/preload.mjs',
        'sandbox-runtime/program_runner/runner.mjs',
        ...kernel.filter((file) => file.endsWith('.py')).map((file) => `sandbox-runtime/bridge_kernel/${file}`),
      ].toSorted(),
    );
    expect(packed.filter(isChunk).length).toBeGreaterThan(0);
  });

  it('contains everything its README links to for users', async () => {
    /** For contributors, who have the repository. */
    const isForContributors = (target: string) => /^(?:docs\/internals\b|[A-Z_]+\.md$)/.test(target);
    const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
    const targets = [...readme.matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(([, target = '']) => target);
    const isPacked = (target: string) => packed.some((path) => path === target || path.startsWith(`${target}/`));
    expect(targets.filter((target) => !isPacked(target) && !isForContributors(target))).toEqual([]);
    expect(targets.filter((target) => !existsSync(join(ROOT, target)))).toEqual([]);
  });

  it('is a command without an API', async () => {
    const script = `import('${NAME}').catch(({ code }) => console.log(code))`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder });
    expect(stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\n');
  });

  it('contains no pictures, because pages load them from the repository', () => {
    expect(packed.filter((path) => path.startsWith('docs/images/'))).toEqual([]);
  });

  it('has no dependencies', async () => {
    expect(await readdir(join(folder, 'node_modules'))).toEqual(['.bin', '.package-lock.json', NAME]);
  });
});

describe('the installed command', () => {
  it('prints its version', async () => {
    const { stdout } = await run(command, ['--version']);
    expect(stdout).toBe(`${packageJson.version}\n`);
  });

  it('prints the pages that its messages name, and explains its errors', async () => {
    const pages = await Promise.all(TOPIC_NAMES.map((topic) => run(command, ['help', topic])));
    expect(pages.map(({ stdout }) => /^(?:```[\s\S]*?```\n\n)?# .+\n/.test(stdout))).toEqual(
      TOPIC_NAMES.map(() => true),
    );
    expect((await run(command, ['help', 'limit_calls'])).stdout).toMatch(/^# LIMIT_CALLS\n\n- \*\*Meaning\*\*: /);
  });

  it('serves run_python', async () => {
    // On a busy machine it lives long enough to start a sandbox ahead, which writes to the state directory.
    const env = { ...process.env, MCP_BRIDGE_STATE_DIR: folder };
    const server = spawn(command, [], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
    const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const clientInfo = { name: 'pack-test', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const ask = async (message: object): Promise<unknown> => {
      server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      const { value } = await answers.next();
      return JSON.parse(value as string) as unknown;
    };
    expect(await ask({ id: 1, method: 'initialize', params })).toMatchObject({
      result: { serverInfo: { name: NAME, version: packageJson.version } },
    });
    server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    expect(await ask({ id: 2, method: 'tools/list' })).toMatchObject({ result: { tools: [{ name: 'run_python' }] } });
    server.stdin.end();
    expect(await once(server, 'exit')).toEqual([0, null]);
  });

  it.each(engines.slice(0, 1))('runs a cell on $label', async ({ env }) => {
    const settings = { ...env, MCP_BRIDGE_STATE_DIR: folder };
    const { stdout } = await run(command, ['exec', '-c', 'print(6 * 7)'], { env: settings });
    expect(stdout).toBe('42\n');
  });
});
