// Tags: full, user-release
/** What servers may write: noise, floods, results of any size, both protocol eras, unusual tools. */
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/core/base/log.ts';
import { objectOfResult, ResultBytes } from '../../../src/core/protocol/result-bytes.ts';
import { callText, failureOf, fixtureServer, startPool } from '../../support/upstream.ts';

const MIB = 1024 * 1024;

describe('noise', () => {
  it('ignores lines that are not messages, and logs that once', async () => {
    const lines: string[] = [];
    const logger = createLogger('INFO', (line) => lines.push(line));
    const pool = startPool({ chatty: fixtureServer('chatty') }, { logger });
    expect(await callText(pool, 'chatty', 'echo', { text: 'one' })).toBe('one');
    expect(await callText(pool, 'chatty', 'wrong_shapes')).toBe('still here');
    expect(await callText(pool, 'chatty', 'text_id')).toBe('id as a text');
    expect(await callText(pool, 'chatty', 'echo', { text: 'two' })).toBe('two');
    expect(lines.filter((line) => line.includes('not a JSON-RPC message'))).toEqual([
      expect.stringContaining("Server 'chatty' wrote a line that is not a JSON-RPC message (1): Starting the server"),
    ]);
  });

  it('finds an answer behind noise on the same line, and fails one that noise broke', async () => {
    const pool = startPool({ chatty: fixtureServer('chatty') });
    expect(await callText(pool, 'chatty', 'no_newline')).toBe('after the dots');
    const error = await failureOf(pool.callTool({ server: 'chatty', tool: 'broken', arguments: {} }));
    expect(error).toMatchObject({
      code: 'SERVER_PROTOCOL',
      message: "server 'chatty' gave no usable answer to 'broken': it is not valid JSON",
    });
    expect(await callText(pool, 'chatty', 'echo', { text: 'next' })).toBe('next');
  });

  it('takes the answer of a server of 2025-03-26 from a batch, which is bounded like a message', async () => {
    const pool = startPool({ chatty: fixtureServer('chatty') });
    expect(await callText(pool, 'chatty', 'batch')).toBe('in a batch');
    expect(await callText(pool, 'chatty', 'large_batch')).toHaveLength(2 * MIB);
    const error = await failureOf(pool.callTool({ server: 'chatty', tool: 'huge_batch', arguments: {} }));
    expect(error).toMatchObject({
      code: 'LIMIT_RESULT',
      message: expect.stringContaining('the limit is 4194304 bytes'),
    });
    expect(await callText(pool, 'chatty', 'echo', { text: 'next' })).toBe('next');
  });

  it('takes no answer whose id only resembles that of the call', async () => {
    const pool = startPool({ chatty: fixtureServer('chatty') });
    expect(await callText(pool, 'chatty', 'near_id')).toBe('of this request');
  });

  it('fails the call whose answer follows a flood without a newline, and keeps none of the flood', async () => {
    const pool = startPool({ chatty: fixtureServer('chatty') });
    await pool.describe('chatty');
    const before = process.memoryUsage.rss();
    const error = await failureOf(pool.callTool({ server: 'chatty', tool: 'flood_stdout', arguments: { mib: 200 } }));
    expect(error.code).toBe('SERVER_PROTOCOL');
    expect(error.message).toMatch(
      /^server 'chatty' gave no usable answer to 'flood_stdout': 209,715,2\d\d bytes on stdout/,
    );
    // Half of it, because memory that was read and released waits for the collector, on Node 24 up to 70 MiB.
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * MIB);
    expect(await callText(pool, 'chatty', 'echo', { text: 'next' })).toBe('next');
  });

  it('reads stderr without keeping it', async () => {
    const pool = startPool({ chatty: fixtureServer('chatty') });
    await pool.describe('chatty');
    const before = process.memoryUsage.rss();
    expect(await callText(pool, 'chatty', 'flood_stderr', { mib: 100 })).toBe('flooded');
    // Half of it, because memory that was read and released waits for the collector, on Node 24 up to 70 MiB.
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * MIB);
  });
});

