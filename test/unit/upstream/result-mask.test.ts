import { assert as assertProperty, constantFrom, jsonValue, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact, stringifyExact } from '../../../src/core/protocol/exact-json.ts';
import { createResultMask } from '../../../src/edges/upstream/result-mask.ts';

/** Masks a line with this result as a transport does. */
function through(
  secrets: string[],
  result: unknown,
  line = JSON.stringify({ jsonrpc: '2.0', id: 1, result }),
): unknown {
  const mask = createResultMask(secrets);
  const message = parseExact(line) as Record<string, unknown>;
  return mask.mayHold(Buffer.from(line)) ? mask.maskMessage(message)['result'] : message['result'];
}

describe('a secret is masked', () => {
  it.each<[string, string, unknown, unknown]>([
    ['in a string', 'ghp_1234', { text: 'a ghp_1234 b ghp_1234' }, { text: 'a *** b ***' }],
    ['in a nested value', 'ghp_1234', [{ a: ['ghp_1234'] }], [{ a: ['***'] }]],
    ['as a key', 'ghp_1234', { ghp_1234: 1, x: 2 }, { '***': 1, x: 2 }],
    ['as two keys, which stay distinct', 'ghp_1234', { ghp_1234: 1, '***': 2 }, { '***': 1, '*** (2)': 2 }],
    ['with characters that JSON escapes', 'a"b\\c\nd', { text: 'x a"b\\c\nd' }, { text: 'x ***' }],
    ['with letters beyond ASCII', 'pässwörd', { text: 'pässwörd' }, { text: '***' }],
    ['with only such letters', 'ключключ', { text: 'ключключ' }, { text: '***' }],
    ['in an address', 'a+b/c=d&', { text: `?k=${encodeURIComponent('a+b/c=d&')}` }, { text: '?k=***' }],
    ['as a number', '12345678', { a: 12_345_678, b: 123_456_789 }, { a: '***', b: 123_456_789 }],
    ['in a form', 'correct horse', { text: 'p=correct+horse&q=1' }, { text: 'p=***&q=1' }],
    ['in JSON of PHP in a string', 'ab/cdefgh', { text: '{"k":"ab\\/cdefgh"}' }, { text: '{"k":"***"}' }],
    ['in JSON of Python in a string', 'pässwörd-€', { text: '"p\\u00e4ssw\\u00f6rd-\\u20ac"' }, { text: '"***"' }],
    ['in JSON in a string next to an emoji', '😀"abcdefg', { text: '{"k":"😀\\"abcdefg"}' }, { text: '{"k":"***"}' }],
    ['in JSON of Go in a string', 'a<b>&c=d+e', { text: '"a\\u003cb\\u003e\\u0026c=d\\u002Be"' }, { text: '"***"' }],
    ['in JSON in a string', 'a"bcdefg', { text: JSON.stringify({ k: 'a"bcdefg' }) }, { text: '{"k":"***"}' }],
  ])('%s', (_where, secret, result, masked) => {
    expect(through([secret], result)).toEqual(masked);
  });

  it.each(['', 'a', 'ab', 'abc'])('in base64 after %j', (before) => {
    const text = Buffer.from(`${before}:secret-1234:more`).toString('base64');
    const masked = through(['secret-1234'], { text }) as { text: string };
    expect(masked.text).toContain('***');
    expect(Buffer.from(masked.text, 'base64').toString('latin1')).not.toContain('ecret-123');
  });

  it('in the URL-safe base64 alphabet', () => {
    const text = Buffer.from('>>>???>>>???').toString('base64url');
    expect(through(['>>>???>>>???'], { text })).toEqual({ text: '***' });
  });

  it('regardless of what the encoder escapes', () => {
    const line = '{"jsonrpc":"2.0","id":1,"result":{"text":"key \\u0061+b\\/c\\u003dsecret"}}';
    expect(through(['a+b/c=secret'], undefined, line)).toEqual({ text: 'key ***' });
  });

  it('as a number that JavaScript cannot hold', () => {
    const line = '{"jsonrpc":"2.0","id":1,"result":{"a":12345678901234567890,"b":99999999999999999999}}';
    expect(stringifyExact(through(['12345678901234567890'], undefined, line))).toBe(
      '{"a":"***","b":99999999999999999999}',
    );
  });

  it('at the maximum nesting depth, in time that does not double with each level', () => {
    const nest = (inner: unknown) => Array.from({ length: 190 }).reduce<unknown>((value) => ({ a: value }), inner);
    expect(through(['secret-1234'], nest('secret-1234'))).toEqual(nest('***'));
  });

  it('longest first, without leaving a visible part', () => {
    expect(through(['secret-1', 'secret-1-long'], ['secret-1-long secret-1'])).toEqual(['*** ***']);
  });

  // It is too long for a pattern, and the error about that quoted it.
  it.each([
    ['letters', 'aB3'.repeat(20_000)],
    ['escaped characters', 'aB"\\n€ '.repeat(8_000)],
  ])('of 64 KiB of %s', (_of, secret) => {
    const forms = [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      btoa(Buffer.from(secret).toString('latin1')),
    ];
    expect(through([secret], { texts: forms.map((form) => `a ${form}`) })).toEqual({
      texts: ['a ***', 'a ***', 'a ***', expect.stringMatching(/^a \*\*\*.{0,4}$/)],
    });
  });

  it('in a long line', () => {
    const text = `${'x'.repeat(100_000)}secret-1234`;
    expect(through(['secret-1234'], { text })).toEqual({ text: text.replace('secret-1234', '***') });
  });

  it('whatever its characters and position', () => {
    assertProperty(
      property(
        string({ minLength: 8, unit: constantFrom(...Array.from('aZ0_"\\/\n\u0000 é€😀+&=%.-~<')) }),
        string(),
        jsonValue({ maxDepth: 2 }),
        (secret, before, rest) => {
          const masked = JSON.stringify(through([secret], [before + secret, { rest, [secret]: [secret] }]));
          expect(masked).not.toContain(JSON.stringify(secret).slice(1, -1));
        },
      ),
    );
  });
});

describe('a message without secrets', () => {
  it('is the same object', () => {
    const message = { jsonrpc: '2.0', id: 1, result: {} };
    expect(createResultMask([]).maskMessage(message)).toBe(message);
  });

  it('keeps the envelope of the message', () => {
    const mask = createResultMask(['progress', '12345678']);
    const message = { jsonrpc: '2.0', id: 12_345_678, method: 'notifications/progress', params: { a: 'progress' } };
    expect(mask.maskMessage(message)).toEqual({ ...message, params: { a: '***' } });
  });

  it('is unchanged: numbers, order, odd keys', () => {
    const line =
      '{"jsonrpc":"2.0","id":1,"result":{"b":1.0,"a":[null,true,1e999],"__proto__":{"x":1},"s":"secret-1234"}}';
    expect(stringifyExact(through(['secret-1234'], undefined, line))).toBe(
      '{"b":1,"a":[null,true,1e999],"__proto__":{"x":1},"s":"***"}',
    );
  });
});
