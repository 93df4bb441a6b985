import { beforeEach, describe, expect, test } from 'vitest';
import {
  createSearchIndex,
  type SearchIndex,
  type SearchServer,
  type SearchTool,
} from '../../../src/core/catalog/search.ts';

function tool(name: string, description = '', parameters: string[] = []): SearchTool {
  return { name, description, parameters };
}

function server(name: string, tools: SearchTool[], description = ''): SearchServer {
  return { name, description, tools };
}

const SERVERS = [
  server('github', [
    tool('create_issue', 'Create a new issue in a repository', ['title', 'body']),
    tool('list_issues', 'List issues of a repository'),
    tool('delete_issue', 'Delete an issue of a repository'),
    tool('create_pull_request', 'Open a pull request'),
  ]),
  server('files', [
    tool('read_text_file', 'Read the contents of a file', ['path']),
    tool('listDirectory', 'List the entries of a directory', ['path']),
  ]),
  server('slack', [tool('slack_post_message', 'Post a message to a channel', ['channel_id', 'text'])], 'Team chat'),
];

let index: SearchIndex;

async function indexOf(...servers: SearchServer[]): Promise<SearchIndex> {
  const made = createSearchIndex();
  for (const one of servers) {
    // biome-ignore lint/performance/noAwaitInLoops: the order is part of what is tested.
    await made.put(one, async () => undefined);
  }
  return made;
}

function found(query: string, limit = 20, searched = index): string[] {
  return searched.search(query, limit).hits.map((hit) => hit.name);
}

beforeEach(async () => {
  index = await indexOf(...SERVERS);
});

describe('the first result', () => {
  test.each([
    ['create an issue', 'create_issue'],
    ['issue, create', 'create_issue'],
    ['list directory', 'listDirectory'],
    ['READ file', 'read_text_file'],
    ['creating issues', 'create_issue'],
    ['message channel urgent', 'slack_post_message'],
    ['createIssue', 'create_issue'],
    ['list-issues', 'list_issues'],
    ['direc', 'listDirectory'],
  ])('%s: %s', (query, expected) => {
    expect(found(query)[0]).toBe(expected);
  });

  test.each([
    ['remove a ticket', 'delete_issue'],
    ['show the folder', 'listDirectory'],
    ['send a msg', 'slack_post_message'],
    ['chat', 'slack_post_message'],
  ])('synonyms, %s: %s', (query, expected) => {
    expect(found(query)[0]).toBe(expected);
  });

  test.each([
    ['creat isue', 'create_issue'],
    ['derectory', 'listDirectory'],
    ['list of a repositroy', 'list_issues'],
    ['textfile', 'read_text_file'],
  ])('mistyped, %s: %s', (query, expected) => {
    expect(found(query)[0]).toBe(expected);
  });

  test('is the tool whose whole name the query contains, not one with more of its words in the text', async () => {
    const plane = server('plane', [
      tool('get_worklog', 'List all work items and their work logs: items of work, listed by work item'),
      tool('list_work_items', 'Work of a project'),
      tool('list_work_item_links', 'Links of work items'),
    ]);
    expect(found('list work items', 3, await indexOf(plane))[0]).toBe('list_work_items');
  });

  test('is a list if the query asks for many, and a single item if it asks for one', async () => {
    const shop = await indexOf(server('shop', [tool('get_order', 'Get an order'), tool('list_orders', 'List orders')]));
    expect(found('Show me my orders', 2, shop)[0]).toBe('list_orders');
    expect(found('Show me the order', 2, shop)[0]).toBe('get_order');
    expect(found('Show me the details of the order', 2, shop)[0]).toBe('get_order');
  });

  test('matches what the query asks for, not where that is', async () => {
    const quarry = await indexOf(
      server('quarry', [tool('drop_database', 'Drop a database'), tool('drop_table', 'Drop a table')]),
    );
    expect(found('drop the old table staging in database prod on the database server', 2, quarry)[0]).toBe(
      'drop_table',
    );
  });

  test('treats a brand as one word in any spelling', async () => {
    const databases = await indexOf(
      server('a', [tool('sql_server_list', 'List the SQL servers'), tool('mysql_server_list', 'List the servers')]),
    );
    expect(found('my MySQL servers', 1, databases)).toEqual(['mysql_server_list']);
    expect(found('mysql servers', 1, databases)).toEqual(['mysql_server_list']);
  });

  test('belongs to the server that the query names', () => {
    expect(found('slack')).toEqual(['slack_post_message']);
  });
});

describe('a query that names several things', () => {
  // Six tools fit one part of the query and would take all the places.
  const TOOLS = [
    ...['archive', 'bucket', 'device', 'mailbox', 'project', 'volume'].map((place) =>
      tool(`get_${place}_revenue`, `Get the quarterly revenue of a sales region from the ledger of the ${place}`),
    ),
    tool('write_file', 'Write a file', ['path', 'content']),
    tool('list_directory', 'List the entries of a directory', ['path']),
  ];

  test.each([
    'get the quarterly revenue of the sales region from the ledger, write a file, list a directory',
    'Get the quarterly revenue of a sales region from the ledger and write a file, then list the directory.',
    'I want to get the quarterly revenue of the sales region from the ledger. Write a file; finally, list a directory',
  ])('finds a tool for each: %s', async (query) => {
    const names = found(query, 4, await indexOf(server('office', TOOLS)));
    expect(names[0]).toMatch(/_revenue$/);
    expect(names).toEqual(expect.arrayContaining(['write_file', 'list_directory']));
    expect(new Set(names).size).toBe(4);
  });

  test('has scores that never rise from hit to hit', async () => {
    const office = await indexOf(server('office', TOOLS));
    const scores = office
      .search('get the revenue of the ledger, write a file, list a directory', 6)
      .hits.map((hit) => hit.score);
    expect(scores).toEqual(scores.toSorted((left, right) => right - left));
  });

  test('names the words of a part that no tool matches, even if most of the query is matched', async () => {
    const office = await indexOf(server('office', TOOLS));
    const query = 'write the content of a file at a path, write quarks';
    expect(office.search(query, 5).unmatched).toEqual([{ word: 'quarks', nearest: [] }]);
  });
});

