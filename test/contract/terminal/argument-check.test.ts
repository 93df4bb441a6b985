// Tags: full
/**
 * Compares the argument checks, in the kernel and for a call from a shell, with a real validator: they never refuse what ajv
 * accepts. Schemas and values are random, built from few names and small numbers so that many values match. The seed is fixed,
 * so runs repeat.
 */
import { spawnSync } from 'node:child_process';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Schema } from '../../../src/core/catalog/json-schema.ts';
import { createSchemaCheck } from '../../../src/edges/terminal/schema-check.ts';
import { hasLocalPython } from '../../support/local-python.ts';

const PAIRS = 500;
/** Each needs its own compiled validator. */
const PAIRS_AT_SHELL = 200;
/** The kernel must refuse most values that ajv refuses; otherwise the comparison means nothing. Measured: 0.98. */
const MIN_FOUND_SHARE = 0.9;
/** For calls from a shell, the server checks patterns, `not` and `oneOf`. */
const MIN_FOUND_AT_SHELL = 0.5;

const key = fc.constantFrom('a', 'b', 'x-1', 'from');
const integer = fc.integer({ min: -3, max: 12 });
const count = fc.integer({ min: 0, max: 3 });
const text = fc.constantFrom('', 'a', 'b', 'ab', 'a1', 'A-1', 'é', '𝒳', '2026-01-02', 'a\n', '\u00a0', 'aaaa');
const pattern = fc.constantFrom(
  '^[a-z]+$', '^a', 'b$', '^\\d{4}-\\d{2}-\\d{2}$', '^\\S+$', '^(a|b)?$', '^[^A-Z]*$', '\\w\\W', '^.$', '^(?=a)', '^(a+)+$', '[a-',
); // biome-ignore format: a list of patterns.
const scalar = fc.oneof(fc.constant(null), fc.boolean(), integer, fc.constantFrom(1.5, 2.0, -0.5, 0.3, 1e300), text);

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
}));

const type = fc.constantFrom('string', 'integer', 'number', 'boolean', 'null', 'array', 'object');
const keywords = {
  string: { minLength: count, maxLength: count, pattern },
  number: {
    minimum: integer,
    maximum: integer,
    exclusiveMinimum: integer,
    exclusiveMaximum: integer,
    multipleOf: fc.constantFrom(1, 2, 5, 0.1),
  },
  array: { minItems: count, maxItems: count, uniqueItems: fc.boolean() },
  object: { minProperties: count, maxProperties: count, required: fc.uniqueArray(key, { maxLength: 2 }) },
};
const some = <Fields>(fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> }) =>
  fc.record(fields, { requiredKeys: [] });

/** A schema of the draft: `items` as a list is draft 7, `prefixItems` is 2020-12. */
function schemas(draft: 7 | 2020): fc.Arbitrary<object> {
  const { schema } = fc.letrec((tie) => {
    const inner = tie('schema');
    const list = fc.array(inner, { minLength: 1, maxLength: 2 });
    // Only if the value gets smaller: two branches that refer to the root cost a validator 2^depth steps.
    const member = fc.oneof(
      { weight: 4, arbitrary: inner },
      { weight: 1, arbitrary: fc.record({ $ref: fc.constantFrom('#', '#/$defs/one', '#/$defs/two') }) },
    );
    const arrays =
      draft === 7
        ? some({ items: fc.oneof(member, list), additionalItems: inner, ...keywords.array })
        : some({ prefixItems: list, items: member, ...keywords.array });
    const objects = some({
      properties: fc.dictionary(key, member, { maxKeys: 3 }),
      patternProperties: fc.dictionary(fc.constantFrom('^x-', '^a$', '.'), inner, { maxKeys: 1 }),
      additionalProperties: inner,
      ...keywords.object,
    });
    const leaf = fc.oneof(
      fc.boolean(),
      fc.record({ type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })) }),
      some({ type, ...keywords.string }),
      some({ type, ...keywords.number }),
      fc.record({
        enum: fc.uniqueArray(value, { minLength: 1, maxLength: 4, selector: (choice) => JSON.stringify(choice) }),
      }),
      fc.record({ const: value }),
      fc.record({ type: fc.constant('string'), nullable: fc.boolean() }),
    );
    return {
      schema: fc.oneof(
        { maxDepth: 2 },
        leaf,
        arrays,
        objects,
        some({ anyOf: list, oneOf: list, allOf: list, not: inner, type }),
      ),
    };
  });
  return fc
    .tuple(schema, schema, schema)
    .filter(([root]) => typeof root === 'object')
    .map(([root, one, two]) => ({ ...(root as object), $defs: { one, two } }));
}

