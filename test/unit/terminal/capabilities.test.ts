import { expect, test } from 'vitest';
import { wantsColors } from '../../../src/edges/terminal/capabilities.ts';

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
  [false, { FORCE_COLOR: '1' }, true],
  [false, { FORCE_COLOR: '', NO_COLOR: '1' }, true],
  [true, { FORCE_COLOR: '0' }, false],
])('terminal %j, environment %j: %j', (isTerminal, env, expected) => {
  expect(wantsColors(isTerminal, env)).toBe(expected);
});
