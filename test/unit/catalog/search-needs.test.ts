import { expect, test } from 'vitest';
import { needsOf } from '../../../src/core/catalog/search-needs.ts';

test.each([
  ['read a file, write a file, and list a directory', ['read a file', 'write a file', 'list a directory']],
  ['Please read the sheet and then create a chart.', ['Please read the sheet', 'create a chart']],
  ['Fetch the news. I am in a hurry. Send a message!', ['Fetch the news', 'Send a message']],
  ['create, update and delete issues', ['create, update, delete issues']],
  ['list issues, pull requests and commits', ['list issues, pull requests, commits']],
  ['issue, create', []],
  ['', []],
])('%j', (query, needs) => {
  expect(needsOf(query)).toEqual(needs);
});

test('returns at most four needs, and reads only the start of a long query', () => {
  expect(needsOf('list files. '.repeat(100))).toHaveLength(4);
  expect(needsOf(`${'word '.repeat(1_000)}. list files`)).toEqual([]);
});
