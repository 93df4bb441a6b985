// @ts-check
/**
 * `npm run lab -- package`: checks what users get from npm, on any system. Packs the archive, installs it into an empty folder
 * without a registry, starts the command, and runs a cell on the embedded engine. Ends with the line `N passed, N failed`.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const { name, version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const work = await mkdtemp(join(tmpdir(), 'check-package-'));
const home = join(work, 'home');
/** An empty home, and the engine that every system has. */
const env = {
  ...process.env,
  HOME: home,
  USERPROFILE: home,
  MCP_BRIDGE_STATE_DIR: home,
  MCP_BRIDGE_RUNTIME: 'embedded',
};

/**
 * Runs npm itself rather than `npm.cmd`, which Windows can run only through a shell.
 * @param {string[]} args
 */
function npm(...args) {
  const cli = process.env['npm_execpath'];
  if (cli === undefined) {
    throw new Error('Start this with npm: npm run lab -- package');
  }
  return run(process.execPath, [cli, ...args], { cwd: work, maxBuffer: 64 * 1024 * 1024 });
}

/** The file behind the installed command. */
const command = join(work, 'node_modules', name, 'dist', 'cli.js');

/** @type {Record<string, () => Promise<void>>} */
const CHECKS = {
  'npm packs it': async () => {
    await npm('pack', '--pack-destination', work, root);
  },
  'npm installs it without a registry': async () => {
    const archive = (await readdir(work)).find((file) => file.endsWith('.tgz')) ?? '';
    await writeFile(join(work, 'package.json'), '{}');
    await npm('install', '--offline', '--no-audit', '--no-fund', join(work, archive));
  },
  'npm exec starts it': async () => {
    equal((await npm('exec', '--offline', '--', name, '--version')).stdout.trim(), version);
  },
  'the short name starts it, too': async () => {
    equal((await npm('exec', '--offline', '--', 'mcp-code', '--version')).stdout.trim(), version);
  },
  'a client finds one tool, run_python': async () => {
    equal((await listTools()).join(), 'run_python');
  },
  'a cell runs on the embedded engine': async () => {
    const { stdout } = await run(process.execPath, [command, 'exec', '-c', 'print(6 * 7)'], { env });
    equal(stdout.trim(), '42');
  },
};

/** @returns {Promise<string[]>} */
async function listTools() {
  const server = spawn(process.execPath, [command], { cwd: work, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const clientInfo = { name: 'check-package', version };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  for (const message of [
    { id: 1, method: 'initialize', params },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ]) {
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
  await answers.next();
  const { result } = JSON.parse((await answers.next()).value);
  server.stdin.end();
  await once(server, 'exit');
  return result.tools.map((/** @type {{ name: string }} */ tool) => tool.name);
}

/**
 * @param {string} actual
 * @param {string} expected
 */
function equal(actual, expected) {
  if (actual !== expected) {
    throw new Error(`expected ${expected}, got ${actual}`);
  }
}

let passed = 0;
try {
  await mkdir(home);
  for (const [what, check] of Object.entries(CHECKS)) {
    await check();
    passed += 1;
    console.log(`ok: ${what}`);
  }
} catch (error) {
  console.error(`failed: ${Object.keys(CHECKS)[passed] ?? 'the empty home'}`);
  console.error(error);
  process.exitCode = 1;
} finally {
  await rm(work, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`${passed} passed, ${process.exitCode === 1 ? 1 : 0} failed`);
