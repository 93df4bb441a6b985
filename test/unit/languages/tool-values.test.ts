import { describe, expect, it } from 'vitest';
import { JsonScan, type ScannedResponse } from '../../../src/core/protocol/json-scan.ts';
import { ResultBytes } from '../../../src/core/protocol/result-bytes.ts';
import { meantName, valueOfResult } from '../../../src/features/languages/tool-values.ts';

/** A result as a large one arrives. */
function bytesOf(result: object): ResultBytes {
  const response = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  const scan = new JsonScan();
  scan.push(response);
  return new ResultBytes([response], scan.end() as ScannedResponse);
}

const text = (...texts: string[]) => texts.map((one) => ({ type: 'text', text: one }));

describe('the value of a call', () => {
  it('is structured content, or the text, which the sandbox parses', () => {
    expect(valueOfResult({ content: text('x'), structuredContent: { a: 1 } }, 's.t')).toEqual({ value: { a: 1 } });
    expect(valueOfResult({ content: text('{"a": [1]}') }, 's.t')).toEqual({ text: '{"a": [1]}' });
    expect(valueOfResult({ content: text('12', 'b') }, 's.t')).toEqual({ text: '12\nb' });
    const image = { type: 'image', data: 'AA==', mimeType: 'image/png' };
    expect(valueOfResult({ content: [...text('a'), image] }, 's.t')).toEqual({ value: [...text('a'), image] });
  });

  it('is the content as it is, if MCP does not know its shape', () => {
    const odd = [{ type: 'text', text: 5 }, 'a'];
    expect(valueOfResult({ content: 'a' }, 's.t')).toEqual({ text: 'a' });
    expect(valueOfResult({ content: { a: 1 } }, 's.t')).toEqual({ value: { a: 1 } });
    expect(valueOfResult({ content: odd }, 's.t')).toEqual({ value: odd });
    expect(valueOfResult({ toolResult: 5, _meta: {} }, 's.t')).toEqual({ value: { toolResult: 5, _meta: {} } });
    expect(valueOfResult({ content: [], _meta: {} }, 's.t')).toEqual({ text: '' });
  });

  it.each([
    ['structured content', { content: text('x'), structuredContent: { a: [1, 'é'] } }, 'value', { a: [1, 'é'] }],
    ['the only text', { content: text('{"a": 1}') }, 'text', '{"a": 1}'],
  ] as const)('is the bytes of a large result: %s', (_what, result, member, expected) => {
    const answer = valueOfResult(bytesOf(result), 's.t');
    const json = 'json' in answer ? Buffer.concat(answer.json).toString() : '';
    expect(answer).toMatchObject({ member });
    expect(JSON.parse(json)).toEqual(expected);
  });

  it.each([
    { content: text('a', 'b') },
    { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] },
    { content: [] },
  ])('of other large results is the same as that of the object: %j', (result) => {
    expect(valueOfResult(bytesOf(result), 's.t')).toEqual(valueOfResult(result, 's.t'));
  });

  it('is an error if the tool reports one', () => {
    expect(() => valueOfResult(bytesOf({ isError: true, content: text('no') }), 's.t')).toThrow('no');
    expect(() => valueOfResult({ isError: true, content: text('no such issue') }, 's.t')).toThrow('no such issue');
    expect(() => valueOfResult({ isError: true, content: [] }, 's.t')).toThrow('s.t reported an error');
  });
});

it('finds a tool by its name, alias, or another spelling', () => {
  const tools = ['create_issue', 'list-repos', 'get.me', 'a_b', 'ab'].map((name) => ({
    name,
    alias: name.replaceAll(/\W/g, '_'),
  }));
  const written = ['create_issue', 'createIssue', 'list_repos', 'listRepos', 'getMe', 'ab', 'AB', 'deleteAll'];
  expect(written.map((name) => meantName(tools, name))).toEqual([
    'create_issue',
    'create_issue',
    'list-repos',
    'list-repos',
    'get.me',
    'ab',
    'AB',
    'deleteAll',
  ]);
});
