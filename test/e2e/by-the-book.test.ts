// Tags: anywhere, full
/**
 * run_python over stdio in both protocol eras, with a real sandbox and a real server behind the bridge, against the text of the specification:
 * https://modelcontextprotocol.io/specification/REVISION/PAGE. Each test names its pages and sections. Behavior of the front alone is tested in
 * front-by-the-book.test.ts.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERAS } from '../support/asking-bridge.ts';
import { CLI, fixtureServer } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { LineClient } from './front-process.ts';

const CAPABILITIES = { elicitation: { form: {} } };
const KEY = 'io.modelcontextprotocol';
/** The form of a server: client/elicitation, Requested Schema. */
const FORM = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', minLength: 3, maxLength: 50, default: 'Ada' },
    mail: { type: 'string', format: 'email' },
    count: { type: 'integer', minimum: 0, maximum: 100, default: 50 },
    ratio: { type: 'number', default: 0.5 },
    agreed: { type: 'boolean', default: false },
    color: { type: 'string', enum: ['Red', 'Green'], default: 'Red' },
    titled: { type: 'string', oneOf: [{ const: '#F00', title: 'Red' }], default: '#F00' },
    several: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['x', 'y'] }, default: ['x'] },
    titles: { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] } },
  },
  required: ['name'],
};
const FILLED = {
  name: 'Grace',
  mail: 'grace@example.com',
  count: 7,
  ratio: 1.5,
  agreed: true,
  color: 'Green',
  titled: '#F00',
  several: ['x', 'y'],
  titles: ['x'],
};

const [engine] = await coverEngines();

