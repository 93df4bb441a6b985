import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Requests } from '../../../src/edges/upstream/requests.ts';
import { rejectionOf } from '../../support/upstream.ts';

let sent: JSONRPCMessage[] = [];
let requests: Requests;

beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  requests = new Requests(async (message) => {
    sent.push(message);
  });
});

afterEach(() => {
  vi.useRealTimers();
});

const FIRST = 2 ** 30;
const limits = { timeoutMs: 1_000 };

describe('requests', () => {
  it('have ids apart from those of the SDK, and are answered by id', async () => {
    const first = requests.request('tools/call', { name: 'a' }, limits);
    const second = requests.request('tools/call', { name: 'b' }, limits);
    expect(sent).toEqual([
      { jsonrpc: '2.0', id: FIRST, method: 'tools/call', params: { name: 'a' } },
      { jsonrpc: '2.0', id: FIRST + 1, method: 'tools/call', params: { name: 'b' } },
    ]);
    expect(requests.accept({ jsonrpc: '2.0', id: String(FIRST + 1), result: { b: 1 } }, 40)).toBe(true);
    expect(requests.accept({ jsonrpc: '2.0', id: FIRST, result: { a: 1 } }, 30)).toBe(true);
    expect(await first).toEqual({ result: { a: 1 }, bytes: 30 });
    expect(await second).toEqual({ result: { b: 1 }, bytes: 40 });
    expect(requests.accept({ jsonrpc: '2.0', id: FIRST, result: {} }, 1)).toBe(false);
    expect(requests.accept({ jsonrpc: '2.0', id: 0, result: {} }, 1)).toBe(false);
  });

  it('carry the envelope of 2026-07-28 if there is one', async () => {
    requests.setEnvelope({ version: 'new', client: 'us' });
    const answer = requests.request('tools/call', { name: 'a', _meta: { mine: 1 } }, limits);
    expect(sent[0]).toMatchObject({ params: { name: 'a', _meta: { version: 'new', client: 'us', mine: 1 } } });
    requests.accept({ id: FIRST, result: { resultType: 'complete', content: [] } }, 1);
    expect((await answer).result).toEqual({ resultType: 'complete', content: [] });
  });

  it('deliver every progress report until the answer, even if the server writes the token as a string, and none after it', async () => {
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => void seen.push(progress);
    const answer = requests.request('tools/call', { name: 'a' }, { ...limits, onProgress });
    expect(sent[0]).toMatchObject({ params: { _meta: { progressToken: FIRST } } });
    requests.acceptProgress({ progressToken: FIRST, progress: 1 });
    requests.acceptProgress({ progressToken: String(FIRST), progress: 2 });
    for (const progressToken of [FIRST + 1, 'x', null, undefined]) {
      requests.acceptProgress({ progressToken, progress: 9 });
    }
    requests.acceptProgress({ progressToken: FIRST, progress: 3 });
    requests.accept({ jsonrpc: '2.0', id: FIRST, result: {} }, 1);
    requests.acceptProgress({ progressToken: FIRST, progress: 4 });
    await answer;
    expect(seen).toEqual([1, 2, 3]);
  });

  it('send a cancellation at the deadline', async () => {
    const answer = rejectionOf(requests.request('tools/call', {}, limits));
    vi.advanceTimersByTime(999);
    expect(sent).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(await answer).toMatchObject({ kind: 'timeout' });
    expect(sent[1]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: FIRST, reason: 'no answer within 1000 ms' },
    });
  });

  it('send a cancellation on abort, and are not sent after it', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const answer = rejectionOf(requests.request('x', {}, { ...limits, signal }));
    controller.abort();
    expect(await answer).toMatchObject({
      kind: 'cancelled',
    });
    expect(sent[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: FIRST } });
    await expect(requests.request('x', {}, { ...limits, signal })).rejects.toMatchObject({ kind: 'cancelled' });
    expect(sent).toHaveLength(2);
  });

  it('leave no timer behind', async () => {
    const answer = requests.request('x', {}, limits);
    requests.accept({ id: FIRST, result: {} }, 1);
    await answer;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('fail when the connection is gone', async () => {
    const waiting = rejectionOf(requests.request('x', {}, limits));
    requests.close();
    expect(await waiting).toMatchObject({ kind: 'closed' });
    await expect(requests.request('x', {}, limits)).rejects.toMatchObject({ kind: 'closed' });
    const broken = new Requests(() => Promise.reject(new Error('EPIPE')));
    await expect(broken.request('x', {}, limits)).rejects.toMatchObject({ kind: 'closed' });
  });
});

describe('answers', () => {
  it.each<[object, object]>([
    [{ error: { code: -32602, message: 'bad', data: 1 } }, { kind: 'rpc', code: -32602, message: 'bad', data: 1 }],
    [{ error: {} }, { kind: 'rpc', code: undefined, message: 'no message' }],
    [{ error: 'text' }, { kind: 'malformed' }],
    [{ result: null }, { kind: 'malformed' }],
    [{ result: [1] }, { kind: 'malformed' }],
    [{}, { kind: 'malformed' }],
    [{ result: { resultType: 'input_required' } }, { kind: 'malformed' }],
  ])('%j fail with their kind of error', async (answer, failure) => {
    const rejected = rejectionOf(requests.request('x', {}, limits));
    requests.accept({ jsonrpc: '2.0', id: FIRST, ...answer }, 1);
    expect(await rejected).toMatchObject(failure);
  });
});
