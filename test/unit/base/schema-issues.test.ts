import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { messageOf } from '../../../src/core/base/errors.ts';
import { explainSchemaIssues } from '../../../src/core/base/schema-issues.ts';

const schema = z.strictObject({
  name: z.string(),
  'a b': z.array(z.int()),
  either: z.union([z.string(), z.number()]),
  kind: z.enum(['x', 'y']),
  on: z.boolean(),
  size: z.number(),
});

describe('the issues of a schema checker', () => {
  test('become a sentence, wherever an error is shown', () => {
    const { error } = schema.safeParse({ 'a b': [1.5], either: {}, kind: 'z', on: 1, size: '', more: 1 });
    expect(messageOf(new Error(`Invalid result for x: ${error?.message}`))).toBe(
      'Invalid result for x: name is missing, ["a b"][0] must be an integer, either has none of the allowed forms, kind: Invalid option: expected one of "x"|"y", on must be true or false and 2 more',
    );
    expect(messageOf(z.string().safeParse(5).error)).toBe('it must be a string');
  });

  test('are left out if they are very long', () => {
    const { error } = z.array(z.string()).safeParse(Array.from({ length: 5_000 }, () => 1));
    expect(explainSchemaIssues(error?.message ?? '')).toBe('it does not have the expected form');
  });

  test.each(['no list', '[\n  {"path": 1}\n]', '[\n  {\n]', 'a [\n  {}\n] b', '[]'])('are nothing else: %j', (text) => {
    expect(explainSchemaIssues(text)).toBe(text);
  });
});
