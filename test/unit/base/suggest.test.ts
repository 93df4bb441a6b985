import { expect, test } from 'vitest';
import { didYouMean } from '../../../src/core/base/suggest.ts';
import { WorkBudget } from '../../../src/core/base/work-budget.ts';

test.each([
  // Half of four letters agree by chance, in any order.
  ['nope', ['broken', 'notmcp', 'bad name!', 'move_file'], ''],
  ['nope', ['open_nodes', 'search_nodes', 'read_graph'], ''],
  ['isue', ['create_issue', 'open_nodes'], " Did you mean 'create_issue'?"],
  ['isue', ['createIssue'], " Did you mean 'createIssue'?"],
  ['file', ['memory', 'filesystem'], " Did you mean 'filesystem'?"],
  ['is', ['list', 'this'], ''],
  ['opne', ['open', 'closed'], " Did you mean 'open'?"],
  ['gti', ['git', 'memory'], " Did you mean 'git'?"],
  ['tim', ['time', 'files'], " Did you mean 'time'?"],
  ['serch', ['search', 'list'], " Did you mean 'search'?"],
  ['filesistem', ['filesystem'], " Did you mean 'filesystem'?"],
])('%s among %j', async (name, known, expected) => {
  expect(await didYouMean(name, known)).toBe(expected);
});

test('suggests nothing once the budget is used up', async () => {
  const budget = new WorkBudget(1, 0);
  const spin = (): void => {
    for (const end = performance.now() + 2; performance.now() < end; ) {
      // Busy.
    }
  };
  expect(await didYouMean('gti', ['git'], undefined, budget)).toBe(" Did you mean 'git'?");
  budget.spend(spin);
  expect(await didYouMean('gti', ['git'], undefined, budget)).toBe('');
});
