import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/base/is-object.ts';
import { RequestError, type SurfaceMethod } from '../../../src/core/protocol/server-requests.ts';
import { askSurface, MissingCapabilityError } from '../../../src/edges/upstream/surface.ts';

const INFO = { capabilities: { resources: {}, tools: {} }, protocolVersion: '2025-11-25' };

/** Requests a list whose pages come from `answer`; returns the list and the requested pages. */
async function listOf(
  answer: (params: JsonObject, page: number) => JsonObject,
  method: SurfaceMethod,
  protocolVersion = '2025-11-25',
) {
  const asked: JsonObject[] = [];
  const call = { server: 'files', method, params: {} };
  const list = await askSurface(call, { ...INFO, protocolVersion }, async (_, params) => {
    asked.push(params);
    return { result: answer(params, asked.length), bytes: 100 };
  });
  return { list, asked };
}

describe('a list of a server', () => {
  test('is made of all its pages', async () => {
    const { list, asked } = await listOf(
      (_, page) => ({ resources: [{ uri: `a:${page}` }], ...(page < 3 ? { nextCursor: `c${page}` } : {}) }),
      'resources/list',
    );
    expect(list).toEqual({ items: [{ uri: 'a:1' }, { uri: 'a:2' }, { uri: 'a:3' }], notices: [] });
    expect(asked).toEqual([{}, { cursor: 'c1' }, { cursor: 'c2' }]);
  });

  test.each([
    [
      'has too many entries',
      () => ({ resources: Array.from({ length: 6_000 }, () => ({})), nextCursor: Math.random().toString() }),
      10_000,
      'only the first 10000 entries were kept',
    ],
    [
      // More than `push` takes as arguments.
      'has a page with far too many entries',
      () => ({ resources: Array.from({ length: 200_000 }, () => ({})) }),
      10_000,
      'only the first 10000 entries were kept',
    ],
    [
      'has pages without end',
      (_: JsonObject, page: number) => ({ resources: [{}], nextCursor: `c${page}` }),
      200,
      'only the first 200 pages were read',
    ],
    [
      'repeats its pages',
      () => ({ resources: [{}], nextCursor: 'same' }),
      2,
      'the list was cut where its pages began to repeat',
    ],
    ['has a value that is not an array', () => ({ resources: 'none' }), 0, undefined],
  ])('that %s is cut, with a notice', async (_, answer, count, notice) => {
    const { list } = await listOf(answer, 'resources/list');
    expect(list).toMatchObject({ items: { length: count }, notices: notice === undefined ? [] : [notice] });
  });

  test('goes on after an empty cursor since 2026-07-28, but not in circles', async () => {
    const answer = (_: JsonObject, page: number) => ({ resources: [{ uri: `a:${page}` }], nextCursor: '' });
    expect((await listOf(answer, 'resources/list')).asked).toEqual([{}]);
    const { list, asked } = await listOf(answer, 'resources/list', '2026-07-28');
    expect(asked).toEqual([{}, { cursor: '' }]);
    expect(list).toMatchObject({ items: { length: 2 }, notices: ['the list was cut where its pages began to repeat'] });
  });

  test('of templates is empty if the server does not know the method', async () => {
    const { list } = await listOf(() => {
      throw new RequestError('rpc', 'Method not found', { code: -32_601 });
    }, 'resources/templates/list');
    expect(list).toEqual({ items: [], notices: [] });
  });

  test('is refused if the server did not declare the capability', async () => {
    const error = await listOf(() => ({}), 'prompts/list').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(MissingCapabilityError);
    expect(error).toMatchObject({ capability: 'prompts', offered: ['resources', 'tools'] });
  });
});
