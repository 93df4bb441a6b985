// Tags: anywhere
/** Calls that become tasks (MCP 2026-07-28, SEP-2663), over raw lines. The schemas are those of the extension's own package. */
import { isCreateTaskResultV2, isDetailedTaskV2 } from '@modelcontextprotocol/ext-tasks/core/v2';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type BuiltCommand, buildFakeCommand, LineClient } from './front-process.ts';

const TEST_MS = 60_000;
const TASKS = 'io.modelcontextprotocol/tasks';
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

function start(extensions: object = { [TASKS]: {} }) {
  const client = new LineClient(server.script);
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
  return { call, get, request, until };
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
