/** Minimum quality of the search, on tools and queries that were made up for this test. Nothing was tuned to them. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createSearchIndex, type SearchServer } from '../../../src/core/catalog/search.ts';
import { measureQuality } from '../../support/search-quality.ts';

function readFixture<Value>(name: string): Value {
  return JSON.parse(readFileSync(new URL(`../../fixtures/search/${name}`, import.meta.url), 'utf8')) as Value;
}

const SERVERS = readFixture<SearchServer[]>('tools.json');
const QUERIES = readFixture<{ query: string; kind: string; tools: string[] }[]>('queries.json');

/** Recall at 1 and at 5, by kind of query. */
const FLOORS: Readonly<Record<string, readonly [number, number]>> = {
  keyword: [0.9, 1],
  form: [0.9, 1],
  typo: [0.9, 1],
  synonym: [0.8, 0.9],
  sentence: [0.8, 0.9],
  all: [0.85, 0.95],
};

test('ranks the right tool first, or at least among five', async () => {
  expect(SERVERS.flatMap((server) => server.tools).length).toBeGreaterThanOrEqual(60);
  expect(QUERIES.length).toBeGreaterThanOrEqual(60);
  const index = createSearchIndex();
  for (const server of SERVERS) {
    // biome-ignore lint/performance/noAwaitInLoops: the order is part of what is tested.
    await index.put(server, async () => undefined);
  }
  const queries = QUERIES.map(({ query, kind, tools }) => ({ query, kind, groups: [tools] }));
  const found = measureQuality(queries, (query, limit) =>
    index.search(query, limit).hits.map(({ server, name }) => `${server}/${name}`),
  );
  expect(found.map((line) => line.kind).toSorted()).toEqual(Object.keys(FLOORS).toSorted());
  for (const { kind, recallAt1, recallAt5 } of found) {
    const [floorAt1 = 1, floorAt5 = 1] = FLOORS[kind] ?? [];
    expect(recallAt1, `${kind}: recall at 1`).toBeGreaterThanOrEqual(floorAt1);
    expect(recallAt5, `${kind}: recall at 5`).toBeGreaterThanOrEqual(floorAt5);
  }
});
