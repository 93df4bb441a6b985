/** Parameters of `call_tool` that need no schema are what the schema makes of them. */
import { describe, expect, it } from 'vitest';
import { type ToolCallOptions, toolMethods } from '../../../src/calls/tool-calls.ts';

// The methods use their options only when they run.
const [, method] = toolMethods({} as ToolCallOptions).find(([name]) => name === 'call_tool') ?? [];
const named = { server: 's', tool: 't' };

describe('parameters of call_tool', () => {
  it.each([{ ...named, arguments: { text: 'x' }, line: 3 }, { ...named, arguments: {}, progress: true }, named])(
    '%j need no schema',
    (params) => {
      expect(method?.plain?.(params)).toEqual(method?.schema.parse(params));
    },
  );

  it.each([
    {},
    { server: 's' },
    { ...named, server: '' },
    { ...named, tool: 7 },
    { ...named, tool: 'x'.repeat(1_001) },
    { ...named, arguments: [] },
    { ...named, arguments: null },
    { ...named, line: 0 },
    { ...named, line: 1.5 },
    { ...named, line: 2 ** 53 },
    { ...named, line: '1' },
    { ...named, progress: 1 },
    { ...named, more: 1 },
    JSON.parse('{"server":"s","tool":"t","__proto__":{}}') as Record<string, unknown>,
  ])('%j are left to the schema, which refuses them', (params) => {
    expect(method?.plain?.(params)).toBeUndefined();
    expect(method?.schema.safeParse(params).success).toBe(false);
  });
});
