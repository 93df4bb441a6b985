// Tags: full, bubblewrap
/** Lists of tools that are small in bytes, and cost much. No engine is needed. */
import { expect, it } from 'vitest';
import { sortByHeaders } from '../../src/edges/upstream/http/request-headers.ts';
import { readToolList, type ToolList } from '../../src/edges/upstream/tool-list.ts';
import { amount } from '../support/attacks.ts';
import { processorTimeOf } from '../support/costs.ts';

const listOf = (line: string): Promise<ToolList> => readToolList(async () => Buffer.from(line), '2025-11-25');

// 100 MiB of such members blocked the bridge for minutes.
it.each([
  ['the result', (members: string) => `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"act"}]${members}}}`],
  ['the response', (members: string) => `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"act"}]}${members}}`],
  [
    'a tool',
    (members: string) => `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"act"},{"name":"b"${members}}]}}`,
  ],
])('with many members of %s is cut', async (_where, responseWith) => {
  const line = responseWith(',"a":0'.repeat(amount(400_000, 490_000)));
  let tools: readonly unknown[] = [];
  let notices: readonly string[] = [];
  const timeMs = await processorTimeOf(async () => {
    ({ notices, tools } = await listOf(line));
  });
  expect(tools).toHaveLength(1);
  expect(notices).toEqual([expect.stringContaining('more than 10,000 members')]);
  expect(timeMs).toBeLessThan(700);
});

// 64 tools of 1 MiB took 300 MB, kept as long as the list.
it('with many values in all its tools is cut', async () => {
  const values = `[${'[],'.repeat(100_000)}[]]`;
  const tools = Array.from({ length: 14 }, (_, number) => `{"name":"t${number}","inputSchema":{"x":${values}}}`);
  const list = await listOf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools.join(',')}]}}`);
  expect(list.tools.length).toBeLessThan(15);
  expect(list.notices).toEqual([`only the first ${list.tools.length} tools were kept`]);
});

// Each mark was compared with all others: 3 s for a tool of 800 KB.
it('with a tool that marks many parameters for headers has not that tool', async () => {
  const names = Array.from({ length: 18_000 }, (_, number) => number.toString(36));
  const properties = Object.fromEntries(names.map((name) => [`p${name}`, { type: 'string', 'x-mcp-header': name }]));
  const tools = ['first', 'second'].map((name) => ({ name, inputSchema: { type: 'object', properties } }));
  let notices: readonly string[] = [];
  const timeMs = await processorTimeOf(() => {
    ({ notices } = sortByHeaders(tools));
  });
  expect(notices).toHaveLength(2);
  expect(notices[0]).toBe("the tool 'first' was left out, because more than 100 parameters are marked for headers");
  expect(timeMs).toBeLessThan(500);
});
