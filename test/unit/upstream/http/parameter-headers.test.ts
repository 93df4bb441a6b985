import { describe, expect, test } from 'vitest';
import { parameterHeaders, sortByHeaders } from '../../../../src/upstream/http/parameter-headers.ts';

const schemaOf = (properties: Record<string, unknown>) => ({ type: 'object', properties });
const toolOf = (name: string, properties: Record<string, unknown>) => ({ name, inputSchema: schemaOf(properties) });
const call = (name: string, given: unknown) => ({ method: 'tools/call', params: { name, arguments: given } });

describe('headers of a call', () => {
  const { parameters, tools, notices } = sortByHeaders([
    toolOf('query', {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      limits: schemaOf({ priority: { type: 'integer', 'x-mcp-header': 'Priority' } }),
      isDry: { type: 'boolean', 'x-mcp-header': 'Dry' },
      sql: { type: 'string' },
    }),
    toolOf('plain', { region: { type: 'string', default: { 'x-mcp-header': 'no mark' } } }),
  ]);

  test('repeat what the tool marks, at any depth', () => {
    expect({ names: tools.map(({ name }) => name), notices }).toEqual({ names: ['query', 'plain'], notices: [] });
    expect(
      parameterHeaders(call('query', { region: 'eu', limits: { priority: 3 }, isDry: false, sql: 'x' }), parameters),
    ).toEqual({
      'mcp-param-region': 'eu',
      'mcp-param-priority': '3',
      'mcp-param-dry': 'false',
    });
  });

  test('hold no text that could end them: it is encoded', () => {
    const value = 'a\r\nx-evil: 1 \u00e9';
    const encoded = `=?base64?${Buffer.from(value).toString('base64')}?=`;
    expect(parameterHeaders(call('query', { region: value }), parameters)).toEqual({ 'mcp-param-region': encoded });
  });

  test.each([
    ['nothing given', call('query', undefined)],
    ['null', call('query', { region: null, limits: null })],
    ['values that are no single ones', call('query', { region: ['eu'], limits: { priority: 2 ** 60 } })],
    ['another tool', call('plain', { region: 'eu' })],
    ['another method', { method: 'tools/list', params: { name: 'query' } }],
  ])('are none for %s', (_, message) => {
    expect(parameterHeaders(message, parameters)).toEqual({});
  });
});

describe('a tool is left out', () => {
  test.each<[string, Record<string, unknown>]>([
    ['an empty name', { a: { type: 'string', 'x-mcp-header': '' } }],
    ['a name with a space', { a: { type: 'string', 'x-mcp-header': 'My Region' } }],
    ['a name with a line end', { a: { type: 'string', 'x-mcp-header': 'a\r\nb' } }],
    ['a number', { a: { type: 'number', 'x-mcp-header': 'A' } }],
    ['an object', { a: { type: 'object', 'x-mcp-header': 'A' } }],
    ['no type', { a: { 'x-mcp-header': 'A' } }],
    ['two of one name', { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } }],
    ['a mark in items', { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } }],
    ['a mark in a choice', { a: { anyOf: [{ type: 'string', 'x-mcp-header': 'A' }] } }],
  ])('for %s', (_, properties) => {
    const { notices, tools } = sortByHeaders([toolOf('bad', properties), toolOf('good', {})]);
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(notices).toEqual([expect.stringMatching(/^the tool 'bad' was left out, because /)]);
  });
});
