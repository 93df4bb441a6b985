import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { encodeHeaderValue, modernHeaders } from '../../../../src/upstream/http/modern-headers.ts';

describe('headers that repeat a message', () => {
  const _meta = { [PROTOCOL_VERSION_META_KEY]: '2026-07-28' };

  it('name its version, its method, and what is asked for', () => {
    expect(modernHeaders({ method: 'tools/call', params: { _meta, name: 'lies mich' } })).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'lies mich',
    });
    expect(modernHeaders({ method: 'resources/read', params: { _meta, uri: 'file:///ä' } })).toMatchObject({
      'mcp-name': `=?base64?${Buffer.from('file:///ä').toString('base64')}?=`,
    });
    expect(modernHeaders({ method: 'constructor', params: { _meta } })).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'constructor',
    });
  });

  it('are left out for messages of earlier versions', () => {
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
    expect(encodeHeaderValue(text)).toBe(written);
  });
});
