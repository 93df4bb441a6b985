/** Which parameters of `call_tool` are taken, and as what. */
import { describe, expect, it } from 'vitest';
import { type ToolCallOptions, toolMethods } from '../../../src/core/calls/tool-calls.ts';

// The methods use their options only when they run.
const [, method] = toolMethods({} as ToolCallOptions).find(([name]) => name === 'call_tool') ?? [];
const named = { server: 's', tool: 't' };

describe('parameters of call_tool', () => {
  it.each([
    [
      { ...named, arguments: { text: 'x' }, line: 3 },
      { arguments: { text: 'x' }, line: 3, progress: false },
    ],
    [
      { ...named, arguments: {}, progress: true },
      { arguments: {}, progress: true },
    ],
    [named, { arguments: {}, progress: false }],
  ])('%j are taken', (params, taken) => {
    expect(method?.schema.parse(params)).toEqual({ ...named, ...taken });
  });

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
  ])('%j are refused', (params) => {
    expect(method?.schema.safeParse(params).success).toBe(false);
  });
});