describe('the results', () => {
  test('are empty if nothing matches or the query is empty', async () => {
    expect(found('quantum')).toEqual([]);
    expect(found('')).toEqual([]);
    expect(found(';--')).toEqual([]);
    expect(found('issue', 5, await indexOf())).toEqual([]);
  });

  test('name the words that match nothing, with the most similar ones, if the best hit is weak', () => {
    expect(index.search('quantum repositry teleport', 5)).toMatchObject({ hits: [{}, {}, {}], unmatched: [{}, {}] });
    expect(index.search('entanglement', 5).unmatched).toEqual([{ word: 'entanglement', nearest: [] }]);
    expect(index.search('contxxts', 5).unmatched).toEqual([{ word: 'contxxts', nearest: ['content'] }]);
    expect(index.search('create issue', 5).unmatched).toEqual([]);
  });

  test('include common words if the query has no others', async () => {
    expect(found('what', 5, await indexOf(server('a', [tool('what')])))).toEqual(['what']);
  });

  test('respect the limit, and order equal scores by server and name', async () => {
    const twins = await indexOf(server('b', [tool('same')]), server('a', [tool('same'), tool('same_2')]));
    expect(found('repository', 1)).toHaveLength(1);
    expect(twins.search('same', 3).hits.map((hit) => `${hit.server}.${hit.name}`)).toEqual([
      'a.same',
      'b.same',
      'a.same_2',
    ]);
  });

  test('do not depend on the order in which servers were added', async () => {
    const backwards = await indexOf(...SERVERS.toReversed());
    for (const query of ['issue', 'list', 'creat a mesage', 'repository file']) {
      expect(backwards.search(query, 20)).toEqual(index.search(query, 20));
    }
  });

  test('come from all tools, even from more than are examined closely', async () => {
    const many = Array.from({ length: 500 }, (_, number) => tool(`list_things_${number}`, 'List things'));
    const large = await indexOf(server('many', many), server('one', [tool('list_things', 'List things')]));
    expect(found('list things', 1, large)).toEqual(['list_things']);
    expect(found('things', 20, large)).toHaveLength(20);
  });
});

describe('hostile input', () => {
  test('names like those of Object members, and unreadable ones', async () => {
    const odd = await indexOf(server('constructor', [tool('__proto__'), tool('constructor'), tool('💥'), tool('')]));
    expect(found('proto', 5, odd)).toEqual(['__proto__']);
    expect(found('toString hasOwnProperty valueOf', 5, odd)).toEqual([]);
    expect(found('__proto__ constructor', 1, odd)).toEqual(['__proto__']);
  });

  test.each([
    ['10 KB', 'create issue '.repeat(800)],
    ['10 KB without a space', 'x'.repeat(10_240)],
    ['regular expression', '(create|.*)+$ [issue'],
    ['lone surrogates', 'create \ud800 issue \udc00'],
    ['quotes and placeholders', `create "issue" <issue-id> 'in' {"repo": 1}`],
  ])('%s', (_, query) => {
    expect(() => index.search(query, 5)).not.toThrow();
    expect(query.includes('create') ? found(query)[0] : 'create_issue').toBe('create_issue');
  });

  test('reads only the start of a long description', async () => {
    const long = await indexOf(server('long', [tool('a', `${'word '.repeat(500_000)} zebra`)]));
    expect(found('zebra', 5, long)).toEqual([]);
  });

  test('other languages', async () => {
    const world = await indexOf(
      server('world', [
        tool('bing_search', '使用必应搜索指定的关键词'),
        tool('größe_ändern', 'Ändert die Größe eines Bildes'),
        tool('поиск', 'Поиск по файлам'),
      ]),
    );
    expect(found('größe', 1, world)).toEqual(['größe_ändern']);
    expect(found('ПОИСК', 1, world)).toEqual(['поиск']);
    expect(found('ＢＩＮＧ', 1, world)).toEqual(['bing_search']);
  });
});

describe('servers come and go', () => {
  test('a replaced or removed server leaves nothing behind', async () => {
    await index.put(server('files', [tool('write_file', 'Write a file')]), async () => undefined);
    expect(found('directory')).toEqual([]);
    expect(found('write')).toEqual(['write_file']);
    index.remove('files');
    index.remove('never added');
    const fresh = await indexOf(...SERVERS.filter(({ name }) => name !== 'files'));
    for (const query of ['file', 'write', 'create', 'list issues', 'slack']) {
      expect(index.search(query, 20)).toEqual(fresh.search(query, 20));
    }
  });

  test('while a server is read, searches use its old tools, and other work goes on', async () => {
    let resume = (): void => undefined;
    let pauses = 0;
    const put = index.put(server('files', [tool('write_file'), tool('move_file')]), () => {
      pauses += 1;
      return new Promise((resolve) => {
        resume = resolve;
      });
    });
    expect(found('directory')).toEqual(['listDirectory']);
    resume();
    await Promise.resolve();
    expect(found('directory')).toEqual(['listDirectory']);
    resume();
    await put;
    expect(pauses).toBe(1);
    expect(found('directory')).toEqual([]);
  });
});
