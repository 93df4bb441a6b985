import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/upstream/definition.ts';
import { RequestError } from '../../../src/upstream/requests.ts';
import { readToolList } from '../../../src/upstream/tool-list.ts';

/** Reads the list of a server with these pages; each names the next one. */
async function read(pages: readonly JsonObject[], bytes = 100) {
  const asked: JsonObject[] = [];
  const list = await readToolList((params) => {
    asked.push(params);
    const page = pages[asked.length - 1] ?? {};
    return Promise.resolve({ result: { nextCursor: String(asked.length), ...page }, bytes });
  });
  return { ...list, asked };
}

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

describe('readToolList', () => {
  it('follows the cursor to the last page', async () => {
    const { tools, notices, asked } = await read([{ tools: [tool('a')] }, { tools: [tool('b')], nextCursor: '' }]);
    expect(tools.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(asked).toEqual([{}, { cursor: '1' }]);
    expect(notices).toEqual([]);
  });

  it('keeps what it does not know, and mends what others rely on', async () => {
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

  it('stops after 1,000 pages, 64 MiB, and where pages repeat', async () => {
    expect((await read([])).notices).toEqual(['only the first 1000 pages were read']);
    expect((await read([], 32 * 1024 * 1024)).notices).toEqual(['only the first 67108864 bytes were read']);
    expect((await read([{ nextCursor: 'a' }, { nextCursor: 'b' }, { nextCursor: 'a' }])).notices).toEqual([
      'the list was cut where its pages began to repeat',
    ]);
  });

  it('takes a server without tools for an empty list, and passes on other errors', async () => {
    const fail = (code: number) => readToolList(() => Promise.reject(new RequestError('rpc', 'no', { code })));
    expect(await fail(-32_601)).toEqual({ tools: [], notices: [] });
    await expect(fail(-32_603)).rejects.toBeInstanceOf(RequestError);
  });
});