function ajvOf(draft: 7 | 2020): Ajv {
  // The schemas are valid by construction, and validating them is the slowest part of ajv.
  const options = { strict: false, validateFormats: false, validateSchema: false, logger: false } as const;
  return draft === 7 ? new Ajv(options) : new Ajv2020(options);
}

/** Undefined for a schema that ajv rejects. */
function judge(ajv: Ajv, schema: object, candidate: unknown): boolean | undefined {
  try {
    return ajv.compile(schema)(candidate);
  } catch {
    return undefined;
  }
}

function judgeInPython(pairs: readonly (readonly [object, unknown])[]): unknown[] {
  const { stdout, stderr } = spawnSync('python3', ['-I', '-c', PROGRAM], {
    input: pairs.map((pair) => `${JSON.stringify(pair)}\n`).join(''),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  expect(stderr).toBe('');
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

const ROOT = new URL('../../..', import.meta.url).pathname;
const PROGRAM = `import sys; sys.path.insert(0, ${JSON.stringify(`${ROOT}sandbox-runtime`)}); sys.dont_write_bytecode = True
exec(open(${JSON.stringify(`${ROOT}test/python/judge_values.py`)}).read())`;

describe.skipIf(!hasLocalPython())('the check of arguments', () => {
  it.each([7, 2020] as const)('never refuses what ajv accepts in draft %i', (draft) => {
    const ajv = ajvOf(draft);
    const pairs = fc.sample(fc.tuple(schemas(draft), value), { numRuns: PAIRS, seed: draft });
    const verdicts = pairs.map(([schema, candidate]) => judge(ajv, schema, candidate));
    const problems = judgeInPython(pairs);
    expect(problems).toHaveLength(PAIRS);
    const wronglyRefused = pairs.filter((_, index) => verdicts[index] === true && problems[index] !== null);
    expect(wronglyRefused.map((pair, index) => [JSON.stringify(pair), problems[index]])).toEqual([]);

    const refused = pairs.flatMap((_, index) => (verdicts[index] === false ? [problems[index] !== null] : []));
    const share = refused.filter(Boolean).length / refused.length;
    expect(refused.length).toBeGreaterThan(PAIRS / 10);
    expect(verdicts.filter((verdict) => verdict === true).length).toBeGreaterThan(PAIRS / 10);
    expect(share).toBeGreaterThan(MIN_FOUND_SHARE);
  });
});

describe('the check of a call from a shell', () => {
  it.each([7, 2020] as const)('never refuses what ajv accepts in draft %i', async (draft) => {
    const ajv = ajvOf(draft);
    const pairs = fc.sample(fc.tuple(schemas(draft), value), { numRuns: PAIRS_AT_SHELL, seed: draft });
    const verdicts = pairs.map(([schema, candidate]) => judge(ajv, schema, candidate));
    const problems = await Promise.all(
      pairs.map(async ([schema, candidate]) => (await createSchemaCheck(schema as Schema)).find(candidate)),
    );
    const wronglyRefused = pairs.flatMap((pair, index) => {
      return verdicts[index] === true && problems[index] !== undefined ? [[JSON.stringify(pair), problems[index]]] : [];
    });
    expect(wronglyRefused).toEqual([]);
    const refused = problems.filter((_, index) => verdicts[index] === false);
    expect(refused.filter((problem) => problem !== undefined).length / refused.length).toBeGreaterThan(
      MIN_FOUND_AT_SHELL,
    );
  });
});
