import { describe, expect, it } from 'vitest';
import { meantName, valueOfResult } from '../../../src/languages/tool-values.ts';

const text = (...texts: string[]) => texts.map((one) => ({ type: 'text', text: one }));

describe('the value of a call', () => {
  it('is structured content, an object or a list in the text, or the text', () => {
    expect(valueOfResult({ content: text('x'), structuredContent: { a: 1 } }, 's.t')).toEqual({ a: 1 });
    expect(valueOfResult({ content: text('{"a": [1]}') }, 's.t')).toEqual({ a: [1] });
    expect(valueOfResult({ content: text('[broken') }, 's.t')).toBe('[broken');
    expect(valueOfResult({ content: text('12', 'b') }, 's.t')).toBe('12\nb');
    const image = { type: 'image', data: 'AA==', mimeType: 'image/png' };
    expect(valueOfResult({ content: [...text('a'), image] }, 's.t')).toEqual([...text('a'), image]);
  });

  it('is the content as it is, if MCP does not know its shape', () => {
    expect(valueOfResult({ content: 'a' }, 's.t')).toBe('a');
    expect(valueOfResult({ content: { a: 1 } }, 's.t')).toEqual({ a: 1 });
    expect(valueOfResult({ content: [{ type: 'text', text: 5 }, 'a'] }, 's.t')).toEqual([
      { type: 'text', text: 5 },
      'a',
    ]);
    expect(valueOfResult({ toolResult: 5, _meta: {} }, 's.t')).toEqual({ toolResult: 5, _meta: {} });
    expect(valueOfResult({ content: [], _meta: {} }, 's.t')).toBe('');
  });

  it('is an error if the tool reports one', () => {
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
