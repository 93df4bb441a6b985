import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { describeRunPython, MAX_DEFINITION_TOKENS } from '../../../src/front/server/tool-definition.ts';

describe('the definition of run_python', () => {
  test('costs at most 200 tokens, even with the largest limits of the settings', () => {
    expect(MAX_DEFINITION_TOKENS).toBe(200);
    for (const tool of [describeRunPython(30, 120), describeRunPython(86_400, 86_400)]) {
      expect(encode(JSON.stringify([tool])).length).toBeLessThanOrEqual(MAX_DEFINITION_TOKENS);
    }
  });

  test('is exactly this', () => {
    expect(describeRunPython(30, 120)).toEqual({
      name: 'run_python',
      description:
        "Live Python sandbox without network: state persists, top-level await works, the last value is shown. Find MCP tools with `await runtime.search_tool_docs('query')`, load their `servers`, call `await mcp_<server>.<tool>(arg=...)`. Filter in code, print little. See runtime.help().",
      inputSchema: {
        type: 'object',
        properties: {
          code: { type: 'string' },
          servers: { type: 'array', items: { type: 'string' }, description: 'MCP servers to load' },
          timeout: { type: 'integer', minimum: 1, maximum: 120, default: 30, description: 'seconds' },
          session: { type: 'string', default: 'default', description: 'one state per name' },
        },
        required: ['code'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    });
  });
});
