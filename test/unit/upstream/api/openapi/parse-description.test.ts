import { describe, expect, test } from 'vitest';
import { parseDescription } from '../../../../../src/edges/upstream/api/openapi/parse-description.ts';

describe('a description', () => {
  test('is JSON or YAML 1.2, with a byte order mark or without', () => {
    expect(parseDescription('\uFEFF {"a": 1, "__proto__": 2}')).toEqual(JSON.parse('{"a": 1, "__proto__": 2}'));
    expect(parseDescription('a: 2020-01-01\nb: yes\nc: 0777\na: 1\n')).toEqual({ a: 1, b: 'yes', c: 777 });
    expect(parseDescription('x: &x { a: 1 }\ny: { <<: *x, b: 2 }')).toEqual({ x: { a: 1 }, y: { a: 1, b: 2 } });
  });

  test.each([
    ['{"a": 1,}', 'is not JSON (line 1, column 9): trailing commas are not allowed'],
    ['a: 1\nb: [', /^is not YAML \(line 2, column \d+\): /],
    [`{"a":${'['.repeat(10_000)}`, 'is nested deeper than 200 levels'],
    [`a: ${'['.repeat(10_000)}${']'.repeat(10_000)}`, 'is nested too deeply'],
    [
      `a0: &a0 [x]\n${Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}]`).join('\n')}`,
      'has anchors that stand for too much',
    ],
  ])('says what is wrong with it: %.30s', (text, message) => {
    expect(() => parseDescription(text)).toThrow(message);
  });
});
