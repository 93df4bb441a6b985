import { expect, test } from 'vitest';
import { impliedNeedsOf } from '../../../src/catalog/search-implied.ts';

test.each([
  ['Summarize the thread and save it in /notes/thread.md', ['write file']],
  ["create './out/config.json' with these values", ['write file']],
  ['What is in report.pdf?', ['read pdf']],
  ['the average of the second column of /data/prices.csv', ['read document']],
  ['the weather in Paris tomorrow', ['get current time']],
  ['which trains leave next Friday', ['get current time']],
  ['key points of https://www.youtube.com/watch?v=1', ['get youtube transcript']],
  ['What does https://example.com/a say?', ['fetch html']],
  ['a quiet restaurant near the station', ['geocode address', 'find nearby places']],
  ['how to get to the museum', ['get route directions']],
  ['read the file config.json', []],
  ['create_issue', []],
  ['', []],
])('%j', (query, needs) => {
  expect(impliedNeedsOf(query)).toEqual(needs);
});

test('reads only the start of a long query', () => {
  expect(impliedNeedsOf(`${'word '.repeat(1_000)} tomorrow`)).toEqual([]);
});
