import { describe, expect, it } from 'vitest';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';
import { changedParts, fingerprintTool } from '../../../src/edges/upstream/fingerprint.ts';
import { readToolList } from '../../../src/edges/upstream/tool-list.ts';

const TOOL = {
  name: 'read',
  title: 'Read',
  description: 'Reads.',
  inputSchema: { type: 'object', properties: { a: { enum: [1, 'x', null] }, b: {} } },
  outputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
};

async function listed(tool: unknown): Promise<string | undefined> {
  const line = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [tool] } });
  const { fingerprints } = await readToolList(async () => Buffer.from(line), '2025-11-25');
  return fingerprints.get('read');
}

describe('a fingerprint', () => {
  it('is five hashes that never change for the same tool', () => {
    expect(fingerprintTool(TOOL).split('.')).toEqual([
      '2sl286ArsSfgIOp8mIz48r44TsjpN1_1MBR81fZBQBA',
      'kTJ1UZjXMQgR_qxncy9L0VdwisreGSv2M31wtvlE3Hk',
      'f7LDCPpVk0_Iqyaf00B0NiqktNnUJ6VCupk2_xDyfy4',
      'oseZJio848Ge9c3Zg789ErQ6s8QmInCRuQnctwVHOMA',
      'iAP7S0lxMn5Se_wAf2lMJdVVO6_8Ss0AeEyGrpff0FY',
    ]);
  });

  it('does not depend on the order of keys', () => {
    const { a, b } = TOOL.inputSchema.properties;
    const other = { ...TOOL, inputSchema: { properties: { b, a }, type: 'object' } };
    expect(fingerprintTool(other)).toBe(fingerprintTool(TOOL));
  });

  it.each<[string, object, string[]]>([
    ['a word of the description', { description: 'Reads .' }, ['description']],
    ['a hidden character', { description: 'Reads.\u200b' }, ['description']],
    ['the title', { title: 'read' }, ['title']],
    ['a description in the schema', { inputSchema: { ...TOOL.inputSchema, description: 'x' } }, ['input schema']],
    ['the order of a list', { inputSchema: { enum: [2, 1] } }, ['input schema']],
    [
      'a schema that is gone, and a hint',
      { outputSchema: undefined, annotations: {} },
      ['output schema', 'annotations'],
    ],
  ])('changes with %s', (_what, change, parts) => {
    expect(changedParts(fingerprintTool(TOOL), fingerprintTool({ ...TOOL, ...change }))).toEqual(parts);
  });

  it('differs for values that look alike', () => {
    const values = ['1', 1, [1], ['1'], { 1: 1 }, [], {}, null, '', '[]', [[], []], [[[]]], true];
    expect(new Set(values.map((value) => fingerprintTool({ inputSchema: value }))).size).toBe(values.length);
  });

  it('keeps numbers that JavaScript would round', () => {
    const of = (digits: string) => fingerprintTool({ inputSchema: parseExact(`{"maximum":${digits}}`) });
    expect(of('18446744073709551615')).toBe(of('18446744073709551615'));
    expect(of('18446744073709551615')).not.toBe(of('18446744073709551616'));
  });

  it('handles extremely deep schemas, and arrays of 200,000 values', () => {
    let deep: unknown = {};
    for (let level = 0; level < 20_000; level += 1) {
      deep = [deep];
    }
    const wide = Array.from({ length: 200_000 }, () => 0);
    expect(fingerprintTool({ inputSchema: deep })).not.toBe(fingerprintTool({ inputSchema: [deep] }));
    expect(fingerprintTool({ inputSchema: wide })).not.toBe(fingerprintTool({ inputSchema: [...wide, 0] }));
  });
});

describe('what is cut from a list', () => {
  it('changes the fingerprint: the end of a long text', async () => {
    const description = 'x'.repeat(1_200_000);
    expect(await listed({ ...TOOL, description: `${description}a` })).not.toBe(
      await listed({ ...TOOL, description: `${description}b` }),
    );
  });

  it('changes the fingerprint: a member that is left out', async () => {
    const schema = (last: string) => ({
      type: 'object',
      enum: [...Array.from({ length: 200_000 }, () => 'abcdef'), last],
    });
    const before = await listed({ ...TOOL, inputSchema: schema('a') });
    expect(changedParts(before ?? '', (await listed({ ...TOOL, inputSchema: schema('b') })) ?? '')).toEqual([
      'input schema',
    ]);
  });

  it('leaves the fingerprint of the same list unchanged', async () => {
    expect(await listed(TOOL)).toBe(fingerprintTool(TOOL));
  });
});
