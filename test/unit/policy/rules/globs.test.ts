import { expect, it } from 'vitest';
import { matchesGlob } from '../../../../src/features/policy/rules/globs.ts';

it.each([
  ['read', 'read', true],
  ['read', 'reads', false],
  ['read_*', 'read_', true],
  ['*', '', true],
  ['*', 'anything/with.dots', true],
  ['a*c', 'abcbc', true],
  ['a*c', 'abcb', false],
  ['?', 'x', true],
  ['?', '', false],
  ['*.env', '.env', true],
  ['**', 'x', true],
  ['*a*b*', 'xxaxxbxx', true],
  ['*a*b*', 'xxbxxaxx', false],
  ['(.*)+$', 'aaaa', false],
  ['[ab]', 'a', false],
])('%s and %s: %s', (pattern, text, isMatch) => {
  expect(matchesGlob(pattern, text)).toBe(isMatch);
});

it('finishes on a text that would take a backtracking matcher forever', () => {
  expect(matchesGlob(`${'a*'.repeat(127)}b`, 'a'.repeat(8_192))).toBe(false);
});