describe.skipIf(engine === undefined).each(ERAS)('run_python according to %s', (era) => {
  const isModern = era === '2026-07-28';
  const folder = mkdtempSync(join(tmpdir(), 'bridge-book-'));
  let client: LineClient;
  let lastId = 0;

  beforeAll(async () => {
    const servers = {
      old: fixtureServer('by-the-book.mjs', ERAS[0]),
      modern: fixtureServer('by-the-book.mjs', ERAS[1]),
    };
    writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: servers }));
    const inherited = Object.entries(engine?.env ?? {}).filter(([name]) => !name.startsWith('MCP_BRIDGE_TEST_'));
    client = new LineClient(CLI, { ...Object.fromEntries(inherited), MCP_BRIDGE_STATE_DIR: folder });
    if (!isModern) {
      const clientInfo = { name: 'book', version: '1' };
      await client.request('init', 'initialize', { protocolVersion: era, capabilities: CAPABILITIES, clientInfo });
      client.write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    }
  });
  afterAll(async () => {
    client.child.stdin.end();
    await client.exited;
    rmSync(folder, { recursive: true });
  });

  /** `params` for a call of run_python with both servers loaded. */
  function cell(code: string, meta: object = {}, session = 'default') {
    const envelope = { [`${KEY}/protocolVersion`]: era, [`${KEY}/clientCapabilities`]: CAPABILITIES };
    const _meta = { ...(isModern ? envelope : {}), ...meta };
    return { name: 'run_python', arguments: { code, session, servers: ['old', 'modern'], timeout: 60 }, _meta };
  }

  async function run(params: object) {
    lastId += 1;
    const answer = await client.request(lastId, 'tools/call', params);
    return answer['result'];
  }

  // server/tools, Tool Result: text, image, audio, embedded resources, resource links, structured content.
  it.each(['old', 'modern'])('shows content of every type returned by a tool of server %s', async (server) => {
    const { content, structuredContent, isError } = await run(
      cell(`
blocks = await mcp_${server}.content()
for block in blocks[1:3]:
    display(block)
display({"a": "b" * 3_000})
runtime.save_artifact("kept.txt", "kept")
[type(block).__name__ for block in blocks]`),
    );
    expect(isError).toBe(false);
    expect(structuredContent.result).toBe(
      "['AttrDict', 'ImageContent', 'AudioContent', 'ResourceLink', 'ResourceContent', 'ResourceContent']",
    );
    expect(content[0]).toEqual({ type: 'text', text: expect.stringContaining('[1: image/png') });
    const image = content.find(({ type }: { type: string }) => type === 'image');
    const audio = content.find(({ type }: { type: string }) => type === 'audio');
    expect([image.mimeType, audio.mimeType]).toEqual(['image/png', 'audio/wav']);
    expect(Buffer.from(image.data, 'base64').subarray(1, 4).toString()).toBe('PNG');
    expect(Buffer.from(audio.data, 'base64').subarray(8, 12).toString()).toBe('WAVE');
    const link = content.find(({ type }: { type: string }) => type === 'resource_link');
    expect(link).toMatchObject({ uri: 'artifact:///default/kept.txt', name: 'kept.txt', mimeType: 'text/plain' });
    const { contents } = (await client.request(`read-${server}`, 'resources/read', { uri: link.uri, ...withMeta() }))[
      'result'
    ];
    expect(contents).toEqual([{ uri: link.uri, mimeType: 'text/plain', text: 'kept' }]);
  });

  function withMeta(): object {
    return isModern ? { _meta: cell('')._meta } : {};
  }

  // client/elicitation, Requested Schema; from 2026-07-28 on basic/patterns/mrtr, Basic Workflow.
  it.each(['old', 'modern'])('passes a form of server %s to the user, and the reply back', async (server) => {
    const form = JSON.stringify(FORM).replaceAll('true', 'True').replaceAll('false', 'False');
    const code = `answer = await mcp_${server}.ask(questions={"one": {"message": "Who?", "requestedSchema": ${form}}})
found = answer["result"] if "result" in answer else answer["retried"]["inputResponses"]["one"]
found["action"], found["content"] == ${JSON.stringify(FILLED).replaceAll('true', 'True')}`;
    const reply = { action: 'accept', content: FILLED };
    let asked: { message: string; requestedSchema: unknown };
    let result: Record<string, unknown>;
    const params = cell(code);
    if (isModern) {
      const { requestState, inputRequests, resultType } = await run(params);
      expect(resultType).toBe('input_required');
      const [key = ''] = Object.keys(inputRequests);
      expect(inputRequests[key].method).toBe('elicitation/create');
      asked = inputRequests[key].params;
      result = await run({ ...params, requestState, inputResponses: { [key]: reply } });
    } else {
      const before = client.messages.length;
      const running = run(params);
      const request = await client.until(() =>
        client.messages.slice(before).find(({ method }) => method === 'elicitation/create'),
      );
      asked = request['params'];
      client.write({ jsonrpc: '2.0', id: request['id'], result: reply });
      result = await running;
    }
    expect(asked).toMatchObject({ message: expect.stringContaining('Who?'), requestedSchema: FORM });
    expect(result).toMatchObject({ structuredContent: { result: "('accept', True)" } });
  });

  // basic/utilities/progress (basic/patterns/progress from 2026-07-28 on).
  it('reports increasing progress of code with the token of the request', async () => {
    const running = run(cell('runtime.progress(1, 2, "half")\nawait mcp_modern.hold()', { progressToken: 'tøken' }));
    const reports = () => client.messages.filter(({ method }) => method === 'notifications/progress');
    await client.until(() => reports().some(({ params }) => params.message.includes('1/2 half')));
    await run(cell('await mcp_modern.release()', {}, 'other'));
    await running;
    const values = reports().map(({ params }) => params.progress as number);
    expect(values.every((value, index) => index === 0 || value > (values[index - 1] ?? 0))).toBe(true);
    expect(new Set(reports().map(({ params }) => params.progressToken))).toEqual(new Set(['tøken']));
  });

  // basic/utilities/cancellation (basic/patterns/cancellation from 2026-07-28 on): the cell stops, and so does the call it awaits.
  it('cancels a cell and its tool call, and keeps the state', async () => {
    await run(cell('kept = 7'));
    lastId += 1;
    const requestId = lastId;
    client.write({ jsonrpc: '2.0', id: requestId, method: 'tools/call', params: cell('await mcp_modern.late()') });
    await run(cell('await mcp_modern.until_late()', {}, 'other'));
    client.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, ...withMeta() } });
    const code = `import json
sent = [json.loads(line) for line in (await mcp_modern.seen())["lines"]]
call = [message for message in sent if message["params"].get("name") == "late"][-1]
stopped = [message["params"]["requestId"] for message in sent if message["method"] == "notifications/cancelled"]
kept, stopped == [call["id"]]`;
    expect((await run(cell(code))).structuredContent.result).toBe('(7, True)');
    expect(client.messages.some(({ id }) => id === requestId)).toBe(false);
  });
});
