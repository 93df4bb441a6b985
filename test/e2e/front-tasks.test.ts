// Tags: anywhere
/**
 * Calls that become tasks: of MCP 2026-07-28 (SEP-2663) over raw lines, with the schemas of the extension's own package, and of 2025-11-25
 * with its client.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { isCreateTaskResultV2, isDetailedTaskV2 } from '@modelcontextprotocol/ext-tasks/core/v2';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type BuiltCommand, buildFakeCommand, LineClient } from './front-process.ts';

const TEST_MS = 60_000;
const TASKS = 'io.modelcontextprotocol/tasks';
const RELATED = 'io.modelcontextprotocol/related-task';
const metaWith = (extensions: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'tasks-test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} }, extensions },
});

let server: BuiltCommand;
const open: LineClient[] = [];
beforeAll(async () => {
  server = await buildFakeCommand();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ child, exited }) => (child.stdin.end(), exited)));
});
afterAll(() => server.remove());

function start(extensions: object = { [TASKS]: {} }, env: Record<string, string> = {}) {
  const client = new LineClient(server.script, env);
  open.push(client);
  let id = 0;
  const request = async (method: string, params: object) => {
    id += 1;
    const { error, result } = await client.request(id, method, { ...params, _meta: metaWith(extensions) });
    return result ?? error;
  };
  const call = (code: string) => request('tools/call', { name: 'run_python', arguments: { code } });
  const get = (taskId: string) => request('tasks/get', { taskId });
  const until = async (taskId: string, status: string) => {
    await expect.poll(async () => (await get(taskId)).status, { timeout: TEST_MS }).toBe(status);
    return get(taskId);
  };
  return { call, get, request, until, kill: () => client.child.kill('SIGKILL') };
}

it('the extension is announced', async () => {
  const { request } = start();
  expect(await request('server/discover', {})).toMatchObject({ capabilities: { extensions: { [TASKS]: {} } } });
});

it('a call that takes long becomes a task, with its progress and then its result', { timeout: TEST_MS }, async () => {
  const { call, get, until } = start();
  expect(await call('print quick')).toMatchObject({ resultType: 'complete', content: [{ text: 'quick' }] });
  const created = await call('progress');
  expect(isCreateTaskResultV2(created)).toBe(true);
  expect(created).toMatchObject({ status: 'working', taskId: expect.stringMatching(/^[\w-]{43}$/) });
  const working = await get(created.taskId);
  expect(isDetailedTaskV2(working)).toBe(true);
  expect(working).toMatchObject({ resultType: 'complete', taskId: created.taskId, status: 'working' });
  await call('release');
  const completed = await until(created.taskId, 'completed');
  expect(isDetailedTaskV2(completed)).toBe(true);
  expect(completed.result).toMatchObject({ content: [{ type: 'text', text: 'done' }], isError: false });
  // Kept as long as promised, and no notice of the next answer repeats it.
  expect(await get(created.taskId)).toMatchObject({ status: 'completed' });
  expect(await call('print next')).toMatchObject({ content: [{ text: 'next' }] });
});

it('a task can be cancelled, more than once', { timeout: TEST_MS }, async () => {
  const { call, request, until } = start();
  const { taskId } = await call('wait');
  expect(Object.keys(await request('tasks/cancel', { taskId }))).toEqual(['resultType', '_meta']);
  expect(isDetailedTaskV2(await until(taskId, 'cancelled'))).toBe(true);
  expect(Object.keys(await request('tasks/cancel', { taskId }))).toEqual(['resultType', '_meta']);
});

// It was unknown: the result of an hour was lost because the editor had restarted.
it('a task is known to the next process, with its result or that it was cut off', { timeout: TEST_MS }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'front-tasks-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env = { MCP_BRIDGE_STATE_DIR: folder };
  const first = start(undefined, env);
  const [done, running] = await Promise.all([first.call('progress'), first.call('wait')]);
  await first.call('release');
  const completed = await first.until(done.taskId, 'completed');
  first.kill();
  const { get, request } = start(undefined, env);
  expect(await get(done.taskId)).toMatchObject({ ...completed, _meta: expect.anything() });
  const cutOff = await get(running.taskId);
  expect(isDetailedTaskV2(cutOff)).toBe(true);
  expect(cutOff).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('cut off') } });
  expect(Object.keys(await request('tasks/cancel', { taskId: running.taskId }))).toEqual(['resultType', '_meta']);
  const legacy = new LineClient(server.script, env);
  open.push(legacy);
  await legacy.initialize();
  const resultOf = (id: number, taskId: string) => legacy.request(id, 'tasks/result', { taskId });
  expect((await resultOf(1, done.taskId)).result).toMatchObject({
    content: [{ text: 'done' }],
    _meta: { [RELATED]: { taskId: done.taskId } },
  });
  expect((await resultOf(2, running.taskId)).error).toMatchObject({
    code: -32603,
    message: expect.stringContaining('cut off'),
  });
});

it('an unknown task is refused, and so is a client that has no tasks', { timeout: TEST_MS }, async () => {
  expect(await start().get('unknown')).toMatchObject({
    code: -32602,
    message: expect.stringContaining('no such task'),
  });
  const without = start({});
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    expect(await without.request(method, { taskId: 'unknown', inputResponses: {} })).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    });
  }
});

/** The tasks of 2025-11-25, with the client of the extension's package. */
async function startLegacy() {
  const capabilities = { elicitation: { form: {} }, tasks: {} };
  const client = new Client({ name: 'tasks-test', version: '1' }, { capabilities });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [server.script], stderr: 'ignore' }),
  );
  const { tools } = await client.listTools();
  const session = createTaskSessionFromClient(client, {
    endpointId: 'tasks-test',
    tools: { currentTool: (name) => ({ name, inputSchema: {}, taskSupport: 'optional' }) },
  });
  const call = (code: string) => session.callTool('run_python', { code }, { task: { preference: 'require' } });
  const plain = (code: string) => client.callTool({ name: 'run_python', arguments: { code } });
  return { call, plain, tools, close: () => client.close() };
}

