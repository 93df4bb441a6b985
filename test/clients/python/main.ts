/**
 * `npm run lab -- python-clients [NAME… --write]`: clients and agent frameworks from PyPI, each in a virtual environment of its own, with
 * the built bridge over stdio and HTTP. Each lists the tools and runs three cells: one that sets a variable, one that uses it and calls a
 * server, one that fails. Frameworks do it with a model that follows a script. `--write` puts the table into test/real-servers/README.md.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, promisify } from 'node:util';
import { messageOf } from '../../../src/core/base/errors.ts';
import { replacePart } from '../../real-servers/table.ts';
import { CLI, fixtureServer } from '../../support/bridge-client.ts';
import { installPythonTools } from '../../support/python-tools.ts';

/** Programs in this folder, and the packages that each needs. */
const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  sdk: ['mcp==2.3.0'],
  sdk_v1: ['mcp==1.30.0'],
  fastmcp_client: ['fastmcp==4.1.6'],
  langgraph_agent: ['langchain-mcp-adapters==0.3.2', 'langgraph==1.2.22'],
  pydantic_agent: ['pydantic-ai-slim[mcp]==2.68.0'],
  openai_agent: ['openai-agents==0.24.0'],
};
const CLIENT_LIMIT_MS = 180_000;
const STARTED = /Serving MCP over HTTP at (\S+)\./;
const run = promisify(execFile);

interface Report {
  readonly tools: readonly string[];
  readonly answers: readonly string[];
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { write: { type: 'boolean' } } });
const names = positionals.length === 0 ? Object.keys(CLIENTS) : positionals;
const work = mkdtempSync(join(tmpdir(), 'python-clients-'));
writeFileSync(join(work, 'servers.json'), JSON.stringify({ mcpServers: { notes: fixtureServer('echo.mjs') } }));
const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: work,
  MCP_BRIDGE_RUNTIME: 'embedded',
  MCP_BRIDGE_STATE_DIR: join(work, 'state'),
  MCP_SERVERS_CONFIG: join(work, 'servers.json'),
};
const rows: string[] = [];
let passed = 0;
let failed = 0;
const notCovered: string[] = [];

for (const name of names) {
  const specs = CLIENTS[name];
  if (specs === undefined) {
    throw new Error(`unknown: ${name}. Known are ${Object.keys(CLIENTS).join(', ')}.`);
  }
  const installed = installPythonTools(specs);
  if ('missing' in installed) {
    notCovered.push(installed.missing);
    continue;
  }
  const results: string[] = [];
  for (const transport of ['stdio', 'HTTP'] as const) {
    const reason = await tryClient(name, installed.bin, transport).then(faultIn, messageOf);
    passed += reason === undefined ? 1 : 0;
    failed += reason === undefined ? 0 : 1;
    results.push(reason === undefined ? 'ok' : 'failed');
    console.log(`${name} over ${transport}: ${reason ?? 'ok'}`);
  }
  rows.push(`| \`${specs.join('`, `')}\` | ${results.join(' | ')} |`);
}
rmSync(work, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 });
if (values.write === true) {
  replacePart('clients', ['| Packages | stdio | HTTP |', '| --- | --- | --- |', ...rows]);
}
console.log(`python clients: ${passed} passed, ${failed} failed`);
notCovered.forEach((what) => console.log(`Not covered: ${what}`));
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

async function tryClient(name: string, bin: string, transport: 'stdio' | 'HTTP'): Promise<Report> {
  if (transport === 'stdio') {
    return runClient(name, bin, { command: process.execPath, args: [CLI], env });
  }
  const child = spawn(process.execPath, [CLI, 'serve', '--http', '127.0.0.1:0'], {
    env: { ...env, MCP_BRIDGE_LOG_LEVEL: 'INFO' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stderr })) {
      const url = STARTED.exec(line)?.[1];
      if (url !== undefined) {
        child.stderr.resume();
        return await runClient(name, bin, { url });
      }
    }
    throw new Error('the bridge did not start');
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

async function runClient(name: string, bin: string, bridge: object): Promise<Report> {
  const { stdout } = await run(join(bin, 'python'), [join(import.meta.dirname, `${name}.py`)], {
    cwd: work,
    env: { PATH: env.PATH, HOME: work, BRIDGE: JSON.stringify(bridge) },
    timeout: CLIENT_LIMIT_MS,
    maxBuffer: 16 * 1024 * 1024,
  });
  return JSON.parse(stdout) as Report;
}

/** The first thing that is not as it should be. */
function faultIn({ tools, answers }: Report): string | undefined {
  const expected = [/./, /from notes[\s\S]*42/, /ZeroDivisionError/];
  const wrong = expected.findIndex((text, index) => !text.test(answers[index] ?? ''));
  if (tools.join() !== 'run_python') {
    return `it lists ${tools.join(', ') || 'no tools'}`;
  }
  return wrong === -1 ? undefined : `cell ${wrong + 1} answered ${JSON.stringify(answers[wrong])}`;
}
