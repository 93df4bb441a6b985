import { describe, expect, test } from 'vitest';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';
import { checkToolArguments } from '../../../src/edges/terminal/argument-check.ts';

const SERVER = { name: 'git-hub', alias: 'git_hub', description: '' };
const TOOL = {
  name: 'create-issue',
  alias: 'create_issue',
  description: '',
  inputSchema: {
    type: 'object',
    properties: {
      title: { type: 'string' },
      'issue-number': { type: 'integer', minimum: 1 },
      state: { enum: ['open', 'closed'] },
      filter: { type: 'object', properties: { labels: { type: 'array', items: { type: 'string' } } } },
      maybe: { type: ['string', 'null'] },
    },
    required: ['title'],
    additionalProperties: false,
  },
};
const check = (given: Readonly<Record<string, unknown>>) => checkToolArguments(SERVER, TOOL, Object.entries(given));

describe('arguments typed by a person', () => {
  test('get their original names, and a null that is not allowed is left out', async () => {
    expect(await check({ title: 'x', issue_number: 3, state: null, maybe: null })).toEqual({
      title: 'x',
      'issue-number': 3,
      maybe: null,
    });
  });

  test.each([
    [{}, 'title is missing'],
    [{ title: 5 }, 'title must be str, not 5'],
    [{ title: 'x', issue_number: 'a' }, 'issue_number must be int, not "a"'],
    [{ title: 'x', 'issue-number': 0 }, 'issue_number must be >= 1; 0 was given'],
    [{ title: 'x', state: 'opne' }, 'state must be one of "open", "closed", not "opne". Did you mean \'open\'?'],
    [{ title: 'x', filter: { labels: ['a', 1] } }, 'filter.labels[1] must be str, not 1'],
    [{ titel: 'x' }, "titel is not a parameter of this tool. Did you mean 'title'?"],
    [{ title: 'x', zzz: 1 }, 'zzz is not a parameter of this tool'],
    [{ title: 'x', 'issue-number': 1, issue_number: 1 }, 'issue_number was given twice'],
  ])('%j is refused', async (given, why) => {
    await expect(check(given)).rejects.toMatchObject({
      code: 'TOOL_ARGUMENT_INVALID',
      message: `git-hub.create-issue: ${why}`,
      hint: expect.stringMatching(/^The signature is create_issue\(title: str, /),
    });
  });
});

/** Checks one argument `x` against a schema of its own. */
async function checkValue(schema: object, x: unknown, root: object = {}): Promise<string | undefined> {
  const inputSchema = { type: 'object', properties: { x: schema }, ...root };
  return checkToolArguments(SERVER, { ...TOOL, inputSchema }, [['x', x]]).then(
    () => undefined,
    (error: unknown) => (error as Error).message.replace('git-hub.create-issue: ', ''),
  );
}

/** `argument-cases.test.ts` has what is left to the server. */
describe('a value', () => {
  const point = { type: 'object', properties: { at: { type: 'object', required: ['lat', 'lon'] } } };
  test.each([
    [{ type: ['string', 'null'] }, 5, 'x must be str or None, not 5'],
    [{ const: 'a' }, 'b', 'x must be "a", not "b"'],
    [
      { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'string', maxLength: 2 }] },
      1.5,
      'x must be str or int, not 1.5',
    ],
    [
      { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'integer' } }] },
      [1, 'a'],
      'x[1] must be int, not "a"',
    ],
    [{ oneOf: [{ enum: ['a', 'b'] }, { const: 1 }] }, 'c', 'x must be one of "a", "b" or 1, not "c"'],
    [point, { at: { lat: 1 } }, 'x.at.lon is missing'],
    [
      { type: 'object', properties: { name: {} }, additionalProperties: false },
      { nmae: 1 },
      "x.nmae is not a known key. Did you mean 'name'?",
    ],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'x must not have more than 1 items; [1,2] was given'],
    [
      { prefixItems: [{ type: 'integer' }], items: false },
      [1, 2],
      'x must not have more than 1 items; [1,2] was given',
    ],
    [{ type: 'integer' }, 'y'.repeat(200), `x must be int, not "${'y'.repeat(39)}…${'y'.repeat(39)}"`],
    [{ $ref: '#/$defs/size' }, 'XL', 'x must be one of "S", "M", not "XL"'],
    [false, 1, 'x is not allowed'],
  ])('of %j is refused: %j', async (schema, value, why) => {
    expect(await checkValue(schema as object, value, { $defs: { size: { enum: ['S', 'M'] } } })).toBe(why);
  });

  test('beyond 2^53 is compared as a number', async () => {
    const large = parseExact('12345678901234567890');
    expect(await checkValue({ type: 'integer' }, large)).toBeUndefined();
    expect(await checkValue({ type: 'string' }, large)).toMatch(/^x must be str, not 1234567890123456\d+$/);
  });
});

test('a schema of an unknown draft is checked as far as it is certain', async () => {
  const root = { $schema: 'http://json-schema.org/draft-03/schema#', $id: 'https://example.com/tool' };
  expect(await checkValue({ type: 'string' }, 5, root)).toBe('x must be str, not 5');
});

test('an endlessly recursive schema is left to the server', async () => {
  const endless = { ...TOOL, inputSchema: { properties: { title: {} }, allOf: [{ allOf: [{ $ref: '#' }] }] } };
  expect(await checkToolArguments(SERVER, endless, [['title', 5]])).toEqual({ title: 5 });
});

test('a schema that would take years to validate is left to the server within the time limit', async () => {
  const levels = Array.from({ length: 40 }, (_, level) => {
    const next = { $ref: `#/$defs/l${level + 1}` };
    return [`l${level}`, { allOf: [next, next] }] as const;
  });
  const $defs = { ...Object.fromEntries(levels), l40: {} };
  expect(await checkValue({ $ref: '#/$defs/l0' }, 5, { $defs })).toBeUndefined();
});