describe('size', () => {
  it('accepts a text of 64 MiB', async () => {
    const pool = startPool({ huge: fixtureServer('huge-output') });
    expect(await callText(pool, 'huge', 'text', { mib: 64 })).toHaveLength(64 * MIB);
  });

  it('accepts structured content of many small objects', async () => {
    const pool = startPool({ huge: fixtureServer('huge-output') });
    const result = await pool.callTool({ server: 'huge', tool: 'structured', arguments: { mib: 8 } });
    expect((result['structuredContent'] as { rows: unknown[] }).rows).toHaveLength(Math.floor((8 * MIB) / 40));
  });

  it('passes a large result on as bytes if they are taken and nothing in it must be masked', async () => {
    const definition = fixtureServer('huge-output');
    const secret = 'sk-canary-0123456789';
    const pool = startPool({ huge: { ...definition, env: { ...definition.env, API_KEY: secret } } });
    const ask = (json: string, times: number) =>
      pool.callTool({ server: 'huge', tool: 'written', arguments: { json, times }, takesBytes: true });
    const large = await ask('{"a": 1.0}', 100_000);
    expect(large).toBeInstanceOf(ResultBytes);
    expect(objectOfResult(large)['structuredContent']).toEqual({
      rows: Array.from({ length: 100_000 }, () => ({ a: 1 })),
    });
    expect(await ask('{"a": 1.0}', 1)).not.toBeInstanceOf(ResultBytes);
    expect(await ask(`"${secret}"`, 100_000)).toMatchObject({ structuredContent: { rows: { 99_999: '***' } } });
  });

  it.each([true, false])('fails the call whose answer is too long, and no other (id first: %s)', async (idFirst) => {
    const pool = startPool({ huge: fixtureServer('huge-output') });
    await pool.describe('huge');
    const other = callText(pool, 'huge', 'after_line');
    const args = { mib: 161, id_first: idFirst };
    const error = await failureOf(pool.callTool({ server: 'huge', tool: 'line', arguments: args }));
    expect(error.code).toBe('LIMIT_RESULT');
    expect(error.message).toMatch(
      /^server 'huge' answered 'line' with a message of 1688\d{5} bytes; the limit is 167772160 bytes$/,
    );
    expect(await other).toBe('after the line');
  });

  it('fails the call whose answer is nested too deeply', async () => {
    const pool = startPool({ huge: fixtureServer('huge-output') });
    const error = await failureOf(pool.callTool({ server: 'huge', tool: 'deep', arguments: { levels: 100_000 } }));
    expect(error.code).toBe('SERVER_PROTOCOL');
    expect(error.message).toContain('nested deeper than 200 levels');
    expect(await callText(pool, 'huge', 'echo', { text: 'alive' })).toBe('alive');
  });
});

describe('an answer to the handshake that is not as MCP defines it', () => {
  // The first was a dump of the schema checker; for the others, the start waited for its timeout.
  it.each([
    [
      'shape',
      'Invalid result for initialize: capabilities must be an object, serverInfo.name must be a string, serverInfo.version is missing',
    ],
    ['nothing', 'the response has neither a result object nor an error object'],
    ['list', 'the response has neither a result object nor an error object'],
    ['code', 'out of order'],
  ])('is explained at once (%s)', async (kind, reason) => {
    const pool = startPool({ misfit: fixtureServer('misfit', kind) }, { startTimeoutMs: 60_000 });
    const error = await failureOf(pool.describe('misfit'));
    expect(error).toMatchObject({ code: 'SERVER_START_FAILED' });
    expect(error.message).toBe(`server 'misfit' started but cannot be used: ${reason}`);
  });

  it('is taken if there is only more in it', async () => {
    const pool = startPool({ misfit: fixtureServer('misfit', 'null_error') });
    expect((await pool.describe('misfit')).tools).toEqual([]);
  });
});

