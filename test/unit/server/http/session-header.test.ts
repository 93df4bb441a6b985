import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import type { FrontTool } from '../../../../src/front/server/front-tool.ts';
import { sessionMismatch, withSessionHeader } from '../../../../src/front/server/http/session-header.ts';
import { describeRunPython, MAX_DEFINITION_TOKENS } from '../../../../src/front/server/tool-definition.ts';

function tool(definition: FrontTool['definition']): FrontTool {
  return { definition, purpose: '', call: () => Promise.reject(new Error('not called')) };
}

const RUN_PYTHON = withSessionHeader(tool(describeRunPython(86_400, 86_400)));
const OTHER = tool({ name: 'other', inputSchema: { type: 'object', properties: {} } });

/** The code of the refusal of a call with this argument and header. */
function check(session: unknown, header: string | undefined, name = 'run_python'): number | undefined {
  const params = { name, arguments: { code: '1', ...(session !== undefined && { session }) } };
  const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
  const refusal = sessionMismatch(message, header, [RUN_PYTHON, OTHER]);
  return refusal && (refusal.status === 400 && refusal.id === 7 ? refusal.code : Number.NaN);
}

describe('the tool list over HTTP', () => {
  it('marks the argument, and costs at most 200 tokens', () => {
    const { properties } = RUN_PYTHON.definition.inputSchema;
    expect(properties?.['session']).toMatchObject({ type: 'string', 'x-mcp-header': 'Session' });
    expect(encode(JSON.stringify([RUN_PYTHON.definition])).length).toBeLessThanOrEqual(MAX_DEFINITION_TOKENS);
    expect(withSessionHeader(OTHER)).toBe(OTHER);
  });

  it('keeps the page of the view', () => {
    expect(withSessionHeader({ ...RUN_PYTHON, view: 'ui://x' }).view).toBe('ui://x');
  });
});

describe('Mcp-Param-Session', () => {
  it('must be the argument', () => {
    expect(check('work', 'work')).toBeUndefined();
    expect(check('work', 'other')).toBe(-32_020);
    expect(check('work', undefined)).toBe(-32_020);
    expect(check('work', 'Work')).toBe(-32_020);
    expect(check('work', '')).toBe(-32_020);
  });

  it('may be encoded', () => {
    expect(check('work', '=?base64?d29yaw==?=')).toBeUndefined();
    expect(check('späti', '=?base64?c3DDpHRp?=')).toBeUndefined();
    // No canonical base64; no UTF-8.
    expect(check('work', '=?base64?d29yaw?=')).toBe(-32_020);
    expect(check('work', '=?base64?d29yax==?=')).toBe(-32_020);
    expect(check('\ufffd', '=?base64?/w==?=')).toBe(-32_020);
  });

  it('is compared with numbers as text', () => {
    expect(check(5, '5')).toBeUndefined();
    expect(check(5, '6')).toBe(-32_020);
  });

  it('is not expected without the argument, for other tools and for other methods', () => {
    expect(check(undefined, undefined)).toBeUndefined();
    expect(check(undefined, 'work')).toBeUndefined();
    expect(check(null, 'work')).toBeUndefined();
    expect(check('work', undefined, 'other')).toBeUndefined();
    expect(sessionMismatch({ method: 'tools/list' }, 'work', [RUN_PYTHON])).toBeUndefined();
    expect(sessionMismatch({ method: 'tools/call', params: [] }, 'work', [RUN_PYTHON])).toBeUndefined();
  });
});
