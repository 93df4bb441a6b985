import { expect, test } from 'vitest';
import { didYouMean } from '../../../src/base/suggest.ts';

test.each([
  // Half of four letters agree by chance, in any order.
  ['nope', ['broken', 'notmcp', 'bad name!', 'move_file'], ''],
  ['opne', ['open', 'closed'], " Did you mean 'open'?"],
  ['gti', ['git', 'memory'], " Did you mean 'git'?"],
  ['tim', ['time', 'files'], " Did you mean 'time'?"],
  ['serch', ['search', 'list'], " Did you mean 'search'?"],
  ['filesistem', ['filesystem'], " Did you mean 'filesystem'?"],
])('%s among %j', async (name, known, expected) => {
  expect(await didYouMean(name, known)).toBe(expected);
});
