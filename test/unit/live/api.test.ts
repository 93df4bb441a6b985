/** The routes of the local API: paths, methods, and the choice among several principals. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import type { WaitingQuestions } from '../../../src/core/base/waiting-question.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { QuestionQueue } from '../../../src/features/waiting-questions/question-queue.ts';
import { type ApiParts, answerApi } from '../../../src/record/live/api.ts';
import type { WatchedBridge } from '../../../src/record/live/watched-bridge.ts';
import { ApprovalSchema, BridgeInfoSchema } from '../../../src/record/local-api/schema.ts';

const QUESTION = { mode: 'url', message: 'Log in', url: 'https://example.com' } as const;

const NONE_WAIT: WaitingQuestions = { open: async () => [], answer: async () => false };

/** A bridge of a principal with one session and one server, which notes what it is asked. */
function createBridge(principal: string | undefined, done: string[]): WatchedBridge {
  const name = principal ?? 'me';
  const note = (what: string) => (session: string) => {
    done.push(`${name}: ${what} ${session}`);
    return session === 'a b/c';
  };
  const bridge: Partial<WatchedBridge> = {
    whose: principal === undefined ? {} : { principal },
    client: 'tests',
    engine: 'podman',
    sessions: () => [{ name: 'a b/c' }, { name: 'idle' }, { name: 'at work', state: 'running' }] as never,
    approvals: () => [],
    servers: () => [],
    interrupt: note('interrupt'),
    run: async ({ name: session }, code) => {
      note(`run ${code} in`)(session);
      return `id/${session}/1/2`;
    },
    end: async (session) => note('end')(session),
    hibernate: async (session) => note('hibernate')(session),
    question: (id) => (id === `q-${name}` ? ({ id, question: QUESTION } as never) : undefined),
    answer: (id, { action }) => note(`answer ${action}`)(id),
    findServer: (server) => (server === 'files' ? ({ name: 'files' } as never) : undefined),
    startServer: async (server, isReadAgain) => {
      if (isReadAgain) {
        throw new BridgeError('SERVER_START_FAILED', 'it did not start', { hint: 'Look.' });
      }
      note('start')(server.name);
    },
    stopServer: async (server) => void note('stop')(server.name),
  };
  return bridge as WatchedBridge;
}

function open(principals: readonly (string | undefined)[], waiting: WaitingQuestions = NONE_WAIT) {
  const done: string[] = [];
  const bridges = principals.map((principal) => createBridge(principal, done));
  const settings = loadSettings({ HOME: '/home/me' });
  const parts: ApiParts = { settings, startedAt: 0, transport: 'stdio', bridges: () => bridges, waiting };
  const send = (method: string, url: string, body?: unknown) => {
    const { pathname: path, searchParams: query } = new URL(url, 'http://x');
    return answerApi({ method, path, query, body }, parts);
  };
  return { done, send };
}

it('describes the bridge', async () => {
  const { send } = open([undefined]);
  const { json, status } = await send('GET', '/v1/bridge');
  expect([status, BridgeInfoSchema.parse(json)]).toMatchObject([
    200,
    { pid: process.pid, client: 'tests', engine: 'podman', transport: 'stdio', state_dir: '/home/me/MCPs' },
  ]);
});

it('passes on what the operator decides, also about names that are encoded', async () => {
  const { done, send } = open([undefined]);
  for (const action of ['interrupt', 'end', 'hibernate']) {
    expect((await send('POST', `/v1/sessions/${encodeURIComponent('a b/c')}/${action}`)).status).toBe(200);
    expect((await send('POST', `/v1/sessions/idle/${action}`)).status).toBe(409);
  }
  expect((await send('POST', '/v1/servers/files/start')).json).toEqual({ started: 'files' });
  expect((await send('POST', '/v1/servers/files/stop')).json).toEqual({ stopped: 'files' });
  expect((await send('POST', '/v1/approvals/q-me', { action: 'decline' })).json).toEqual({
    answered: 'q-me',
    action: 'decline',
  });
  expect(done).toEqual([
    'me: interrupt a b/c',
    'me: interrupt idle',
    'me: end a b/c',
    'me: end idle',
    'me: hibernate a b/c',
    'me: hibernate idle',
    'me: start files',
    'me: stop files',
    'me: answer decline q-me',
  ]);
});

