import { describe, expect, test } from 'vitest';
import { type CellAnswer, type CellRequest, NO_OUTPUT } from '../../../src/core/base/cell.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { createLogger } from '../../../src/core/base/log.ts';
import { type Bridge, LazyBridge, type ServerNames } from '../../../src/core/session/lazy-bridge.ts';
import { answerCell } from '../../../src/front/server/cell-answers.ts';
import { createRunPython, type RunPythonOptions } from '../../../src/front/server/run-python.ts';

const SERVERS: ServerNames = {
  names: ['github'],
  fileProblems: [],
  resolve: () => undefined,
  whyDisabled: () => undefined,
};

function front(runCell: Bridge['runCell'], servers = SERVERS): RunPythonOptions & { readonly logged: string[] } {
  const logged: string[] = [];
  const bridge: Bridge = {
    runCell,
    listServers: () => servers,
    runProgram: () => Promise.reject(new Error('not used')),
    keepAnswers: async () => undefined,
    listSessions: async () => [],
    resetSession: async () => false,
    describeEngine: async () => undefined,
    preload: async () => undefined,
    startSandboxesAhead: async () => undefined,
    preinstall: async () => undefined,
    startServersAhead: async () => undefined,
    close: async () => undefined,
  };
  return {
    bridge: new LazyBridge(async () => bridge),
    outputMode: 'compact',
    maxOutputChars: 40_000,
    defaultTimeoutSeconds: 30,
    maxTimeoutSeconds: 120,
    logger: createLogger('DEBUG', (line) => logged.push(line)),
    logged,
  };
}

const answerTo = (request: CellRequest): CellAnswer => ({
  status: 'success',
  stdout: NO_OUTPUT,
  stderr: NO_OUTPUT,
  servers: request.servers,
  session: request.session,
  timeoutSeconds: request.timeoutMs / 1000,
  notices: [],
});

test('the bridge gets what the client asked for', async () => {
  const requests: CellRequest[] = [];
  const options = front(async (request) => {
    requests.push(request);
    return answerTo(request);
  });
  const { signal } = new AbortController();
  const onProgress = () => undefined;
  const given = { code: 'x', servers: ['github'], timeout: 7, session: 's' };
  expect(await answerCell(options, { given, signal, onProgress })).toMatchObject({ status: 'success' });
  expect(requests).toEqual([{ code: 'x', servers: ['github'], timeoutMs: 7000, session: 's', signal, onProgress }]);
});

test('refused arguments never reach the bridge', async () => {
  const options = front(() => Promise.reject(new Error('must not be called')));
  const call = await createRunPython(options).call({ code: '' });
  expect(call.kind === 'cell' && (await call.render(await answerCell(options, call.cell)))).toMatchObject({
    structuredContent: { status: 'validation_error', timeoutSeconds: 30 },
    isError: true,
  });
  expect(options.logged).toEqual([]);
});

test('a session begins without state if the call says so', async () => {
  const requests: CellRequest[] = [];
  const options = front(async (request) => {
    requests.push(request);
    return answerTo(request);
  });
  await answerCell(options, { given: { code: 'x' }, isFresh: true });
  expect(requests).toMatchObject([{ code: 'x', isFresh: true }]);
});

test('a disabled server is a refused argument', async () => {
  const options = front(() => Promise.reject(new Error('must not be called')), {
    ...SERVERS,
    whyDisabled: () => new BridgeError('SERVER_NOT_AVAILABLE', 'it is disabled', { hint: 'enable it' }),
  });
  expect(await answerCell(options, { given: { code: 'x', servers: ['off'] } })).toMatchObject({
    status: 'validation_error',
    error: { code: 'SERVER_NOT_AVAILABLE', message: 'it is disabled', hint: 'enable it' },
  });
});

describe('a rejected cell', () => {
  const given = { code: 'x', servers: ['github'], timeout: 7, session: 's' };

  test('is an answer with code and hint that names the request', async () => {
    const failure = new BridgeError('ENGINE_UNAVAILABLE', 'no engine', { hint: 'install podman' });
    const options = front(() => Promise.reject(failure));
    expect(await answerCell(options, { given })).toMatchObject({
      status: 'error',
      error: { code: 'ENGINE_UNAVAILABLE', message: 'no engine', hint: 'install podman' },
      servers: ['github'],
      session: 's',
      timeoutSeconds: 7,
    });
    expect(options.logged).toEqual([]);
  });

  test('is logged with its stack if it is a fault of the bridge', async () => {
    const options = front(() => Promise.reject(new TypeError('x is undefined')));
    expect(await answerCell(options, { given })).toMatchObject({
      error: { code: 'INTERNAL', message: 'x is undefined', hint: expect.any(String) },
    });
    expect(options.logged).toEqual([expect.stringMatching(/ERROR TypeError: x is undefined.*run-python\.test/)]);
  });
});

describe('the view of a cell', () => {
  const VIEW = { code: 'x', duration_ms: 1, calls: [], calls_left_out: 0 };

  test('is in `_meta`, and nothing else changes', async () => {
    const requests: CellRequest[] = [];
    const options = front(async (request) => {
      requests.push(request);
      return { ...answerTo(request), ...(request.wantsView === true && { view: VIEW }) };
    });
    const render = async (cell: Parameters<typeof answerCell>[1]) => {
      const call = await createRunPython(options).call({ code: '' });
      return call.kind === 'cell' ? call.render(await answerCell(options, cell)) : undefined;
    };
    const given = { code: 'x' };
    const [shown, plain] = [await render({ given, wantsView: true }), await render({ given })];
    expect(requests.map(({ wantsView }) => wantsView)).toEqual([true, undefined]);
    expect(shown?._meta).toEqual({ 'mcp-server-code-execution-mode/cell': VIEW });
    const { _meta: _view, ...rest } = shown ?? {};
    expect(JSON.stringify(rest)).toBe(JSON.stringify(plain));
  });

  test('has a page unless the setting is off', () => {
    const options = front(async (request) => answerTo(request));
    expect(createRunPython({ ...options, apps: true }).view).toBe('ui://mcp-server-code-execution-mode/cell.html');
    expect(createRunPython({ ...options, apps: false }).view).toBeUndefined();
  });
});
