import { isJSONRPCRequest } from '@modelcontextprotocol/server';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAnswerable, whyInvalid, withoutNulls } from '../../../src/front/server/client-message.ts';

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Values that are right somewhere and wrong elsewhere. */
const value = fc.constantFrom<unknown>(null, 0, -1, 1.5, 2 ** 53, '', 'a', true, [], [1], {}, { taskId: 'a' });
const meta = fc.oneof(
  value,
  fc.record({ progressToken: value, [RELATED_TASK]: value, other: value }, { requiredKeys: [] }),
);
const params = fc.oneof(value, fc.record({ _meta: meta, name: value }, { requiredKeys: [] }));
const message = fc.record(
  {
    jsonrpc: fc.constantFrom<unknown>('2.0', '2.0', '2.0', '1.0', 2),
    id: fc.oneof(value, fc.constantFrom(1, 'a')),
    method: fc.oneof(value, fc.constantFrom('ping', 'tools/list')),
    params,
    more: value,
  },
  { requiredKeys: ['method'] },
);

test('what the SDK would drop without an answer is refused, and nothing else', () => {
  fc.assert(
    fc.property(message, (sent) => {
      const read = withoutNulls(sent);
      fc.pre(isAnswerable(read));
      expect(whyInvalid(read) === undefined).toBe(isJSONRPCRequest(read));
    }),
    { numRuns: 1_000 },
  );
});

describe('null', () => {
  test.each([
    [{ params: null }, {}],
    [{ params: { _meta: null, cursor: 'a' } }, { params: { cursor: 'a' } }],
    [{ params: { cursor: null } }, { params: { cursor: null } }],
  ])('%j is read as %j', (sent, read) => {
    expect(withoutNulls({ id: 1, ...sent })).toEqual({ id: 1, ...read });
  });
});
