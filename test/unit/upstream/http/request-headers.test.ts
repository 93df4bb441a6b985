import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { modernHeaders, parameterHeaders, sortByHeaders } from '../../../../src/edges/upstream/http/request-headers.ts';

const schemaOf = (properties: Record<string, unknown>) => ({ type: 'object', properties });
const toolOf = (name: string, properties: Record<string, unknown>) => ({ name, inputSchema: schemaOf(properties) });
const call = (name: string, given: unknown) => ({ method: 'tools/call', params: { name, arguments: given } });

describe('standard headers', () => {
  const _meta = { [PROTOCOL_VERSION_META_KEY]: '2026-07-28' };

  it('name the version, the method, and the requested object', () => {
    expect(modernHeaders({ method: 'tools/call', params: { _meta, name: 'read me' } })).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'read me',
    });
    expect(modernHeaders({ method: 'resources/read', params: { _meta, uri: 'file:///ä' } })).toMatchObject({
      'mcp-name': `=?base64?${Buffer.from('file:///ä').toString('base64')}?=`,
    });
    expect(modernHeaders({ method: 'constructor', params: { _meta } })).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'constructor',
    });
  });

  it('are left out before 2026-07-28', () => {
    expect(modernHeaders({ method: 'tools/call', params: { name: 'x' } })).toEqual({});
    expect(modernHeaders({ id: 1, result: {} })).toEqual({});
  });

  it.each([
    ['plain', 'plain'],
    ['', '=?base64??='],
    [' edge', '=?base64?IGVkZ2U=?='],
    ['a\r\nb', '=?base64?YQ0KYg==?='],
    ['=?base64?x?=', '=?base64?PT9iYXNlNjQ/eD89?='],
  ])('%j is written as %j', (text, written) => {
    const headers = modernHeaders({ method: 'tools/call', params: { _meta, name: text } });
    expect(headers['mcp-name']).toBe(written);
  });
});

describe('parameter headers', () => {
  const { parameters, tools, notices } = sortByHeaders([
    toolOf('query', {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      limits: schemaOf({ priority: { type: 'integer', 'x-mcp-header': 'Priority' } }),
      isDry: { type: 'boolean', 'x-mcp-header': 'Dry' },
      sql: { type: 'string' },
    }),
    toolOf('plain', { region: { type: 'string', default: { 'x-mcp-header': 'no mark' } } }),
  ]);

  it('repeat the parameters that the tool marks, at any depth', () => {
    expect({ names: tools.map(({ name }) => name), notices }).toEqual({ names: ['query', 'plain'], notices: [] });
    expect(
      parameterHeaders(call('query', { region: 'eu', limits: { priority: 3 }, isDry: false, sql: 'x' }), parameters),
    ).toEqual({
      'mcp-param-region': 'eu',
      'mcp-param-priority': '3',
      'mcp-param-dry': 'false',
    });
  });

  it('encode text that could end the header', () => {
    const value = 'a\r\nx-evil: 1 \u00e9';
    const encoded = `=?base64?${Buffer.from(value).toString('base64')}?=`;
    expect(parameterHeaders(call('query', { region: value }), parameters)).toEqual({ 'mcp-param-region': encoded });
  });

  it.each([
    ['no arguments', call('query', undefined)],
    ['null', call('query', { region: null, limits: null })],
    ['values that are not single', call('query', { region: ['eu'], limits: { priority: 2 ** 60 } })],
    ['another tool', call('plain', { region: 'eu' })],
    ['another method', { method: 'tools/list', params: { name: 'query' } }],
  ])('are not sent for %s', (_, message) => {
    expect(parameterHeaders(message, parameters)).toEqual({});
  });
});

describe('a tool is left out for', () => {
  it.each<[string, Record<string, unknown>]>([
    ['an empty name', { a: { type: 'string', 'x-mcp-header': '' } }],
    ['a name with a space', { a: { type: 'string', 'x-mcp-header': 'My Region' } }],
    ['a name with a line break', { a: { type: 'string', 'x-mcp-header': 'a\r\nb' } }],
    ['a number', { a: { type: 'number', 'x-mcp-header': 'A' } }],
    ['an object', { a: { type: 'object', 'x-mcp-header': 'A' } }],
    ['no type', { a: { 'x-mcp-header': 'A' } }],
    [
      'two marks with the same name',
      { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
    ],
    ['a mark in items', { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } }],
    ['a mark in anyOf', { a: { anyOf: [{ type: 'string', 'x-mcp-header': 'A' }] } }],
  ])('%s', (_, properties) => {
    const { notices, tools } = sortByHeaders([toolOf('bad', properties), toolOf('good', {})]);
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(notices).toEqual([expect.stringMatching(/^the tool 'bad' was left out, because /)]);
  });
});

// Names and parameters of 10,000 such tools went into notices whole, past the pins.
it('shows little of what the server wrote in tools that are left out', () => {
  const prose = 'please '.repeat(1_000);
  const tools = Array.from({ length: 1_000 }, (_, index) =>
    toolOf(`${index} ${prose}`, { [prose]: { type: 'object', 'x-mcp-header': 'X' } }),
  );
  const { notices } = sortByHeaders(tools);
  expect(notices).toHaveLength(6);
  expect(notices.join('').length).toBeLessThan(2_000);
  expect(notices.at(-1)).toBe('995 more tools were left out for such reasons');
});
