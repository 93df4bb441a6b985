import { describe, expect, test } from 'vitest';
import { numberedFile, readResult } from '../../../src/app/manage-servers/call-result.ts';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';

const text = (words: string) => ({ type: 'text', text: words });
const PIXELS = Buffer.from([1, 2, 3]);

describe('the text of a result', () => {
  test.each([
    [{ content: [text('a'), text('b\n')] }, 'a\nb\n'],
    [{ content: [text('{"n": 1}')], structuredContent: { n: 1 } }, '{"n": 1}\n'],
    [{ content: [], structuredContent: { n: 1 } }, '{\n  "n": 1\n}\n'],
    [{ structuredContent: { id: parseExact('12345678901234567890') } }, '{"id":12345678901234567890}\n'],
    [{ content: [{ type: 'resource', resource: { uri: 'a:b', text: 'words' } }] }, 'words\n'],
    [{ content: [{ type: 'resource_link', uri: 'file:///x', name: 'x' }] }, 'file:///x  x\n'],
    [{ content: [{ type: 'later', of: 'now' }] }, '{\n  "type": "later",\n  "of": "now"\n}\n'],
    [
      { content: [null, 5, 'words', { type: 'text', text: 6 }] },
      'null\n5\nwords\n{\n  "type": "text",\n  "text": 6\n}\n',
    ],
    [{ content: 'words' }, 'words\n'],
    [{ content: { a: 1 } }, '{\n  "a": 1\n}\n'],
    ['nonsense', 'nonsense\n'],
    [{}, ''],
  ])('%j', (result, expected) => {
    expect(readResult(result).text).toBe(expected);
  });
});

test('images, sounds and files become binary parts, and a failure is marked', () => {
  const data = PIXELS.toString('base64');
  const content = [
    { type: 'image', data, mimeType: 'image/png' },
    { type: 'audio', data },
    { type: 'resource', resource: { blob: data, mimeType: 'application/pdf' } },
    { type: 'image' },
  ];
  expect(readResult({ content, isError: true })).toEqual({
    text: '{\n  "type": "image"\n}\n',
    isError: true,
    parts: [
      { kind: 'image', mimeType: 'image/png', bytes: PIXELS },
      { kind: 'audio', mimeType: 'application/octet-stream', bytes: PIXELS },
      { kind: 'file', mimeType: 'application/pdf', bytes: PIXELS },
    ],
  });
});

test.each([
  ['shot.png', 0, 'shot.png'],
  ['shot.png', 1, 'shot-2.png'],
  ['a.b/shot', 2, 'a.b/shot-3'],
])('%s, number %i', (file, index, expected) => {
  expect(numberedFile(file, index)).toBe(expected);
});
