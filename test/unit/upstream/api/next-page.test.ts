import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/core/base/is-object.ts';
import { parseExact } from '../../../../src/core/protocol/exact-json.ts';
import type { ApiBody, HttpOperation } from '../../../../src/edges/upstream/api/compiled-api.ts';
import { nextPage, type Page } from '../../../../src/edges/upstream/api/next-page.ts';

const ADDRESS = 'https://api.example/v1/things';

function operationWith(names: readonly string[], body?: ApiBody): HttpOperation {
  const parameters = names.map((name) => ({
    argument: name,
    name,
    in: 'query' as const,
    style: 'form' as const,
    explode: true,
    allowReserved: false,
  }));
  return { kind: 'http', method: 'GET', path: '/things', parameters, accept: [], body };
}

/** The arguments of the next call of an operation with these parameters. */
function next(names: string, args: JsonObject, value: unknown, more: Partial<Page> = {}): JsonObject | undefined {
  const operation = operationWith(names.split(' '));
  const found = nextPage({ operation, args, value, headers: {}, url: new URL(ADDRESS), ...more });
  return found !== undefined && 'arguments' in found ? found.arguments : undefined;
}

/** The operation with what the schemas of its parameters say. */
function withFacts(names: string, facts: Readonly<Record<string, JsonObject>>): Partial<Page> {
  const operation = operationWith(names.split(' '));
  const parameters = operation.parameters.map((one) => ({ ...one, facts: facts[one.name] }));
  return { operation: { ...operation, parameters } };
}

const link = (text: string): Partial<Page> => ({ headers: { link: text } });
const items = (count: number) => Array.from({ length: count }, (_, id) => ({ id: `id${id}` }));

describe('the header Link', () => {
  it.each([
    ['<https://api.example/v1/things?page=2>; rel="next"', 2],
    ['<https://api.example/v1/things?page=1>; rel="prev", <https://api.example/v1/things?page=3>; rel="next last"', 3],
    ['</v1/things?a=,;&page=2>; title="a, <b>; rel=last"; REL=next', 2],
    ['<?page=2>;rel=next', 2],
    // Behind a proxy, a server does not know that it is asked over TLS.
    ['<http://api.example/v1/things?page=2>; rel=next', 2],
    // GitHub writes ids in place of names.
    ['<https://api.example/repositories/1/things?page=2>; rel="next"', 2],
    ['<https://evil.example/v1/things?page=2>; rel="next"', undefined],
    ['<https://api.example/v1/others?page=2>; rel="next"', undefined],
    ['<https://api.example/v1/things?other=2>; rel="next"', undefined],
    ['<https://api.example/v1/things?page=2>; rel="prev"', undefined],
    ['<http://[>; rel=next', undefined],
    ['<https://api.example/v1/things?page=1>; rel="next"', undefined],
    ['nonsense', undefined],
  ])('%s', (header, page) => {
    const expected = page === undefined ? undefined : { page, q: 'x' };
    expect(next('page q', { page: 1, q: 'x' }, [], link(header))).toEqual(expected);
  });

  it('takes only arguments, in the type that they have', () => {
    const header = '<?since=46&token=secret&q=b&cursor=007>; rel=next';
    const facts = { since: { type: 'integer' } };
    expect(next('since q cursor', { q: 'a' }, [], { ...link(header), ...withFacts('since q cursor', facts) })).toEqual({
      since: 46,
      q: 'b',
      cursor: '007',
    });
    expect(next('since', {}, [], link(header))).toEqual({ since: '46' });
    expect(next('since', { since: 1 }, [], link(header))).toEqual({ since: 46 });
  });

  it('that has no next ends the list, whatever else could be inferred', () => {
    expect(next('page per_page', { per_page: 2 }, items(2), link('<?page=1>; rel="first"'))).toBeUndefined();
    expect(next('page per_page', { per_page: 2 }, items(2))).toEqual({ per_page: 2, page: 2 });
  });
});

describe('an address in the body', () => {
  it.each([
    [{ next: `${ADDRESS}?page=2` }],
    [{ next_url: '/v1/things?page=2' }],
    [{ nextLink: `${ADDRESS}?page=2` }],
    [{ '@odata.nextLink': `${ADDRESS}?page=2` }],
    [{ links: { next: `${ADDRESS}?page=2` } }],
    [{ links: { next: { href: '?page=2' } } }],
    [{ _links: { next: { href: '/v1/things?page=2' } } }],
    [{ paging: { next: `${ADDRESS}?page=2` } }],
    [{ pagination: { next: { url: `${ADDRESS}?page=2` } } }],
    [{ meta: { pagination: { links: { next: `${ADDRESS}?page=2` } } } }],
  ])('%j', (body) => {
    expect(next('page', {}, { ...body, data: items(1) })).toEqual({ page: 2 });
  });

  it.each([
    [{ next: 'https://evil.example/v1/things?page=2' }],
    [{ next: '//evil.example/v1/things?page=2' }],
    [{ next: null }],
    [{ next: {} }],
  ])('but not %j', (body) => {
    expect(next('page', {}, body)).toBeUndefined();
  });
});

