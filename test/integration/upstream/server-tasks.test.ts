// Tags: full, user-release
/** Calls that a server answers with a task are awaited as any other, in both protocol eras. */
import { describe, expect, it } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import type { Elicit } from '../../../src/core/protocol/server-requests.ts';
import type { JsonObject } from '../../../src/edges/upstream/pool.ts';
import { startMini } from '../../support/http-servers.ts';
import { callText, failureOf, fixtureServer, startPool } from '../../support/upstream.ts';

const yes: JsonObject = { action: 'accept', content: { name: 'Ada' } };

describe.each(['2025-11-25', '2026-07-28'])('a server of %s', (era) => {
  const start = () => {
    const pool = startPool({ tasks: fixtureServer('tasks', era) });
    const call = (tool: string, more: { elicit?: Elicit; timeoutMs?: number; signal?: CancelSource } = {}) =>
      pool.callTool({ server: 'tasks', tool, arguments: {}, ...more });
    const seen = async () => JSON.parse(await callText(pool, 'tasks', 'seen')) as string[];
    return { call, pool, seen };
  };

  it('has the result of its task returned, with its progress', async () => {
    const { pool, seen } = start();
    const messages: unknown[] = [];
    const onProgress = ({ message }: { readonly message?: string | undefined }) => void messages.push(message);
    const result = await pool.callTool({ server: 'tasks', tool: 'slow', arguments: {}, onProgress });
    expect(result).toEqual({ content: [{ type: 'text', text: 'done' }] });
    expect(messages).toEqual(['half']);
    // The refused call has not run: a tool of 2025-11-25 says so if it must be a task.
    expect((await seen()).filter((method) => method === 'tools/call')).toHaveLength(era === '2025-11-25' ? 2 : 1);
  });

  it('asks the person through its task', async () => {
    const { call, pool } = start();
    pool.offerElicitation({ form: {} });
    const asked: JsonObject[] = [];
    const elicit: Elicit = async (params) => {
      asked.push(params);
      return yes;
    };
    expect(await call('ask', { elicit })).toMatchObject({ content: [{ text: JSON.stringify(yes) }] });
    expect(asked).toMatchObject([{ message: 'Who?' }]);
  });

  it('says why its task failed', async () => {
    const { call } = start();
    expect(await failureOf(call('fails'))).toMatchObject({ message: expect.stringContaining('no more paper') });
    expect(await failureOf(call('withdrawn'))).toMatchObject({
      message: expect.stringContaining('cancelled the task'),
    });
  });

  it('has its task cancelled with the call, and at the deadline', async () => {
    const { call, seen } = start();
    const signal = new CancelSource();
    const cancelled = failureOf(call('never', { signal }));
    await expect.poll(seen).toContain('tasks/get');
    signal.abort();
    expect(await cancelled).toMatchObject({ code: 'CALL_CANCELLED' });
    await expect.poll(seen).toContain('tasks/cancel');
    expect(await failureOf(call('never', { timeoutMs: 500 }))).toMatchObject({ code: 'CALL_TIMEOUT' });
    await expect.poll(async () => (await seen()).filter((method) => method === 'tasks/cancel')).toHaveLength(2);
  });
});

// The call was sent again on the new session, and ran twice.
it('a session that is lost while the task runs fails the call, which is not repeated', async () => {
  const sessions = new Set<string>();
  let calls = 0;
  const server = await startMini({
    sessions,
    onCall({ reply }) {
      calls += 1;
      sessions.clear();
      reply({ resultType: 'task', taskId: 't', status: 'working', pollIntervalMs: 100 });
    },
  });
  const pool = startPool({ mini: { url: server.url } });
  await failureOf(pool.callTool({ server: 'mini', tool: 'act', arguments: {} }));
  expect(calls).toBe(1);
});

it('a task in a state that no one knows fails the call', async () => {
  const pool = startPool({ tasks: fixtureServer('tasks', '2026-07-28') });
  const call = pool.callTool({ server: 'tasks', tool: 'odd', arguments: {} });
  expect(await failureOf(call)).toMatchObject({ message: expect.stringContaining('has the state 7') });
});
