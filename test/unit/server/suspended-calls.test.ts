/** Progress of a call of `run_python` that takes several requests. */
import type { ServerContext } from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import { type CellAnswer, NO_OUTPUT } from '../../../src/base/cell.ts';
import { createDeferred } from '../../../src/base/deferred.ts';
import type { RunPythonCall } from '../../../src/server/run-python.ts';
import { SuspendedCalls } from '../../../src/server/suspended-calls.ts';

const ANSWER: CellAnswer = {
  status: 'success',
  stdout: NO_OUTPUT,
  stderr: NO_OUTPUT,
  servers: [],
  session: 'default',
  timeoutSeconds: 30,
  notices: [],
};

function setUp() {
  const running = createDeferred<RunPythonCall>();
  const answer = createDeferred<CellAnswer>();
  const calls = new SuspendedCalls({
    answer(call) {
      running.resolve(call);
      return answer.promise;
    },
    render: async ({ status }) => ({
      content: [{ type: 'text', text: status }],
      structuredContent: {},
      isError: false,
    }),
    capabilitiesOf: () => ({ elicitation: { form: {} } }),
  });
  const sent: string[] = [];
  function request(progressToken: string | undefined, requestState?: string, inputResponses?: object) {
    const notify = async ({ params }: { params: { message: string; progressToken: string } }) =>
      void sent.push(`${params.progressToken}: ${params.message}`);
    const mcpReq = {
      _meta: progressToken === undefined ? {} : { progressToken },
      notify,
      signal: new AbortController().signal,
      requestState: () => requestState,
      inputResponses,
    };
    return calls.serve({ code: 'x' }, { mcpReq } as unknown as ServerContext);
  }
  return { running: running.promise, answer, request, sent };
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
  expect(sent).toEqual(['a: one']);
  const [question = ''] = Object.keys(asked.inputRequests);
  const second = request('b', asked.requestState, { [question]: { action: 'accept', content: {} } });
  await reply;
  onProgress?.({ message: 'three' });
  answer.resolve(ANSWER);
  await second;
  onProgress?.({ message: 'late' });
  expect(sent).toEqual(['a: one', 'b: two', 'b: three']);
});

it('without a request for progress, nothing is watched', async () => {
  const { running, answer, request } = setUp();
  const served = request(undefined);
  expect((await running).onProgress).toBeUndefined();
  answer.resolve(ANSWER);
  await served;
});
