import { expect, test } from 'vitest';
import { createObservedResults } from '../../../src/core/calls/observed-results.ts';

const TOOL = { name: 'tool' };

function schemaAfter(...results: unknown[]) {
  const observed = createObservedResults();
  for (const result of results) {
    observed.note('key', TOOL, {}, result);
  }
  return observed.schema('key', TOOL);
}

const text = (content: string) => ({ content: [{ type: 'text', text: content }] });

test.each([
  [[text('plain words')], { type: 'string' }],
  [[text('42')], { type: 'string' }],
  [[text('{broken')], { type: 'string' }],
  [[text('{"a": 1}')], { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }],
  [[{ structuredContent: { result: [1] }, content: [] }], { type: 'array', items: { type: 'integer' } }],
  [[{ structuredContent: { content: 'x' }, ...text('x') }], { type: 'string' }],
  [[{ structuredContent: { a: true } }], { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] }],
])('%j is %j', (results, schema) => {
  expect(schemaAfter(...results)).toEqual(schema);
});

test.each([
  [{ ...text('no'), isError: true }],
  [{ content: [{ type: 'image' }] }],
  [null],
  [text(`[${' '.repeat(70_000)}]`)],
])('nothing is kept of other results', (result) => {
  expect(schemaAfter(result)).toBeUndefined();
});

test('keys with hidden characters are not shown', () => {
  expect(schemaAfter(text('{"a\u200b": 1}'))).toEqual({ type: 'object' });
});

test('the least recently used tools are forgotten; another definition means other tools', () => {
  const observed = createObservedResults();
  for (let index = 0; index <= 1_000; index += 1) {
    observed.note('key', { name: `tool${index}` }, {}, text('x'));
  }
  expect(observed.schema('key', { name: 'tool0' })).toBeUndefined();
  expect(observed.schema('key', { name: 'tool1000' })).toBeDefined();
  expect(observed.schema('other', { name: 'tool1000' })).toBeUndefined();
});

test('results that the server describes are not read', () => {
  const observed = createObservedResults();
  observed.note('key', { ...TOOL, outputSchema: {} }, {}, text('x'));
  expect(observed.schema('key', TOOL)).toBeUndefined();
});

test('says what texts look like, as long as all are alike', () => {
  const listing = text('[FILE] a.txt\n[DIR] src');
  expect(schemaAfter(listing)).toEqual({
    type: 'string',
    description: 'lines `[DIR] …`, `[FILE] …`, for .lines()',
  });
  expect(schemaAfter(listing, text('No entries'))).toEqual({ type: 'string' });
  expect(schemaAfter(text('# R\n```json\n[1]\n```\n'))?.['description']).toMatch(/^markdown with a JSON block/);
});

test('columns of rows are not part of the type, because they depend on the query', () => {
  const observed = createObservedResults();
  observed.note('key', TOOL, { sql: ' SELECT id FROM a' }, text('{"rows": [{"id": 1}], "count": 1}'));
  expect(observed.schema('key', TOOL)).toEqual({
    type: 'object',
    properties: { rows: { type: 'array', items: { type: 'object' } }, count: { type: 'integer' } },
    required: ['rows', 'count'],
  });
});
