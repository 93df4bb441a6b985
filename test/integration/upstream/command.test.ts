// Tags: full, user-release
/** Programs that are no MCP servers, run by the pool of servers. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import { isObject, type JsonObject } from '../../../src/core/base/is-object.ts';
import type { Subcommand } from '../../../src/core/base/subcommand.ts';
import { pause } from '../../support/pause.ts';
import { failureOf, isRunning, type ServerSketch, startPool } from '../../support/upstream.ts';

/** Node, which runs the code of a parameter. */
function program(more: Partial<ServerSketch> = {}): ServerSketch {
  const run: Subcommand = {
    args: ['-e', '{code}', '{words}'],
    parameters: { code: {}, words: { default: [] }, input: {} },
    stdin: 'input',
    readOnly: true,
  };
  return { command: process.execPath, args: [], subcommands: { run }, ...more } as ServerSketch;
}

function start(more: Partial<ServerSketch> = {}) {
  const pool = startPool({ node: program(more) });
  const call = (args: JsonObject, timeoutMs?: number) =>
    pool.callTool({ server: 'node', tool: 'run', arguments: args, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  return { pool, call };
}

const texts = (result: unknown): unknown => (isObject(result) ? result['content'] : undefined);

it('lists the subcommands as tools', async () => {
  const { pool } = start();
  const { tools } = await pool.describe('node');
  expect(tools).toEqual([
    {
      name: 'run',
      inputSchema: {
        type: 'object',
        properties: { code: {}, words: { default: [] }, input: {} },
        required: ['code'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
    },
  ]);
});

it('runs the program with the arguments as they are, and gives its input', async () => {
  const { call } = start();
  const code =
    'let t = ""; process.stdin.on("data", (d) => t += d).on("end", () => console.log(JSON.stringify([process.argv.slice(1), t])))';
  const words = ['a b', '$(touch x)', '"', "'", '*', 'ü\n'];
  expect(texts(await call({ code, words, input: 'in' }))).toEqual([
    { type: 'text', text: JSON.stringify([words, 'in']) },
  ]);
  // Nobody writes to a terminal: the input ends.
  expect(texts(await call({ code }))).toEqual([{ type: 'text', text: '[[],""]' }]);
});

it('gives the environment of the entry, and no other', async () => {
  const { call } = start({ env: { OWN: 'yes' } });
  process.env['FROM_OUTSIDE'] = 'no';
  onTestFinished(() => {
    delete process.env['FROM_OUTSIDE'];
  });
  const result = await call({ code: 'console.log(process.env.OWN, process.env.FROM_OUTSIDE)' });
  expect(texts(result)).toEqual([{ type: 'text', text: 'yes undefined' }]);
});

it('waits for a program that works after its input has ended', async () => {
  const { call } = start();
  expect(texts(await call({ code: 'setTimeout(() => console.log("late"), 2_000)' }))).toEqual([
    { type: 'text', text: 'late' },
  ]);
});

it('returns all of a large output, bytes as bytes, and nothing as nothing', async () => {
  const { call } = start();
  const [large] = texts(await call({ code: 'process.stdout.write("x".repeat(5_000_000))' })) as { text: string }[];
  expect(large?.text).toHaveLength(5_000_000);
  expect(texts(await call({ code: 'process.stdout.write(Buffer.from([255, 0]))' }))).toEqual([
    { type: 'resource', resource: { uri: 'stdout:', mimeType: 'application/octet-stream', blob: '/wA=' } },
  ]);
  expect(texts(await call({ code: '' }))).toEqual([]);
});

it('says how a program failed', async () => {
  const { call } = start();
  expect(await call({ code: 'console.log("some"); console.error("no such issue"); process.exitCode = 3' })).toEqual({
    isError: true,
    content: [{ type: 'text', text: 'exit 3: no such issue' }],
    structuredContent: { exit_code: 3, stdout: 'some\n', stderr: 'no such issue' },
  });
  expect(await call({ code: 'console.log("why"); process.exitCode = 1' })).toMatchObject({
    content: [{ type: 'text', text: 'exit 1: why' }],
  });
  expect(await call({ code: 'process.kill(process.pid, "SIGKILL")' })).toMatchObject({
    content: [{ type: 'text', text: 'ended by SIGKILL' }],
  });
});

it('refuses arguments that the program would read as options', async () => {
  const { call } = start();
  expect(await failureOf(call({ code: '1', words: ['--eval=2'] }))).toMatchObject({
    code: 'TOOL_FAILED',
    message: `server 'node' refused 'run': "words" begins with "-", which the program would read as an option`,
  });
});

it('refuses more output than a result may have', async () => {
  const { call } = start();
  const code =
    'const b = Buffer.alloc(1 << 20); const f = () => { while (process.stdout.write(b)); process.stdout.once("drain", f); }; f()';
  expect(await failureOf(call({ code }))).toMatchObject({ code: 'LIMIT_RESULT' });
});

it('says that there is no such program', async () => {
  const { call } = start({ command: 'no-such-program-here' });
  expect(await failureOf(call({ code: '1' }))).toMatchObject({
    code: 'SERVER_START_FAILED',
    message: expect.stringContaining('no-such-program-here'),
  });
});

it('ends the program and what it started at the deadline', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'command-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { call } = start();
  const file = join(folder, 'pids');
  const child = 'setInterval(() => {}, 1000)';
  const code = `
    const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' });
    require('node:fs').writeFileSync(${JSON.stringify(file)}, process.pid + ' ' + child.pid);
    setInterval(() => {}, 1000);`;
  expect(await failureOf(call({ code }, 3_000))).toMatchObject({ code: 'CALL_TIMEOUT' });
  const pids = existsSync(file) ? readFileSync(file, 'utf8').split(' ').map(Number) : [];
  expect(pids).toHaveLength(2);
  await expect.poll(() => pids.filter(isRunning)).toEqual([]);
});

it('ends the program when the call is cancelled', async () => {
  const { pool } = start();
  const cancel = new CancelSource();
  const code = 'setInterval(() => {}, 1000)';
  const failed = failureOf(pool.callTool({ server: 'node', tool: 'run', arguments: { code }, signal: cancel }));
  await pause(500, 'the program starts, and says nothing');
  cancel.abort();
  expect(await failed).toMatchObject({ code: 'CALL_CANCELLED' });
});

it('runs some at once and the others after them', async () => {
  const { call } = start();
  const started = performance.now();
  const code = 'setTimeout(() => console.log("done"), 200)';
  const results = await Promise.all(Array.from({ length: 12 }, () => call({ code })));
  expect(results.map(texts)).toEqual(results.map(() => [{ type: 'text', text: 'done' }]));
  expect(performance.now() - started).toBeGreaterThan(400);
});
