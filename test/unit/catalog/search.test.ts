import { describe, expect, test } from 'vitest';
import { createSearchIndex, type SearchEntry, wordsOf } from '../../../src/catalog/search.ts';

function entry(server: string, tool: string, description = '', parameters: string[] = []): SearchEntry {
  return { server, serverDescription: '', tool, description, parameters };
}

const ENTRIES = [
  entry('github', 'create_issue', 'Create a new issue in a repository', ['title', 'body']),
  entry('github', 'list_issues', 'List issues of a repository'),
  entry('github', 'create_pull_request', 'Open a pull request'),
  entry('files', 'read_text_file', 'Read the contents of a file', ['path']),
  entry('files', 'listDirectory', 'List the entries of a directory', ['path']),
  entry('slack', 'slack_post_message', 'Post a message to a channel', ['channel_id', 'text']),
];

function found(query: string, limit = 20): string[] {
  return createSearchIndex(ENTRIES)
    .search(query, limit)
    .map((hit) => hit.entry.tool);
}

describe('wordsOf', () => {
  test.each([
    ['createIssue', ['creat', 'issu']],
    ['create-issues', ['creat', 'issu']],
    ['HTTPServerList2', ['http', 'server', 'list2']],
    ['Listing directories, queries!', ['list', 'directory', 'query']],
    ['', []],
  ])('%j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });
});

describe('search', () => {
  test('a tool named by the query comes first', () => {
    expect(found('create an issue')[0]).toBe('create_issue');
    expect(found('list directory')[0]).toBe('listDirectory');
    expect(found('READ file')[0]).toBe('read_text_file');
  });

  test('a tool whose whole name was asked for comes before one with more of the words in its text', () => {
    const index = createSearchIndex([
      entry('plane', 'get_worklog', 'List all work items and their work logs: items of work, listed by work item'),
      entry('plane', 'list_work_items', 'Work of a project'),
      entry('plane', 'list_work_item_links', 'Links of work items'),
    ]);
    expect(index.search('list work items', 3).map((hit) => hit.entry.tool)[0]).toBe('list_work_items');
  });

  test('the words need not all match, and their order does not matter', () => {
    expect(found('message channel urgent')[0]).toBe('slack_post_message');
  });

  test('other forms and beginnings of words match', () => {
    expect(found('creating issues')[0]).toBe('create_issue');
    expect(found('direc')[0]).toBe('listDirectory');
  });

  test('the name of the server counts', () => {
    expect(found('slack')).toEqual(['slack_post_message']);
  });

  test('nothing fits, or nothing is asked: nothing is found', () => {
    expect(found('quantum')).toEqual([]);
    expect(found('')).toEqual([]);
    expect(found(';--')).toEqual([]);
    expect(createSearchIndex([]).search('issue', 5)).toEqual([]);
  });

  test('a query of common words alone still searches for them', () => {
    expect(createSearchIndex([entry('a', 'get')]).search('get', 5)).toHaveLength(1);
  });

  test('the limit holds and equal scores are ordered by name', () => {
    const twins = [entry('b', 'same'), entry('a', 'same'), entry('a', 'also_same')];
    const index = createSearchIndex(twins);
    expect(found('repository', 1)).toHaveLength(1);
    expect(index.search('same', 3).map((hit) => `${hit.entry.server}.${hit.entry.tool}`)).toEqual([
      'a.same',
      'b.same',
      'a.also_same',
    ]);
  });

  test('words that are names of Object members are words', () => {
    const index = createSearchIndex([entry('a', '__proto__'), entry('a', 'constructor')]);
    expect(index.search('constructor', 5)).toHaveLength(1);
    expect(index.search('proto', 5)).toHaveLength(1);
  });
});
