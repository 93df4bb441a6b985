import { describe, expect, it } from 'vitest';
import { parseExact } from '../../../../../src/core/protocol/exact-json.ts';
import type { GraphqlOperation } from '../../../../../src/edges/upstream/api/compiled-api.ts';
import { resultOfGraphql } from '../../../../../src/edges/upstream/api/graphql/result.ts';
import { NEXT_PAGE_META } from '../../../../../src/edges/upstream/api/next-page-meta.ts';

const operation: GraphqlOperation = { kind: 'graphql', document: '', field: 'value', variables: [] };
const paged: GraphqlOperation = {
  ...operation,
  variables: ['after', 'text'],
  selection: { argument: 'fields', start: 0, end: 0 },
  nextPage: { argument: 'after', cursor: ['pageInfo', 'endCursor'], hasNext: ['pageInfo', 'hasNextPage'] },
};

describe('a value', () => {
  // In Python, `{"result": x}` without text is x, and any other object is itself.
  it.each([
    [{ a: 1 }, { a: 1 }],
    [{ content: 'x' }, { content: 'x' }],
    [
      { result: 1, other: 2 },
      { result: 1, other: 2 },
    ],
    [{ result: 1 }, { result: { result: 1 } }],
    [[1, 2], { result: [1, 2] }],
    ['text', { result: 'text' }],
    [null, { result: null }],
    [undefined, { result: null }],
    [0, { result: 0 }],
  ])('%o comes out as itself', (value, structuredContent) => {
    expect(resultOfGraphql({ data: { value } }, operation, {})).toEqual({ content: [], structuredContent });
  });

  it('may be a number that JavaScript cannot hold', () => {
    const answer = parseExact('{"data": {"value": 12345678901234567890}}') as { data: { value: unknown } };
    expect(resultOfGraphql(answer, operation, {})['structuredContent']).toEqual({ result: answer.data.value });
  });

  it('of a whole document is all its data', () => {
    const result = resultOfGraphql({ data: { a: 1 } }, { kind: 'graphql-document', allows: 'query' }, {});
    expect(result).toEqual({ content: [], structuredContent: { a: 1 } });
  });
});

describe('errors', () => {
  it('are said with their path and code, and what was answered is kept', () => {
    const answer = {
      data: { value: { a: null } },
      errors: [
        { message: 'not allowed', path: ['value', 0, 'a'], extensions: { code: 'FORBIDDEN' } },
        'odd',
        { other: 1 },
      ],
    };
    expect(resultOfGraphql(answer, operation, {})).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'not allowed (path: value.0.a, code: FORBIDDEN)\nodd\n{"other":1}' }],
      structuredContent: answer,
    });
  });

  it('about a part of what was selected by default name the argument that selects', () => {
    const answer = { data: { value: null }, errors: [{ message: 'no' }] };
    expect(resultOfGraphql(answer, paged, {})['content']).toEqual([
      { type: 'text', text: 'no\nOnly a part was answered. Give "fields" to select only what you need.' },
    ]);
    expect(resultOfGraphql({ data: null, errors: [{ message: 'no' }] }, paged, {})['content']).toEqual([
      { type: 'text', text: 'no' },
    ]);
  });

  it('are shortened', () => {
    const errors = Array.from({ length: 30 }, () => ({ message: 'x'.repeat(50) }));
    const [block] = resultOfGraphql({ errors }, operation, {})['content'] as { text: string }[];
    expect(block?.text).toMatch(/and 10 more$/);
    const [long] = resultOfGraphql({ errors: [{ message: 'x'.repeat(5_000) }] }, operation, {})['content'] as {
      text: string;
    }[];
    expect(long?.text).toHaveLength(2_000);
  });

  it.each([[{}], ['text'], [null], [[1]], [{ data: null }], [{ errors: [] }]])(
    'are said of the answer %o',
    (answer) => {
      expect(resultOfGraphql(answer, operation, {})).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: 'the answer has neither data nor errors' }],
      });
    },
  );
});

describe('the next page', () => {
  const next = (pageInfo: unknown, args = {}) =>
    (resultOfGraphql({ data: { value: { pageInfo } } }, paged, args)['_meta'] as Record<string, unknown> | undefined)?.[
      NEXT_PAGE_META
    ];

  it('is asked for with the same arguments and its cursor', () => {
    expect(
      next({ hasNextPage: true, endCursor: 'b' }, { text: 'x', after: 'a', fields: 'pageInfo { endCursor }' }),
    ).toEqual({
      arguments: { text: 'x', after: 'b', fields: 'pageInfo { endCursor }' },
    });
  });

  it.each([
    [{ hasNextPage: false, endCursor: 'b' }],
    [{ endCursor: 'b' }],
    [{ hasNextPage: true, endCursor: 'a' }],
    [{ hasNextPage: true, endCursor: '' }],
    [{ hasNextPage: true, endCursor: null }],
    [{ hasNextPage: true }],
    [null],
    [[{ hasNextPage: true, endCursor: 'b' }]],
  ])('is not asked for after %o', (pageInfo) => {
    expect(next(pageInfo, { after: 'a' })).toBeUndefined();
  });

  it('may follow only from a cursor', () => {
    const tokens = { ...operation, nextPage: { argument: 'nextToken', cursor: ['nextToken'] } };
    const result = resultOfGraphql({ data: { value: { nextToken: 'b' } } }, tokens, {});
    expect(result['_meta']).toEqual({ [NEXT_PAGE_META]: { arguments: { nextToken: 'b' } } });
  });
});
