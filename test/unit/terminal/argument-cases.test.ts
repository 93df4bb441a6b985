/** The cases that the kernel's check of arguments (`test/python/test_argument_cases.py`) must answer alike. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Schema } from '../../../src/core/catalog/json-schema.ts';
import { toolSpec } from '../../../src/core/catalog/tool-spec.ts';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';
import { checkToolArguments } from '../../../src/edges/terminal/argument-check.ts';

interface Cases {
  readonly tools: readonly {
    readonly name: string;
    readonly open: boolean;
    readonly parameters: readonly object[];
    readonly input_schema: Schema;
    readonly calls: readonly { given: object; sent?: object; refused?: string }[];
  }[];
  readonly $defs: object;
  readonly values: readonly { schema: unknown; value: unknown; refused?: string; at_the_shell?: string | null }[];
}

const FILE = new URL('../../fixtures/argument-cases.json', import.meta.url);
// Numbers beyond 2^53 as `servers call` reads them.
const { tools, values, $defs } = parseExact(readFileSync(FILE, 'utf8')) as Cases;
const SERVER = { name: 'cases', alias: 'cases', description: '' };

/** What is sent, or the place that is refused. */
async function answer(inputSchema: Schema, given: object): Promise<object> {
  const tool = { name: 'tool', alias: 'tool', description: '', inputSchema };
  return checkToolArguments(SERVER, tool, Object.entries(given)).then(
    (sent) => ({ sent }),
    (error: unknown) => ({ refused: (error as { data: { argument: string } }).data.argument }),
  );
}

describe.each(tools)('$name', ({ open, parameters, input_schema: inputSchema, calls }) => {
  test('has the parameters that the kernel gets', () => {
    const spec = toolSpec({ name: 'tool', alias: 'tool', description: '', inputSchema });
    expect(spec).toMatchObject({ open, parameters });
  });

  test.each(calls)('$given', async ({ given, ...expected }) => {
    expect(await answer(inputSchema, given)).toEqual(expected);
  });
});

test.each(values)('$value against $schema', async ({ schema, value, refused, at_the_shell: place = refused }) => {
  const found = await answer({ type: 'object', properties: { x: schema }, $defs }, { x: value });
  expect(found).toEqual(typeof place === 'string' ? { refused: place } : { sent: { x: value } });
});