it('asks whose it is if several principals have a session or a server of the name', async () => {
  const { done, send } = open([undefined, 'alice', 'bob']);
  const path = '/v1/sessions/a%20b%2Fc/interrupt';
  expect(await send('POST', path)).toMatchObject({ status: 409, json: { error: { hint: /principal=NAME/ } } });
  expect((await send('POST', '/v1/servers/files/stop')).status).toBe(409);
  await send('POST', `${path}?principal=bob`);
  await send('POST', `${path}?principal=&profile=`);
  expect((await send('POST', `${path}?principal=carol`)).status).toBe(404);
  await send('POST', '/v1/approvals/q-alice', { action: 'cancel' });
  expect(done).toEqual(['bob: interrupt a b/c', 'me: interrupt a b/c', 'alice: answer cancel q-alice']);
});

it.each([
  ['GET', '/', 404],
  ['GET', '/v2/bridge', 404],
  ['GET', '/v1/nothing', 404],
  ['GET', '/v1/constructor', 404],
  ['POST', '/v1/constructor/a/b', 404],
  ['POST', '/v1/sessions/x/constructor', 404],
  ['POST', '/v1/sessions/a/end/more', 404],
  ['POST', '/v1/sessions/%ff/end', 404],
  ['POST', '/v1/sessions/missing/end', 404],
  ['POST', '/v1/servers/missing/stop', 404],
  ['POST', '/v1/approvals/missing', 404],
  ['POST', '/v1/approvals/q-me', 400],
  ['POST', '/v1/bridge', 405],
  ['DELETE', '/v1/sessions', 405],
  ['GET', '/v1/sessions/idle/end', 405],
])('%s %s is refused with %i', async (method, path, status) => {
  const { done, send } = open([undefined]);
  const answer = await send(method, path);
  expect(answer).toMatchObject({ status, json: { error: { code: 'HTTP_REFUSED', message: expect.any(String) } } });
  expect(done).toEqual([]);
});

it('a server that does not start is an error with its code', async () => {
  const { send } = open([undefined]);
  expect(await send('POST', '/v1/servers/files/refresh')).toEqual({
    status: 502,
    json: { error: { code: 'SERVER_START_FAILED', message: 'it did not start', hint: 'Look.' } },
  });
});

it('runs a cell of the operator unless one runs', async () => {
  const { done, send } = open([undefined]);
  expect(await send('POST', '/v1/sessions/a%20b%2Fc/run', { code: '1' })).toEqual({
    status: 200,
    json: { cell: 'id/a b/c/1/2' },
  });
  expect(done).toEqual(['me: run 1 in a b/c']);
  for (const body of [undefined, {}, { code: ' ' }, { code: 1 }, { code: 'x'.repeat(1_048_577) }]) {
    expect(await send('POST', '/v1/sessions/idle/run', body)).toMatchObject({ status: 400 });
  }
  expect(await send('POST', '/v1/sessions/at%20work/run', { code: '1' })).toMatchObject({ status: 409 });
  expect(await send('POST', '/v1/sessions/none/run', { code: '1' })).toMatchObject({ status: 404 });
});

it('questions of scheduled runs wait with the others, and are answered once', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'api-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const queue = new QuestionQueue(stateDir);
  const asked = { schedule: 'morning', run: '2026-11-30T06-00-00Z', key: 'call 1' };
  const properties = {
    answer: { type: 'string', enum: ['Allow once', 'Always allow in this schedule', 'Do not allow'] },
  };
  const calls = [{ server: 'github', tool: 'create_issue', reason: 'it is not among the rights' }];
  const schema = { type: 'object', properties };
  const question = { mode: 'form', message: 'May it?', requestedSchema: schema, calls } as const;
  const { id } = await queue.ask({ ...asked, question });
  const { done, send } = open([undefined], queue);
  const { json } = await send('GET', '/v1/approvals');
  expect((json as unknown[]).map((one) => ApprovalSchema.parse(one))).toEqual([
    {
      id,
      schedule: { name: 'morning', run: asked.run },
      asked: expect.any(String),
      mode: 'form',
      message: 'May it?',
      schema,
      calls,
    },
  ]);
  expect(await send('POST', `/v1/approvals/${id}`, { answer: 'session' })).toMatchObject({ status: 400 });
  expect(await send('POST', `/v1/approvals/${id}`, { answer: 'always' })).toEqual({
    status: 200,
    json: { answered: id, action: 'accept' },
  });
  expect(await send('POST', `/v1/approvals/${id}`, { answer: 'no' })).toMatchObject({ status: 404 });
  expect(await queue.answerTo(asked)).toMatchObject({
    reply: { action: 'accept', content: { answer: 'Always allow in this schedule' } },
    by: 'page',
  });
  expect((await send('GET', '/v1/approvals')).json).toEqual([]);
  expect(done).toEqual([]);
});