describe('a cursor', () => {
  it.each<[string, unknown, JsonObject | undefined]>([
    ['cursor', { next_cursor: 'b' }, { cursor: 'b' }],
    ['cursor', { nextCursor: 'b' }, { cursor: 'b' }],
    ['cursor', { response_metadata: { next_cursor: 'b' } }, { cursor: 'b' }],
    ['cursor', { meta: { next_cursor: 'b' } }, { cursor: 'b' }],
    ['cursor', { pagination: { next_cursor: 'b' } }, { cursor: 'b' }],
    ['page_token', { next_page_token: 'b' }, { page_token: 'b' }],
    ['pageToken', { nextPageToken: 'b' }, { pageToken: 'b' }],
    ['after', { paging: { cursors: { before: 'a', after: 'b' }, next: `${ADDRESS}x` } }, { after: 'b' }],
    ['after', { paging: { next: { after: 'b', link: '?x=1' } } }, { after: 'b' }],
    ['continue', { metadata: { continue: 'b', resourceVersion: '1' } }, { continue: 'b' }],
    ['NextToken', { NextToken: 'b' }, { NextToken: 'b' }],
    ['ExclusiveStartKey', { LastEvaluatedKey: { id: { S: 'b' } } }, { ExclusiveStartKey: { id: { S: 'b' } } }],
    ['continuation_token', { continuation_token: 'b' }, { continuation_token: 'b' }],
    ['offset', { next_page: { offset: 'b', path: '/x', uri: `${ADDRESS}x` } }, { offset: 'b' }],
    ['offset', { records: items(1), offset: 'itr/b' }, { offset: 'itr/b' }],
    ['page', { next_page: 3 }, { page: 3 }],
    ['page', { next_page: '3' }, { page: 3 }],
    ['offset', { next_offset: 20 }, { offset: 20 }],
    ['cursor', { next: 'b' }, { cursor: 'b' }],
    ['cursor', { cursor: 'b' }, { cursor: 'b' }],
    ['after', { page_info: { has_next_page: true, end_cursor: 'b' } }, { after: 'b' }],
    ['after', { page_info: { has_next_page: false, end_cursor: 'b' } }, undefined],
    ['cursor', { next_cursor: '' }, undefined],
    ['cursor', { next_cursor: null }, undefined],
    ['cursor', { next_cursor: 'b', has_more: false }, undefined],
    ['q', { next_cursor: 'b' }, undefined],
    ['cursor', { data: { next_cursor: 'b' } }, undefined],
    ['cursor', { next_cursor: ['b'] }, undefined],
    ['cursor', { next_cursor: true }, undefined],
  ])('for %s in %j', (name, value, expected) => {
    expect(next(name, {}, value)).toEqual(expected);
  });

  it('that does not move ends the list', () => {
    expect(next('cursor', { cursor: 'b' }, { next_cursor: 'b' })).toBeUndefined();
    expect(next('cursor q', { q: 1, cursor: 'a' }, { next_cursor: 'b' })).toEqual({ q: 1, cursor: 'b' });
  });

  it('may be a member of the body', () => {
    const operation = operationWith([], {
      mediaType: 'application/json',
      isRequired: false,
      members: { start_cursor: 'start_cursor', page_size: 'page_size' },
    });
    expect(next('', { page_size: 5 }, { next_cursor: 'b', has_more: true }, { operation })).toEqual({
      page_size: 5,
      start_cursor: 'b',
    });
  });
});

describe('the id of the last item', () => {
  it.each<[string, unknown, JsonObject | undefined]>([
    ['starting_after', { data: items(2), has_more: true }, { starting_after: 'id1' }],
    ['starting_after', { data: items(2), has_more: false }, undefined],
    ['starting_after', { data: items(2) }, undefined],
    ['starting_after', { data: [], has_more: true }, undefined],
    ['after', { data: items(2), has_more: true, last_id: 'x' }, { after: 'x' }],
    ['after_id', { data: items(2), has_more: true, first_id: 'y', last_id: 'x' }, { after_id: 'x' }],
    ['ending_before', { data: items(2), has_more: true }, undefined],
  ])('for %s in %j', (name, value, expected) => {
    expect(next(name, {}, value)).toEqual(expected);
  });
});

