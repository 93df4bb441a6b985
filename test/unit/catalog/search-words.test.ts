import { describe, expect, test } from 'vitest';
import { isPlural, Reader, searchWordsOf, stemOf } from '../../../src/core/catalog/search-words.ts';

describe('splitWords', () => {
  test.each([
    ['createIssue', ['create', 'issue']],
    ['create-issues', ['create', 'issues']],
    ['HTTPServerList2', ['http', 'server', 'list2']],
    ['getUserIDs of k8s', ['get', 'user', 'ids', 'of', 'k8s']],
    ["the team's wiki", ['the', 'team', 'wiki']],
    ['Größe ändern', ['größe', 'ändern']],
    ['ｆｕｌｌ ｗｉｄｔｈ', ['full', 'width']],
    ['検索 する', ['検索', 'する']],
    ['__proto__', ['proto']],
    ['', []],
  ])('%j', (text, words) => {
    expect(searchWordsOf(text)).toEqual(words);
  });
});

describe('stemOf', () => {
  test.each([
    ['create', 'created', 'creates', 'creating'],
    ['list', 'lists', 'listed', 'listing'],
    ['query', 'queries'],
    ['run', 'runs', 'running', 'ran'],
    ['box', 'boxes'],
    ['search', 'searches', 'searching'],
    ['person', 'people', 'persons'],
    ['issue', 'issues'],
  ])('gives all forms of %s the same stem', (...forms) => {
    expect(new Set(forms.map(stemOf)).size).toBe(1);
  });

  test.each([
    ['status', 'state'],
    ['news', 'new'],
    ['string', 'str'],
    ['dns', 'dn'],
  ])('gives %s another stem than %s', (left, right) => {
    expect(stemOf(left)).not.toBe(stemOf(right));
  });
});

test('indexes a brand as a whole and in parts', () => {
  const [run] = new Reader().read('GitHub');
  expect(run?.stems).toEqual(['git', 'hub']);
  expect(run?.indexed.map(({ text }) => text)).toEqual(['git', 'hub', 'github']);
});

test('recognizes plurals', () => {
  expect(['issues', 'queries', 'files'].every(isPlural)).toBe(true);
  expect(['status', 'class', 'news', 'as', 'file'].some(isPlural)).toBe(false);
});