it('a client of 2025-11-25 gets a task if it asks for one', { timeout: TEST_MS }, async () => {
  const { call, close, plain, tools } = await startLegacy();
  expect(tools[0]).toMatchObject({ name: 'run_python', execution: { taskSupport: 'optional' } });
  const execution = await call('progress');
  expect(execution.kind).toBe('task');
  await plain('release');
  const { outcome } = await execution.settle();
  expect(outcome).toMatchObject({ status: 'completed', result: { content: [{ type: 'text', text: 'done' }] } });
  await close();
});

it('its questions are asked while it waits for the result', { timeout: TEST_MS }, async () => {
  const client = new LineClient(server.script);
  open.push(client);
  const capabilities = { elicitation: { form: {} }, tasks: {} };
  const clientInfo = { name: 'tasks-test', version: '1' };
  await client.request('init', 'initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo });
  client.write({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const params = { name: 'run_python', arguments: { code: 'ask one two' }, task: {} };
  const { taskId } = (await client.request(1, 'tools/call', params)).result.task;
  await expect
    .poll(async () => (await client.request(`get ${performance.now()}`, 'tasks/get', { taskId })).result.status)
    .toBe('input_required');
  client.write({ jsonrpc: '2.0', id: 'result', method: 'tasks/result', params: { taskId } });
  const reply = { action: 'accept', content: { answer: 'yes' } };
  for (const message of ['one', 'two']) {
    const question = await client.until(() => client.messages.find((one) => one['params']?.message === message));
    expect(question['params']._meta).toEqual({ [RELATED]: { taskId } });
    client.write({ jsonrpc: '2.0', id: question['id'], result: reply });
  }
  expect((await client.answer('result')).result).toMatchObject({
    structuredContent: { result: JSON.stringify([reply, reply]) },
    _meta: { [RELATED]: { taskId } },
  });
  expect((await client.request('list', 'tasks/list')).result.tasks).toMatchObject([{ taskId, status: 'completed' }]);
});

it('a client of 2025-11-25 can cancel its task', { timeout: TEST_MS }, async () => {
  const { call, close, plain } = await startLegacy();
  const execution = await call('wait');
  await execution.cancel();
  expect((await execution.settle()).outcome).toMatchObject({ status: 'cancelled' });
  expect((await plain('print next')).content).toMatchObject([{ text: 'next' }]);
  await close();
});
