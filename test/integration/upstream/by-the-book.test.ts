// Tags: full, user-release
/**
 * The MCP client over stdio against the text of the specification: https://modelcontextprotocol.io/specification/REVISION/PAGE.
 * Each test names its pages and sections. Tests elsewhere are not repeated: tool lists and noise are in wire.test.ts, forms in
 * elicitation.test.ts, logins in oauth.test.ts. The official suite covers HTTP (test/conformance).
 */
import { describe, expect, it } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import type { JsonObject, ToolRequest, UpstreamPool } from '../../../src/edges/upstream/pool.ts';
import { callText, failureOf, fixtureServer, startPool } from '../../support/upstream.ts';

const KEY = 'io.modelcontextprotocol';

interface Sent {
  readonly jsonrpc: string;
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: JsonObject;
}

function start(revision: string): UpstreamPool {
  const pool = startPool({ book: fixtureServer('by-the-book', revision) });
  pool.offerElicitation({ form: {} });
  return pool;
}

function call(pool: UpstreamPool, tool: string, args: JsonObject = {}, more: Partial<ToolRequest> = {}) {
  return pool.callTool({ server: 'book', tool, arguments: args, ...more });
}

/** The messages that the server has read, each on one line (basic/transports, stdio). */
async function sentBy(pool: UpstreamPool): Promise<Sent[]> {
  const { structuredContent } = await call(pool, 'seen');
  return (structuredContent as { lines: string[] }).lines.map((line) => JSON.parse(line) as Sent);
}

/** client/elicitation, Requested Schema: every primitive schema and every kind of choice, each with a default. */
const requestedSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', minLength: 3, maxLength: 50, pattern: '^[A-Za-z]+$', default: 'Ada' },
    mail: { type: 'string', format: 'email', default: 'user@example.com' },
    count: { type: 'integer', minimum: 0, maximum: 100, default: 50 },
    ratio: { type: 'number', default: 0.5 },
    agreed: { type: 'boolean', default: false },
    color: { type: 'string', enum: ['Red', 'Green'], default: 'Red' },
    titled: { type: 'string', oneOf: [{ const: '#F00', title: 'Red' }], default: '#F00' },
    old: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] },
    several: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['x', 'y'] }, default: ['x'] },
    titles: { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] }, default: ['x'] },
  },
  required: ['name'],
};