describe('page numbers', () => {
  it.each<[string, JsonObject, unknown, JsonObject | undefined]>([
    ['page', { page: 1 }, { data: items(1), total_pages: 2 }, { page: 2 }],
    ['page', { page: 2 }, { data: items(1), total_pages: 2 }, undefined],
    ['page', {}, { data: items(1), total_pages: 2 }, { page: 2 }],
    ['page', {}, { data: items(1), meta: { current_page: 4, last_page: 5 } }, { page: 5 }],
    ['page', {}, { data: items(1), page: { number: 0, totalPages: 2 } }, { page: 1 }],
    ['pageNumber', { pageNumber: '1' }, { data: items(1), pages: 2 }, { pageNumber: 2 }],
    ['page', { page: 1 }, { data: items(1), has_more: true }, { page: 2 }],
    ['page', { page: 1 }, { content: items(1), last: true, totalPages: 3 }, undefined],
    ['page', { page: 1 }, { data: items(1) }, undefined],
    ['page', { page: 1 }, items(2), { page: 2 }],
    ['page per_page', { page: 1, per_page: 2 }, items(2), { page: 2, per_page: 2 }],
    ['page limit', { page: 1, limit: 2 }, items(1), undefined],
    ['page limit', { page: 1, limit: 2 }, [], undefined],
    ['page', { page: 1 }, { data: [], total_pages: 2 }, undefined],
    ['page', { page: 5 }, { data: items(1), page: 2, has_more: true }, undefined],
    ['page', { page: 'x' }, { data: items(1), total_pages: 2 }, undefined],
    ['page', { page: 1 }, { data: items(1), next: null, total_pages: 2 }, undefined],
    ['q', {}, { data: items(1), total_pages: 2 }, undefined],
  ])('with %s and %j after %j', (names, args, value, expected) => {
    expect(next(names, args, value)).toEqual(expected);
  });

  it('count from what the schema says', () => {
    const from = (schema: JsonObject, value: unknown) =>
      next('page size', {}, value, withFacts('page size', { page: schema, size: { default: 2 } }));
    expect(from({ default: 0 }, { data: items(1), total_pages: 2 })).toEqual({ page: 1 });
    expect(from({ minimum: 0 }, { data: items(1), total_pages: 2 })).toEqual({ page: 1 });
    expect(from({}, items(2))).toEqual({ page: 2 });
  });
});

describe('offsets', () => {
  it.each<[string, JsonObject, unknown, JsonObject | undefined]>([
    ['offset', {}, { data: items(2), total: 5 }, { offset: 2 }],
    ['offset', { offset: 2 }, { data: items(2), total: 5 }, { offset: 4 }],
    ['offset', { offset: 4 }, { data: items(1), total: 5 }, undefined],
    ['startAt', { startAt: 0 }, { issues: items(2), startAt: 0, maxResults: 2, total: 3 }, { startAt: 2 }],
    ['startIndex', {}, { Resources: items(2), totalResults: 3, startIndex: 1, itemsPerPage: 2 }, { startIndex: 3 }],
    ['startIndex', { startIndex: 3 }, { Resources: items(1), totalResults: 3 }, undefined],
    ['skip limit', { limit: 2 }, { results: items(2), count: 2 }, { limit: 2, skip: 2 }],
    ['skip limit', { limit: 3 }, { results: items(2), count: 2 }, undefined],
    ['skip', {}, { results: items(2), count: 9 }, { skip: 2 }],
    ['offset', {}, { data: items(2) }, undefined],
    ['offset', {}, { data: [], total: 5 }, undefined],
    ['offset', {}, { a: items(2), b: items(2), total: 5 }, undefined],
    ['offset', { offset: 'abc' }, { data: items(2), total: 5 }, undefined],
  ])('with %s and %j after %j', (names, args, value, expected) => {
    expect(next(names, args, value)).toEqual(expected);
  });
});

describe('nothing is next', () => {
  it('after what may have an effect, unless the answer names it', () => {
    const after = (method: HttpOperation['method'], value: unknown) =>
      next('', { per_page: 2 }, value, { operation: { ...operationWith(['cursor', 'page', 'per_page']), method } });
    const named = { data: items(2), next_cursor: 'b' };
    expect(
      ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => after(method as 'GET', named)?.['cursor']),
    ).toEqual(['b', 'b', undefined, undefined, undefined]);
    expect(after('GET', items(2))).toEqual({ per_page: 2, page: 2 });
    expect(after('POST', items(2))).toBeUndefined();
  });

  it('for an argument that only the prototype has', () => {
    expect(next('toString', {}, [], link('<?toString=2>; rel=next'))).toEqual({ toString: '2' });
  });

  it.each([
    null,
    1,
    'text',
    [],
    {},
    { links: [] },
    { next: { next: { next: { next: { next: 'b' } } } } },
    { id: parseExact('12345678901234567890') },
  ])('after %j', (value) => {
    expect(next('cursor page offset limit', {}, value)).toBeUndefined();
  });

  it('without arguments', () => {
    expect(
      next('', {}, { next_cursor: 'b' }, { operation: operationWith([]), ...link('<?page=2>; rel=next') }),
    ).toBeUndefined();
  });

  it('after a list that pretends to go on', () => {
    // Each answer is the same: the walk through them ends because the arguments would repeat, or because a page is not the one asked for.
    const endless: [string, unknown][] = [
      ['cursor', { data: items(2), next_cursor: 'x', has_more: true }],
      ['starting_after', { data: items(2), has_more: true }],
      ['page', { data: items(2), page: 2, total_pages: 1_000_000 }],
      ['page', { data: items(2), next: '?page=2' }],
    ];
    for (const [name, value] of endless) {
      let args: JsonObject | undefined = {};
      let calls = 0;
      for (; args !== undefined && calls < 10; calls += 1) {
        args = next(name, args, value);
      }
      expect([name, calls < 10]).toEqual([name, true]);
    }
  });
});
