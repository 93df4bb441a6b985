// Tags: full, user-release
/** Questions from real servers to the person, in both protocol eras, through the pool. */

import { describe, expect, it } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import { type Elicit, RequestError } from '../../../src/core/protocol/server-requests.ts';
import type { JsonObject, UpstreamPool } from '../../../src/edges/upstream/pool.ts';
import { pause } from '../../support/pause.ts';
import { failureOf, fixtureServer, startPool } from '../../support/upstream.ts';

const yes: JsonObject = { action: 'accept', content: { name: 'Ada' } };

/** The pool with both servers, which may ask. */
function start(offer = true): UpstreamPool {
  const pool = startPool({ old: fixtureServer('asks'), new: fixtureServer('asks-modern') });
  pool.offerElicitation(offer ? { form: {} } : undefined);
  return pool;
}

/** Calls `server.tool`. Returns its structured content, or its text as JSON. */
async function call(pool: UpstreamPool, what: string, args: JsonObject, elicit?: Elicit) {
  const [server = '', tool = ''] = what.split('.');
  const { structuredContent, content } = await pool.callTool({ server, tool, arguments: args, elicit });
  return structuredContent ?? JSON.parse((content as { text: string }[])[0]?.text ?? 'null');
}

/** Records questions and answers yes. */
function createRecorder(answer: JsonObject = yes) {
  const asked: JsonObject[] = [];
  const elicit: Elicit = async (params) => {
    asked.push(params);
    return answer;
  };
  return { asked, elicit };
}

const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };

describe('a server up to 2025-11-25', () => {
  it('gets the reply to its request, while its call waits', async () => {
    const { asked, elicit } = createRecorder();
    const given = { message: 'Who?', requestedSchema };
    expect(await call(start(), 'old.ask', given, elicit)).toMatchObject({ result: yes });
    expect(asked).toEqual([given]);
  });

  it('gets an error for an invalid question', async () => {
    const elicit: Elicit = () => Promise.reject(new RequestError('malformed', 'no such form'));
    expect(await call(start(), 'old.ask', {}, elicit)).toMatchObject({
      error: { code: -32602, message: 'no such form' },
    });
  });

  it('asks through the newest call that can ask, and gets `cancel` if none can', async () => {
    const pool = start();
    expect(await call(pool, 'old.ask', { message: 'Who?', requestedSchema })).toMatchObject({
      result: { action: 'cancel' },
    });
    await call(pool, 'old.ask_idle', {}, createRecorder().elicit).catch(() => undefined);
    expect(await call(pool, 'old.idle_response', {})).toMatchObject({ result: { action: 'cancel' } });
  });

  it('may withdraw its question, and ends it with its call', async () => {
    const pool = start();
    const untilAborted: Elicit = (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ action: 'cancel', content: { name: 'taken back' } }));
      });
    expect(await call(pool, 'old.ask_and_take_back', { message: 'Who?' }, untilAborted)).toMatchObject({
      result: { content: { name: 'taken back' } },
    });
    let hasEnded = false;
    const elicit: Elicit = (params, signal) =>
      untilAborted(params, signal).finally(() => {
        hasEnded = true;
      });
    await pool.callTool({ server: 'old', tool: 'ask_and_answer', arguments: { message: 'Who?' }, elicit });
    await expect.poll(() => hasEnded).toBe(true);
  });

  it('may not ask if the bridge does not offer it', async () => {
    const { elicit } = createRecorder();
    expect(await call(start(), 'old.sample', {}, elicit)).toMatchObject({ error: { code: -32601 } });
    expect(await call(start(false), 'old.ask', { message: 'Who?', requestedSchema }, elicit)).toMatchObject({
      error: { code: -32601 },
    });
  });
});

describe('a server of 2026-07-28', () => {
  it('gets the replies with the repeated call, in several rounds', async () => {
    const { asked, elicit } = createRecorder();
    expect(await call(start(), 'new.ask', { message: 'Who?', times: 3 }, elicit)).toEqual([yes, yes, yes]);
    expect(asked).toEqual(Array.from({ length: 3 }, () => ({ mode: 'form', message: 'Who?', requestedSchema })));
  });

  it('that keeps asking is stopped', async () => {
    const pool = start();
    const args = { message: 'Who?', times: 100 };
    const made = pool.callTool({ server: 'new', tool: 'ask', arguments: args, elicit: createRecorder().elicit });
    expect(await failureOf(made)).toMatchObject({
      code: 'SERVER_PROTOCOL',
      message: expect.stringContaining('it requested input more than 10 times'),
    });
  });

  it('may not ask what the bridge does not offer, or anything if there is no person', async () => {
    const pool = start();
    const { elicit } = createRecorder();
    const failure = (tool: string, args: JsonObject, more: object) =>
      failureOf(pool.callTool({ server: 'new', tool, arguments: args, ...more }));
    expect((await failure('ask', { message: 'Who?' }, {})).message).toContain('input_required');
    pool.offerElicitation(undefined);
    expect((await failure('sample', {}, { elicit })).code).toBe('TOOL_FAILED');
  });
});

describe.each([
  ['old', 'ask', { message: 'Who?', requestedSchema }],
  ['new', 'ask', { message: 'Who?' }],
])('the clock of a call (%s)', (server, tool, args) => {
  it('stops while the person thinks', async () => {
    const pool = start();
    await pool.describe(server);
    const elicit: Elicit = () => pause(900, 'the person thinks for longer than the call may take').then(() => yes);
    const given = { server, tool, arguments: args, elicit, timeoutMs: 600 };
    expect(JSON.stringify(await pool.callTool(given))).toContain('Ada');
  });

  it('ends the question together with the call', async () => {
    const pool = start();
    const cancel = new CancelSource();
    let isTakenBack = false;
    const elicit: Elicit = (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          isTakenBack = true;
          reject(new Error('taken back'));
        });
        cancel.abort();
      });
    const made = pool.callTool({ server, tool, arguments: args, elicit, signal: cancel });
    expect(await failureOf(made)).toMatchObject({ code: 'CALL_CANCELLED' });
    expect(isTakenBack).toBe(true);
  });
});

it.each(['old', 'new'])('declares to a server what it may ask (%s)', async (server) => {
  const pool = startPool({ old: fixtureServer('asks'), new: fixtureServer('asks-modern') });
  const others = server === 'new' ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : {};
  expect(await call(pool, `${server}.capabilities`, {})).toEqual(others);
  const asking = start();
  expect(await call(asking, `${server}.capabilities`, {})).toEqual({ ...others, elicitation: { form: {} } });
});