describe.each(['2025-11-25', '2026-07-28'])('with a server of %s', (revision) => {
  const isModern = revision === '2026-07-28';

  // server/tools, Tool Result: text, image, audio, resource links, embedded resources, structured content, annotations, _meta.
  it('content of every type reaches the caller unchanged', async () => {
    const result = await call(start(revision), 'content');
    expect(result).toMatchObject({
      content: [
        { type: 'text', annotations: { audience: ['user'], priority: 0.25 }, _meta: { 'example.com/a': 1 } },
        { type: 'image', mimeType: 'image/png', annotations: { lastModified: '2025-05-03T14:30:00Z' } },
        { type: 'audio', mimeType: 'audio/wav' },
        { type: 'resource_link', uri: 'file:///a/main.rs', name: 'main.rs', title: 'Main', description: 'd', size: 3 },
        { type: 'resource', resource: { uri: 'file:///a/b.txt', mimeType: 'text/plain', text: 'embedded' } },
        { type: 'resource', resource: { uri: 'file:///a/b.bin', blob: 'AAEC' } },
      ],
      structuredContent: { answer: 42 },
      isError: false,
      _meta: { 'example.com/b': 2 },
    });
    const [, image, audio] = result['content'] as { data: string }[];
    expect(
      Buffer.from(image?.data ?? '', 'base64')
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
    expect(
      Buffer.from(audio?.data ?? '', 'base64')
        .subarray(8, 12)
        .toString(),
    ).toBe('WAVE');
  });

  // server/tools, Structured Content: an object up to 2025-11-25, any JSON value since 2026-07-28.
  it('structured content is not changed', async () => {
    const pool = start(revision);
    const objects = [{ rows: [{ id: 1 }] }];
    for (const value of isModern ? [...objects, [1, 2], 'text', 0, false, null] : objects) {
      expect((await call(pool, 'structured', { value }))['structuredContent']).toEqual(value);
    }
  });

  // server/tools, Error Handling: a failure of the tool is a result, a failure of the protocol an error.
  it('tool errors and protocol errors are distinguished', async () => {
    const pool = start(revision);
    expect(await call(pool, 'fails')).toMatchObject({ isError: true, content: [{ text: 'no such city' }] });
    expect(await failureOf(call(pool, 'no_such_tool'))).toMatchObject({ code: 'TOOL_UNKNOWN' });
  });

  // 2025-11-25 basic/lifecycle, Initialization; basic, Requests and Notifications. 2026-07-28 basic, Per-request protocol fields.
  it('every message is allowed by the revision', async () => {
    const pool = start(revision);
    await pool.describe('book');
    await call(pool, 'content');
    const sent = await sentBy(pool);
    const requests = sent.filter(({ id }) => id !== undefined);
    expect(sent.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    expect(new Set(requests.map(({ id }) => id)).size).toBe(requests.length);
    expect(requests.every(({ id }) => typeof id === 'string' || Number.isSafeInteger(id))).toBe(true);
    // The probe of both revisions (2026-07-28 basic/transports/stdio, Backward Compatibility).
    const [probe, ...rest] = sent.map(({ method }) => method);
    expect(probe).toBe('server/discover');
    if (isModern) {
      const envelopes = sent.map(({ params }) => params?.['_meta'] as JsonObject);
      expect(envelopes.map((envelope) => envelope[`${KEY}/protocolVersion`])).toEqual(sent.map(() => revision));
      expect(envelopes.map((envelope) => envelope[`${KEY}/clientCapabilities`])).toEqual(
        // The probe is the SDK's.
        sent.map((_message, index) => ({
          elicitation: { form: {} },
          ...(index > 0 && { extensions: { 'io.modelcontextprotocol/tasks': {} } }),
        })),
      );
      expect(envelopes[0]?.[`${KEY}/clientInfo`]).toMatchObject({ name: 'mcp-server-code-execution-mode' });
      expect(rest).not.toContain('initialize');
    } else {
      expect(rest.slice(0, 3)).toEqual(['initialize', 'notifications/initialized', 'tools/list']);
      expect(sent[1]?.params).toMatchObject({
        protocolVersion: revision,
        capabilities: { elicitation: { form: {} } },
        clientInfo: { name: 'mcp-server-code-execution-mode' },
      });
      expect(sent[2]?.id).toBeUndefined();
    }
  });

  describe('progress', () => {
    const reports = [{ progress: 0.5 }, { progress: 1, total: 2.5, message: 'half' }];

    // 2025-11-25 basic/utilities/progress, 2026-07-28 basic/patterns/progress: Progress Flow.
    it('is requested with a token in each request, and reported', async () => {
      const pool = start(revision);
      await pool.describe('book');
      const told: unknown[][] = [[], []];
      const tokens = await Promise.all(
        told.map(async (list) => {
          const onProgress = (report: unknown): void => void list.push(report);
          const { structuredContent } = await call(pool, 'progress', { reports }, { onProgress });
          return (structuredContent as { token: unknown }).token;
        }),
      );
      expect(told).toEqual([reports, reports]);
      expect(tokens.every((token) => typeof token === 'string' || Number.isSafeInteger(token))).toBe(true);
      expect(new Set(tokens).size).toBe(2);
      expect((await call(pool, 'progress', { reports: [] }))['structuredContent']).toEqual({ token: null });
    });

    // Behavior Requirements: notifications refer to active requests only; a server that breaks this rule does no harm.
    it('for an unknown token is ignored', async () => {
      const pool = start(revision);
      const told: unknown[] = [];
      const onProgress = (report: unknown): void => void told.push(report);
      for (const token of ['never given', 1, { an: 'object' }]) {
        await call(pool, 'progress', { reports, token }, { onProgress });
      }
      expect(told).toEqual([]);
    });
  });

  describe('cancellation', () => {
    // 2025-11-25 basic/utilities/cancellation, 2026-07-28 basic/patterns/cancellation: Cancellation Flow, Transport-Specific Cancellation.
    it.each(['the caller cancels', 'the deadline passes'])('is sent once, for that request only: %s', async (why) => {
      const pool = start(revision);
      await pool.describe('book');
      const signal = new CancelSource();
      const isTimeout = why === 'the deadline passes';
      const waiting = failureOf(call(pool, 'late', {}, isTimeout ? { timeoutMs: 50 } : { signal }));
      await call(pool, 'content');
      signal.abort();
      expect(await waiting).toMatchObject({ code: isTimeout ? 'CALL_TIMEOUT' : 'CALL_CANCELLED' });
      const sent = await sentBy(pool);
      const cancelled = sent.filter(({ method }) => method === 'notifications/cancelled');
      const late = sent.find(({ params }) => params?.['name'] === 'late');
      expect(cancelled).toHaveLength(1);
      expect(cancelled[0]).not.toHaveProperty('id');
      expect(cancelled[0]?.params).toMatchObject({ requestId: late?.id, reason: expect.any(String) });
    });

    // Behavior Requirements: the sender ignores a response that arrives afterwards.
    it('ignores an answer that arrives afterwards', async () => {
      const pool = start(revision);
      await pool.describe('book');
      const signal = new CancelSource();
      const waiting = failureOf(call(pool, 'late', {}, { signal }));
      await call(pool, 'content');
      signal.abort();
      await waiting;
      expect(await callText(pool, 'book', 'answer_late')).toBe('now');
      expect(await callText(pool, 'book', 'answer_late')).toBe('now');
    });
  });

  // client/elicitation, Requested Schema and Response Actions.
  it('forms and replies of every kind are passed on unchanged', async () => {
    const pool = start(revision);
    const replies: JsonObject[] = [
      { action: 'accept', content: { name: 'Grace', count: 7, ratio: 1.5, agreed: true, several: ['x', 'y'] } },
      { action: 'decline' },
      { action: 'cancel' },
    ];
    const question = { mode: 'form', message: 'Who?', requestedSchema };
    for (const reply of replies) {
      const asked: JsonObject[] = [];
      const elicit = async (params: JsonObject): Promise<JsonObject> => {
        asked.push(params);
        return reply;
      };
      const { structuredContent } = await call(pool, 'ask', { questions: { one: question } }, { elicit });
      expect(asked).toEqual([question]);
      expect(structuredContent).toMatchObject(
        isModern ? { retried: { inputResponses: { one: reply } } } : { result: reply },
      );
    }
  });
});

describe('with a server of 2026-07-28 alone', () => {
  // basic/patterns/mrtr, Client Requirements: state is echoed unchanged or not at all, only with the retry, under a new id.
  it.each(['{"not":"ours\u2028"} é', '', undefined])('the state %j is echoed', async (state) => {
    const pool = start('2026-07-28');
    const questions = { a: { message: 'A?', requestedSchema }, 'b c': { message: 'B?', requestedSchema } };
    const elicit = async ({ message }: JsonObject): Promise<JsonObject> => ({ action: 'accept', content: { message } });
    const args = state === undefined ? { questions } : { questions, state };
    const { structuredContent } = await call(pool, 'ask', args, { elicit });
    const { retried } = structuredContent as { retried: JsonObject };
    expect(retried).toMatchObject({
      name: 'ask',
      arguments: args,
      inputResponses: {
        a: { action: 'accept', content: { message: 'A?' } },
        'b c': { action: 'accept', content: { message: 'B?' } },
      },
    });
    expect(Object.hasOwn(retried, 'requestState')).toBe(state !== undefined);
    expect(retried['requestState']).toBe(state);
    await call(pool, 'content', {}, { elicit });
    const calls = (await sentBy(pool)).filter(({ method }) => method === 'tools/call');
    expect(calls.map(({ params }) => Object.hasOwn(params ?? {}, 'inputResponses'))).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(4);
  });

  // basic, ResultType: absent means complete, unknown is invalid.
  it('the type of results is respected', async () => {
    const pool = start('2026-07-28');
    expect(await call(pool, 'result_type')).toEqual({ content: [] });
    expect(await failureOf(call(pool, 'result_type', { type: 'partial' }))).toMatchObject({ code: 'SERVER_PROTOCOL' });
  });
});
