// Tags: full, bubblewrap
/** Results whose shape, which is kept for documents, is larger than they are. No engine is needed. */
import { expect, it } from 'vitest';
import { createObservedResults } from '../../src/core/calls/observed-results.ts';
import { garbageFreeBytes, processorTimeOf } from '../support/costs.ts';

const MIB = 1024 * 1024;

// Four levels of 37 keys, 13 MB: 1.9 million shapes were kept for each of 1,000 tools, 1 GB each, after 5 s.
it('a result with many keys on each level leaves a small shape', async () => {
  const keys = Array.from({ length: 30 }, (_, number) => `key${number}`);
  const nested = (levels: number): unknown =>
    levels === 0 ? 1 : Object.fromEntries(keys.map((key) => [key, nested(levels - 1)]));
  const result = { content: [], structuredContent: nested(4) as object };
  const observed = createObservedResults();
  const before = garbageFreeBytes();
  const timeMs = await processorTimeOf(() => observed.note('definition', { name: 'act' }, {}, result));
  expect(garbageFreeBytes() - before).toBeLessThan(4 * MIB);
  expect(timeMs).toBeLessThan(500);
  expect(JSON.stringify(observed.schema('definition', { name: 'act' })).length).toBeLessThan(256 * 1024);
});

it('a long key of a result is not kept', () => {
  const observed = createObservedResults();
  const structuredContent = { id: 1, inner: { ['k'.repeat(4 * MIB)]: 1 } };
  observed.note('definition', { name: 'act' }, {}, { content: [], structuredContent });
  expect(JSON.stringify(observed.schema('definition', { name: 'act' })).length).toBeLessThan(1_000);
});
