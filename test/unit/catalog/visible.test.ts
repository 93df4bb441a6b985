import { describe, expect, test } from 'vitest';
import { firstSentence, makeVisible, visibleText } from '../../../src/core/catalog/visible.ts';

describe('makeVisible', () => {
  test.each([
    ['zero width', 'a\u200bb\u2060c\ufeff', 'a<U+200B>b<U+2060>c<U+FEFF>'],
    ['bidi controls', 'user\u202etxt.exe\u2066\u2069\u061c', 'user<U+202E>txt.exe<U+2066><U+2069><U+061C>'],
    ['tags', 'ok\u{e0041}\u{e007f}', 'ok<U+E0041><U+E007F>'],
    ['ANSI escapes and other controls', '\u001b[31mred\u0000\u0007\u009b', '<U+001B>[31mred<U+0000><U+0007><U+009B>'],
    ['unusual line separators', 'a\u2028b\u2029c\u0085d\re', 'a<U+2028>b<U+2029>c<U+0085>d<U+000D>e'],
    ['variation selectors that follow no emoji', 'a\ufe0fb\u{e0101}', 'a<U+FE0F>b<U+E0101>'],
    ['fillers and blanks', 'a\u3164b\u2800c\u00add', 'a<U+3164>b<U+2800>c<U+00AD>d'],
    ['a lone surrogate', 'a\ud800b', 'a<U+D800>b'],
    ['joiners between letters', 'pay\u200dpal\u200c', 'pay<U+200D>pal<U+200C>'],
  ])('%s', (_, text, expected) => {
    expect(makeVisible(text)).toBe(expected);
    expect(makeVisible(expected)).toBe(expected);
  });

  test.each(['tab\tand\nline', 'naïve 漢字 العربية हिन्दी', '👩🏽‍🚀 ❤️ 1️⃣ 👨‍👩‍👧‍👦 ©', ''])(
    'leaves %j unchanged',
    (text) => {
      expect(makeVisible(text)).toBe(text);
    },
  );

  test('converts line ends of Windows to `\\n`', () => {
    expect(makeVisible('a\r\nb')).toBe('a\nb');
  });

  test('counts a long run instead of spelling it out', () => {
    const hidden = `a${'\u{e0041}'.repeat(10_000)}b`;
    expect(makeVisible(hidden)).toBe(`a${'<U+E0041>'.repeat(16)}<and 9984 more hidden characters>b`);
  });
});

describe('visibleText', () => {
  test('never splits a surrogate pair, and gives the original length', () => {
    expect(visibleText(`${'a'.repeat(9)}\u{1F600}bc`, 10)).toBe('aaaaaaaaa… (13 characters in all)');
  });

  test('does not cut a text at the limit', () => {
    expect(visibleText('a'.repeat(10), 10)).toBe('a'.repeat(10));
    expect(visibleText('a'.repeat(11), 10)).toContain('… (11 characters');
  });
});

describe('firstSentence', () => {
  test.each([
    ['Does it. And more.', 'Does it.'],
    ['  Version 1.2 of\n the thing! Yes', 'Version 1.2 of the thing!'],
    ['no end', 'no end'],
    ['', ''],
    ['x'.repeat(500), `${'x'.repeat(119)}…`],
  ])('of %j', (text, sentence) => {
    expect(firstSentence(text)).toBe(sentence);
  });
});