describe('the data of an error', () => {
  const refused = async (args: object, env = {}) => {
    const pool = startPool({ odd: { ...fixtureServer('odd-results'), env } });
    const { message, data } = await failureOf(pool.callTool({ server: 'odd', tool: 'refuse', arguments: { ...args } }));
    return { message, data: data['rpc_data'] };
  };

  it('reaches code, and the message says what is in it', async () => {
    const issues = [{ path: ['limit'], message: 'must be below 100', id: 7 }];
    expect(await refused({ data: { issues } })).toEqual({
      message: `server 'odd' refused 'refuse': Invalid params: ${JSON.stringify({ issues })}`,
      data: { issues },
    });
    expect((await refused({ data: 'limit: \u001b[2Jbelow 100' })).message).toMatch(
      /Invalid params: limit: \\x1b\[2Jbelow 100$/,
    );
  });

  it('is not repeated', async () => {
    expect(await refused({ data: 'no limit', message: 'Bad: no limit' })).toEqual({
      message: "server 'odd' refused 'refuse': Bad: no limit",
      data: 'no limit',
    });
    expect((await refused({})).message).toBe("server 'odd' refused 'refuse': Invalid params");
  });

  it.each([
    ['long', 'x'.repeat(8_001)],
    ['deep', JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`)],
    ['of many values', Array.from({ length: 100_000 }, () => 1)],
  ])('is left out if it is %s', async (_name, data) => {
    const seen = await refused({ data });
    expect(seen.message).toMatch(
      /Invalid params \(with data of more than 8,000 characters or 50 levels, which were left out\)$/,
    );
    expect(seen.data).toBeUndefined();
  });

  it('holds no secret', async () => {
    const secret = 'sk-canary-0123456789';
    expect(await refused({ data: { url: `https://a/?key=${secret}` } }, { API_KEY: secret })).toEqual({
      message: expect.not.stringContaining(secret),
      data: { url: 'https://a/?key=***' },
    });
  });
});

describe('eras', () => {
  it('speaks 2026-07-28 with a server that does', async () => {
    const news: string[] = [];
    const pool = startPool({ modern: fixtureServer('modern') }, { onToolsChanged: (name) => news.push(name) });
    expect(await callText(pool, 'modern', 'echo', { text: 'hi' })).toBe('hi');
    expect(pool.serverInfo('modern')).toMatchObject({
      protocolVersion: '2026-07-28',
      serverName: 'modern',
      instructions: 'Modern.',
    });
    expect(await callText(pool, 'modern', 'request')).toContain(
      '"io.modelcontextprotocol/protocolVersion":"2026-07-28"',
    );
  });

  it('notices changed tools on 2026-07-28', async () => {
    let hear: () => void = () => undefined;
    const heard = new Promise<void>((resolve) => {
      hear = resolve;
    });
    const pool = startPool({ modern: fixtureServer('modern') }, { onToolsChanged: () => hear() });
    const { tools: before } = await pool.describe('modern');
    await callText(pool, 'modern', 'add_tool', { name: 'fresh' });
    await heard;
    expect((await pool.describe('modern')).tools).toHaveLength(before.length + 1);
  });

  it('accepts results of 2026-07-28 unchanged, and refuses a request for input with a clear error', async () => {
    const pool = startPool({ loose: fixtureServer('modern-loose') });
    expect((await pool.describe('loose')).tools.map((tool) => tool.inputSchema)).toEqual([
      { type: 'object' },
      { type: 'object' },
    ]);
    const result = await pool.callTool({ server: 'loose', tool: 'unknown_content', arguments: {} });
    expect(result).toMatchObject({ content: [{ type: 'hologram', depth: 3 }], extra: true });
    const error = await failureOf(pool.callTool({ server: 'loose', tool: 'wants_input', arguments: {} }));
    expect(error.code).toBe('SERVER_PROTOCOL');
    expect(error.message).toContain('input_required');
  });
});

describe('tool lists', () => {
  it('follows pages', async () => {
    const pool = startPool({ many: fixtureServer('many-tools', '1050', '100') });
    const { tools } = await pool.describe('many');
    expect(tools).toHaveLength(1050);
    expect(tools[1049]?.name).toBe('tool_1049');
  });

  it.each([
    ['endless', '500', 10_000, 'only the first 10,000 tools were kept'],
    ['circle', '1', 1, 'the list was cut where its pages began to repeat'],
  ])('stops reading an endless list (%s)', async (kind, pageSize, count, notice) => {
    const lines: string[] = [];
    const logger = createLogger('WARNING', (line) => lines.push(line));
    const pool = startPool({ many: fixtureServer('many-tools', kind, pageSize) }, { logger });
    expect((await pool.describe('many')).tools).toHaveLength(count);
    expect(lines.join('')).toContain(notice);
  });

  it('keeps unusual names unchanged, and drops tools without a name', async () => {
    const pool = startPool({ odd: fixtureServer('odd-names') });
    const { tools } = await pool.describe('odd');
    const names = tools.map((tool) => tool.name);
    expect(names).toContain('__proto__');
    expect(names.filter((name) => name === 'a-b')).toHaveLength(1);
    expect(tools.find((tool) => tool.name === 'wrong')).toEqual({ name: 'wrong', inputSchema: { type: 'object' } });
    for (const name of names) {
      expect(await callText(pool, 'odd', name)).toBe(name);
    }
  });
});
