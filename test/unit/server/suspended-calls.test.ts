/** Calls that take several requests: progress, questions, answers of a tool itself. */
import { ProtocolError, type ServerContext } from '@modelcontextprotocol/server';
import { expect, it, vi } from 'vitest';
import { type CellAnswer, NO_OUTPUT } from '../../../src/core/base/cell.ts';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { type FrontCall, invalidCall, type RunPythonCall } from '../../../src/front/server/front-tool.ts';
import { SuspendedCalls } from '../../../src/front/server/suspended-calls.ts';
import { TASK_AFTER_MS, Tasks } from '../../../src/front/server/tasks.ts';
import { Undelivered } from '../../../src/front/server/undelivered.ts';

const ANSWER: CellAnswer = {
  status: 'success',
  stdout: NO_OUTPUT,
  stderr: NO_OUTPUT,
  servers: [],
  session: 'default',
  timeoutSeconds: 30,
  notices: [],
};

/** A cell whose answer is rendered as its status. */
const CELL: FrontCall = {
  kind: 'cell',
  cell: { given: { code: 'x' } },
  render: async ({ status }) => ({ content: [{ type: 'text', text: status }], structuredContent: {}, isError: false }),
};

function setUp(front: FrontCall = CELL, extensions: object = {}) {
  const tasks = new Tasks();
  const running = createDeferred<RunPythonCall>();
  const answer = createDeferred<CellAnswer>();
  const calls = new SuspendedCalls({
    answer(call) {
      running.resolve(call);
      return answer.promise;
    },
    capabilitiesOf: () => ({ elicitation: { form: {} }, extensions }),
    undelivered: new Undelivered(),
    patienceOf: () => 50_000,
    tasks,
  });
  const sent: string[] = [];
  function request(
    progressToken: string | undefined,
    requestState?: string,
    inputResponses?: object,
    tool = 'run_python',
  ) {
    const notify = async ({ params }: { params: { message: string; progressToken: string } }) =>
      void sent.push(`${params.progressToken}: ${params.message}`);
    const mcpReq = {
      _meta: progressToken === undefined ? {} : { progressToken },
      notify,
      signal: new AbortController().signal,
      requestState: () => requestState,
      inputResponses,
    };
    const read = (): FrontCall => {
      sent.push('read');
      return front;
    };
    return calls.serve({ name: tool, given: { code: 'x' } }, { mcpReq } as unknown as ServerContext, read);
  }
  return { running: running.promise, answer, request, sent, tasks };
}

// These reports were lost: while a question is open, no request waits for them.
it('progress during a question arrives with the next request, and none after the answer', async () => {
  const { running, answer, request, sent } = setUp();
  const first = request('a');
  const { onProgress, person } = await running;
  onProgress?.({ message: 'one' });
  const reply = person?.ask(
    { mode: 'form', message: 'May it?', requestedSchema: { type: 'object', properties: {} } },
    new AbortController().signal,
  );
  const asked = (await first) as { requestState: string; inputRequests: object };
  onProgress?.({ message: 'two' });
  expect(sent).toEqual(['read', 'a: one']);
  const [question = ''] = Object.keys(asked.inputRequests);
  const second = request('b', asked.requestState, { [question]: { action: 'accept', content: {} } });
  await reply;
  onProgress?.({ message: 'three' });
  answer.resolve(ANSWER);
  await second;
  onProgress?.({ message: 'late' });
  expect(sent).toEqual(['read', 'a: one', 'b: two', 'b: three']);
});

it('without a request for progress, nothing is watched', async () => {
  const { running, answer, request } = setUp();
  const served = request(undefined);
  expect((await running).onProgress).toBeUndefined();
  answer.resolve(ANSWER);
  await served;
});

const QUESTION = { mode: 'form', message: 'May it?', requestedSchema: { type: 'object', properties: {} } } as const;

it('a tool that answers itself can ask the person, and its call is read once', async () => {
  const { request, sent } = setUp({
    kind: 'own',
    async answer({ person }) {
      const reply = await person?.ask(QUESTION, new AbortController().signal);
      return { content: [{ type: 'text', text: String(reply?.action) }], structuredContent: {}, isError: false };
    },
  });
  const asked = (await request(undefined)) as { requestState: string; inputRequests: object };
  const [question = ''] = Object.keys(asked.inputRequests);
  expect(await request(undefined, asked.requestState, { [question]: { action: 'decline' } })).toMatchObject({
    content: [{ type: 'text', text: 'decline' }],
  });
  expect(sent).toEqual(['read']);
});

it('the token of one tool does not continue a call of another', async () => {
  const { running, request } = setUp();
  const first = request(undefined);
  const { person } = await running;
  void person?.ask(QUESTION, new AbortController().signal);
  const { requestState } = (await first) as { requestState: string };
  await expect(request(undefined, requestState, {}, 'execute_code')).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('other arguments'),
  });
});

it.each([
  ['refuses', invalidCall(new BridgeError('USAGE_INVALID', 'no snippet x', { hint: 'h' })), -32602, 'no snippet x'],
  ['fails', new Error('a bug'), -32603, 'a bug'],
])('a tool that %s its call gets a protocol error', async (_name, error, code, message) => {
  const { request } = setUp({ kind: 'own', answer: () => Promise.reject(error) });
  const thrown = await request(undefined).catch((reason: unknown) => reason);
  expect(thrown).toBeInstanceOf(ProtocolError);
  expect(thrown).toMatchObject({ code, message: expect.stringContaining(message) });
});

it('a task shows its open question, goes on with the reply, and keeps its result', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { running, answer, request, tasks } = setUp(CELL, { 'io.modelcontextprotocol/tasks': {} });
  const first = request(undefined);
  const { person, patienceMs } = await running;
  expect(patienceMs).toBeUndefined();
  await vi.advanceTimersByTimeAsync(TASK_AFTER_MS);
  vi.useRealTimers();
  const { resultType, taskId } = (await first) as { resultType: string; taskId: string };
  expect(resultType).toBe('task');
  const reply = person?.ask(QUESTION, new AbortController().signal);
  const { inputRequests, status } = (await tasks.get({ taskId })) as { inputRequests: object; status: string };
  expect(status).toBe('input_required');
  const [question = ''] = Object.keys(inputRequests);
  expect(await tasks.update({ taskId }, { other: { action: 'accept' } })).toEqual({});
  expect(await tasks.get({ taskId })).toMatchObject({ status: 'input_required' });
  await tasks.update({ taskId }, { [question]: { action: 'accept', content: {} } });
  expect(await reply).toMatchObject({ action: 'accept' });
  expect(await tasks.get({ taskId })).toMatchObject({ status: 'working' });
  answer.resolve(ANSWER);
  await expect
    .poll(() => tasks.get({ taskId }))
    .toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'success' }] },
    });
});
