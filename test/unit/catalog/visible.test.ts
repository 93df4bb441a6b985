import { describe, expect, test } from 'vitest';
import { makeVisible, visibleText } from '../../../src/catalog/visible.ts';

describe('makeVisible', () => {
  test.each([
    ['zero width', 'a\u200bb\u2060c\ufeff', 'a<U+200B>b<U+2060>c<U+FEFF>'],
    ['bidi controls', 'user\u202etxt.exe\u2066\u2069\u061c', 'user<U+202E>txt.exe<U+2066><U+2069><U+061C>'],
    ['tags', 'ok\u{e0041}\u{e007f}', 'ok<U+E0041><U+E007F>'],
    ['ANSI escapes and other controls', '\u001b[31mred\u0000\u0007\u009b', '<U+001B>[31mred<U+0000><U+0007><U+009B>'],
    ['line ends that are none', 'a\u2028b\u2029c\u0085d\re', 'a<U+2028>b<U+2029>c<U+0085>d<U+000D>e'],
    ['variation selectors behind no picture', 'a\ufe0fb\u{e0101}', 'a<U+FE0F>b<U+E0101>'],
    ['fillers and blanks', 'a\u3164b\u2800c\u00add', 'a<U+3164>b<U+2800>c<U+00AD>d'],
    ['half a character', 'a\ud800b', 'a<U+D800>b'],
    ['joiners between letters', 'pay\u200dpal\u200c', 'pay<U+200D>pal<U+200C>'],
  ])('%s', (_, text, expected) => {
    expect(makeVisible(text)).toBe(expected);
    expect(makeVisible(expected)).toBe(expected);
  });

  test.each(['tab\tand\nline', 'naïve 漢字 العربية हिन्दी', '👩🏽‍🚀 ❤️ 1️⃣ 👨‍👩‍👧‍👦 ©', ''])(
    '%j stays as it is',
    (text) => {
      expect(makeVisible(text)).toBe(text);
    },
  );

  test('line ends of Windows become those of everybody', () => {
    expect(makeVisible('a\r\nb')).toBe('a\nb');
  });

  test('a long run is counted, so that hidden text cannot become a flood', () => {
    const hidden = `a${'\u{e0041}'.repeat(10_000)}b`;
    expect(makeVisible(hidden)).toBe(`a${'<U+E0041>'.repeat(16)}<and 9984 more hidden characters>b`);
  });
});

describe('visibleText', () => {
  test('never cuts a character in half, and says how long the text was', () => {
    expect(visibleText(`${'a'.repeat(9)}\u{1F600}bc`, 10)).toBe('aaaaaaaaa… (13 characters in all)');
  });

  test('a text at the limit is whole', () => {
    expect(visibleText('a'.repeat(10), 10)).toBe('a'.repeat(10));
    expect(visibleText('a'.repeat(11), 10)).toContain('… (11 characters');
  });
});
