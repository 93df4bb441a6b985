import { describe, expect, it } from 'vitest';
import { endToEnd, MAX_HEADER_BYTES, requestHeaders } from '../../../../src/edges/upstream/egress/request-headers.ts';

describe('headers of code', () => {
  it.each<[string, [string, string][], Record<string, string>]>([
    ['keep their spelling', [['X-Custom', 'a']], { 'X-Custom': 'a' }],
    [
      'are joined if they come twice',
      [
        ['Accept', 'a'],
        ['accept', 'b'],
        ['Cookie', 'x=1'],
        ['cookie', 'y=2'],
      ],
      { Accept: 'a, b', Cookie: 'x=1; y=2' },
    ],
    [
      'may have any name that HTTP allows',
      [
        ['__proto__', 'a'],
        ['constructor', 'b'],
      ],
      { ['__proto__']: 'a', constructor: 'b' },
    ],
    ['may have bytes beyond ASCII', [['X-A', '\u00ff\t\u0080']], { 'X-A': '\u00ff\t\u0080' }],
  ])('%s', (_what, headers, expected) => {
    expect(Object.entries(requestHeaders(headers, {}))).toEqual(Object.entries(expected));
  });

  it.each([
    'Accept-Encoding',
    'Connection',
    'Expect',
    'Forwarded',
    'Host',
    'Keep-Alive',
    'Proxy',
    'Proxy-Authorization',
    'Proxy-Connection',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Via',
    'X-Forwarded-For',
    'x-forwarded-anything',
    'X_Forwarded_For',
    'transfer_encoding',
    'Content_Length',
    'HTTP2-Settings',
  ])('lose %s', (name) => {
    expect(
      requestHeaders(
        [
          [name, 'x'],
          ['a', 'b'],
        ],
        {},
      ),
    ).toEqual({ a: 'b' });
  });

  it('lose those that the connection names', () => {
    expect(
      endToEnd([
        ['Connection', 'close, X-Hop'],
        ['x-hop', '1'],
        ['x-end', '2'],
      ]),
    ).toEqual([['x-end', '2']]);
  });

  it.each(['authorization', 'Authorization', 'AUTHORIZATION', 'X-Api-Key', 'x_api_key', 'X_API-KEY', 'x.api.key'])(
    'lose %s to the entry',
    (name) => {
      const entry = { Authorization: 'Bearer own', 'X-Api-Key': 'own' };
      expect(
        requestHeaders(
          [
            [name, 'theirs'],
            ['a', 'b'],
          ],
          entry,
        ),
      ).toEqual({
        a: 'b',
        authorization: 'Bearer own',
        'x-api-key': 'own',
      });
    },
  );

  it.each<[string, [string, string][], Record<string, string>, string]>([
    ['a line break', [['a', 'b\r\nx: y']], {}, 'line break'],
    ['a line feed of a key', [], { authorization: 'Bearer a\nb' }, 'line break'],
    ['NUL', [['a', 'b\0']], {}, 'line break'],
    ['a character that is no byte', [['a', '\u20ac']], {}, 'not allow'],
    ['a name with a space', [['a b', 'c']], {}, 'header name'],
    ['a name with a line break', [['a\r\nb', 'c']], {}, 'header name'],
    ['an empty name', [['', 'c']], {}, 'header name'],
    ['too many bytes', [['a', 'x'.repeat(MAX_HEADER_BYTES)]], {}, '65537 bytes; the limit is 65536 bytes'],
    [
      'two lengths',
      [
        ['Content-Length', '1'],
        ['content-length', '2'],
      ],
      {},
      'content-length',
    ],
    ['a length that is none', [['Content-Length', '+1']], {}, 'content-length'],
  ])('are refused with %s', (_what, headers, entry, text) => {
    expect(() => requestHeaders(headers, entry)).toThrow(
      expect.objectContaining({ code: 'HTTP_REFUSED', message: expect.stringContaining(text) }),
    );
  });

  it('are refused without repeating the value', () => {
    expect(() => requestHeaders([], { 'x-key': 'secret-1234\n' })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret-1234') }),
    );
  });
});
