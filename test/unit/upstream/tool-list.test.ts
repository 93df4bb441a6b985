import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/base/is-object.ts';
import { RequestError } from '../../../src/core/protocol/server-requests.ts';
import { readToolList } from '../../../src/edges/upstream/tool-list.ts';

/** Reads the list of a server with these pages, each naming the next one. */
async function read(pages: readonly JsonObject[], protocolVersion = '2025-11-25') {
  const asked: JsonObject[] = [];
  const list = await readToolList((params) => {
    asked.push(params);
    const page = pages[asked.length - 1] ?? {};
    return Promise.resolve(response({ nextCursor: String(asked.length), ...page }));
  }, protocolVersion);
  return { ...list, asked };
}

/** The line of a response with this result. */
function response(result: JsonObject): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
}

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

describe('readToolList', () => {
  it('follows the cursor to the last page', async () => {
    const { tools, notices, asked } = await read([{ tools: [tool('a')] }, { tools: [tool('b')], nextCursor: '' }]);
    expect(tools.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(asked).toEqual([{}, { cursor: '1' }]);
    expect(notices).toEqual([]);
  });

  it('follows an empty cursor since 2026-07-28, but not in circles', async () => {
    const pages = [
      { tools: [tool('a')], nextCursor: '' },
      { tools: [tool('b')], nextCursor: null },
    ];
    expect((await read(pages, '2025-11-25')).asked).toEqual([{}]);
    const { tools, notices, asked } = await read(pages, '2026-07-28');
    expect([tools.map(({ name }) => name), notices]).toEqual([['a', 'b'], []]);
    expect(asked).toEqual([{}, { cursor: '' }]);
    expect((await read([{ nextCursor: '' }, { nextCursor: '' }], '2026-07-28')).notices).toEqual([
      'the list was cut where its pages began to repeat',
    ]);
  });

  it('keeps unknown members, and fixes those that others rely on', async () => {
    const odd = { name: 'odd', description: 5, inputSchema: null, annotations: { readOnlyHint: true }, future: [1] };
    const { tools, notices } = await read([
      { tools: [odd, tool('odd'), { name: 5 }, 'text', { name: '' }], nextCursor: undefined },
    ]);
    expect(tools).toEqual([
      { name: 'odd', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true }, future: [1] },
    ]);
    expect(notices).toEqual([
      'of tools with the same name only the first was kept',
      'entries without a name were left out',
    ]);
  });

  it('stops after 1,000 pages, and when pages repeat', async () => {
    expect((await read([])).notices).toEqual(['only the first 1,000 pages were read']);
    expect((await read([{ nextCursor: 'a' }, { nextCursor: 'b' }, { nextCursor: 'a' }])).notices).toEqual([
      'the list was cut where its pages began to repeat',
    ]);
  });

  it('keeps 10,000 of 50,000 tools, and then requests no more pages', async () => {
    const all = Array.from({ length: 50_000 }, (_, number) => tool(`tool_${number}`));
    const { tools, notices, asked } = await read([{ tools: all }]);
    expect(tools).toHaveLength(10_000);
    expect(notices).toEqual(['only the first 10,000 tools were kept']);
    expect(asked).toHaveLength(1);
  });

  it('keeps the pages it has if the next one does not come in time', async () => {
    const late = new RequestError('timeout', 'no answer');
    const first = response({ tools: [tool('a')], nextCursor: 'b' });
    const list = await readToolList(
      ({ cursor }) => (cursor === undefined ? Promise.resolve(first) : Promise.reject(late)),
      '2025-11-25',
    );
    expect(list).toMatchObject({
      tools: [tool('a')],
      notices: ['the list was cut where its next page did not come in time'],
    });
    await expect(readToolList(() => Promise.reject(late), '2025-11-25')).rejects.toBe(late);
  });

  it('reads the beginning of a description of 10 MB, and leaves out a schema of 2 MB', async () => {
    const long = { ...tool('long'), description: 'x'.repeat(10_000_000) };
    const huge = { name: 'huge', inputSchema: { enum: Array.from({ length: 200_000 }, () => 'value') } };
    const { tools, notices } = await read([{ tools: [long, huge, tool('small')], nextCursor: '' }]);
    expect(tools.map(({ description, inputSchema }) => [description?.length, inputSchema])).toEqual([
      [262_143, { type: 'object' }],
      [undefined, { type: 'object' }],
      [undefined, { type: 'object' }],
    ]);
    expect(notices).toEqual([
      'of texts longer than 256 KiB only the beginning was read',
      'members of tools larger than 1 MiB were left out',
    ]);
  });

  it('ends at a tool that cannot be skipped quickly', async () => {
    const wide = { name: 'wide', inputSchema: { enum: Array.from({ length: 600_000 }, () => 1) } };
    const { tools, notices, asked } = await read([{ tools: [tool('first'), wide, tool('never')] }]);
    expect(tools.map(({ name }) => name)).toEqual(['first']);
    expect(notices).toEqual(['the list was cut at a part that is too large: more than 500,000 members']);
    expect(asked).toHaveLength(1);
  });

  it('explains an unusable response', async () => {
    const of = (line: string) => readToolList(() => Promise.resolve(Buffer.from(line)), '2025-11-25');
    await expect(of('{"result":{"tools":[{"name":')).rejects.toThrow('the response is not valid JSON: ');
    await expect(of('{"id":1}')).rejects.toThrow('neither a result object nor an error object');
    await expect(of('{"error":{"code":-32000,"message":"no"},"id":1}')).rejects.toThrow('no');
    await expect(of('{"result":{"resultType":"input_required"}}')).rejects.toThrow('only complete results can be used');
    await expect(of('{"result":{"tools":{"a":1},"other":[null]},"id":1}')).resolves.toMatchObject({
      tools: [],
      notices: [],
    });
  });

  it('returns an empty list for a server without tools, and rejects with other errors', async () => {
    const fail = (code: number) =>
      readToolList(() => Promise.reject(new RequestError('rpc', 'no', { code })), '2025-11-25');
    expect(await fail(-32_601)).toMatchObject({ tools: [], notices: [] });
    await expect(fail(-32_603)).rejects.toBeInstanceOf(RequestError);
  });
});
