/** Answers of an API of any content: values come out of the kernel's code as themselves, and whatever is next is another call. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '../../src/core/base/is-object.ts';
import { stringifyExact } from '../../src/core/protocol/exact-json.ts';
import type { HttpOperation } from '../../src/edges/upstream/api/compiled-api.ts';
import { resultOfAnswer } from '../../src/edges/upstream/api/read-answer.ts';
import { anyJson, anyText, isPrototypeClean, itHolds } from '../support/fuzzing.ts';
import { hasLocalPython } from '../support/local-python.ts';

const NAMES = ['cursor', 'page', 'offset', 'limit', 'starting_after', '__proto__', 'toString'];
const OPERATION: HttpOperation = {
  kind: 'http',
  method: 'GET',
  path: '/things',
  parameters: NAMES.map((name) => ({
    argument: name,
    name,
    in: 'query',
    style: 'form',
    explode: true,
    allowReserved: false,
  })),
  accept: ['application/json'],
};
const TYPES = [
  'application/json',
  'text/plain',
  'text/html',
  'application/xml',
  'image/png',
  'application/octet-stream',
  '',
];

function resultOf(
  type: string,
  body: string,
  more: { status?: number; link?: string; args?: JsonObject } = {},
): JsonObject {
  const { status = 200, link, args = {} } = more;
  return resultOfAnswer({
    status,
    headers: { ...(type !== '' && { 'content-type': type }), ...(link !== undefined && { link }) },
    body: Buffer.from(body),
    operation: OPERATION,
    args,
    url: new URL('https://api.example/things'),
  });
}

const SCRIPT = `
import json, sys
from bridge_kernel.values import to_value
for line in sys.stdin.buffer:
    value = to_value(json.loads(line), "s", "t")
    print(isinstance(value, (str, dict, list, int, float, type(None))) and json.dumps(value))
`;

describe.skipIf(!hasLocalPython())('in Python', () => {
  const envelopes = fc.oneof(
    anyJson,
    fc.dictionary(fc.constantFrom('result', 'content', 'structuredContent', 'isError'), anyJson, {
      maxKeys: 2,
      noNullPrototype: true,
    }),
  );

  it('every JSON value and every text is itself', () => {
    const values = fc.sample(envelopes, 1_500);
    // Texts that the kernel could take for values.
    const texts = fc.sample(
      fc.oneof(
        anyText,
        envelopes.map((value) => JSON.stringify(value)),
      ),
      500,
    );
    const results = [
      ...values.map((value) => resultOf('application/json', JSON.stringify(value))),
      ...texts.map((text) => resultOf('text/plain', text)),
    ];
    const input = results.map((result) => stringifyExact(result)).join('\n');
    const env = { ...process.env, PYTHONPATH: join(import.meta.dirname, '../../sandbox-runtime') };
    const run = spawnSync('python3', ['-c', SCRIPT], { input, env, maxBuffer: 64 * 1024 * 1024 });
    expect(run.stderr.toString()).toBe('');
    const read = run.stdout
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    // A half character cannot be sent in UTF-8, and a text of no characters is no answer.
    const said = texts.map((text) => (text === '' ? null : text.toWellFormed().replace(/^\uFEFF/, '')));
    expect(read).toEqual([
      ...values.map((value) => JSON.parse(Buffer.from(JSON.stringify(value)).toString()) as unknown),
      ...said,
    ]);
  });
});

describe('any answer', () => {
  const pageMember = fc.dictionary(
    fc.constantFrom(
      'next',
      'next_cursor',
      'cursor',
      'has_more',
      'total',
      'total_pages',
      'page',
      'offset',
      'data',
      'links',
      'next_page',
      'last_id',
    ),
    fc.oneof(anyJson, fc.constantFrom('?page=2', '//x/things?page=3', 'b', true, 5, [{ id: 'x' }])),
    { noNullPrototype: true },
  );
  const given = fc.tuple(
    fc.constantFrom(...TYPES),
    fc.oneof(
      anyText,
      fc.oneof(anyJson, pageMember).map((value) => JSON.stringify(value)),
    ),
    fc.integer({ min: 200, max: 599 }),
    fc.oneof(
      anyText,
      fc.tuple(anyText, anyText).map(([address, relation]) => `<${address}?page=2>; rel="next ${relation}"`),
    ),
    fc.dictionary(fc.constantFrom(...NAMES), anyJson, { noNullPrototype: true }),
  );

  itHolds(
    'is a result, and what is next is a call of the operation with other arguments',
    4_000,
    given,
    ([type, body, status, link, args]) => {
      const result = resultOf(type, body, { status, link, args });
      expect(isPrototypeClean()).toBe(true);
      expect(result['isError'] === true).toBe(status >= 400);
      const text = stringifyExact(result);
      expect(text).not.toContain('exact-number');
      const meta = result['_meta'] as JsonObject;
      const next = meta['bridge/next-page'];
      if (isObject(next) && next['isOutOfReach'] !== true) {
        const after = next['arguments'] as JsonObject;
        expect(Object.keys(after).filter((name) => !NAMES.includes(name))).toEqual([]);
        expect(stringifyExact(after)).not.toBe(stringifyExact(args));
        // What was given stays, but for what leads to the next page.
        expect(Object.keys(args).filter((name) => !Object.hasOwn(after, name))).toEqual([]);
      }
    },
  );
});
