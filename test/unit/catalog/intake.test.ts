import { describe, expect, test } from 'vitest';
import { createIntake, type ListedTool, restoreHidden } from '../../../src/core/catalog/intake.ts';
import type { ServerWords } from '../../../src/core/catalog/known.ts';

function takeIn(tools: readonly ListedTool[], words: ServerWords = {}, notices: readonly string[] = []) {
  const intake = createIntake();
  tools.forEach((tool) => intake.add(tool));
  return intake.finish(words, notices);
}

describe('tools', () => {
  test('uses what needs no change without copying it', () => {
    const inputSchema = { type: 'object', properties: { 'from-line': { enum: [1, 2n.toString()] } } };
    const outputSchema = { type: 'object' };
    const annotations = { readOnlyHint: true };
    const { tools, notices } = takeIn([
      { name: 'read', title: 'Read', description: 'Reads.', inputSchema, outputSchema, annotations },
    ]);
    expect(tools).toEqual([
      { name: 'read', title: 'Read', description: 'Reads.', inputSchema, outputSchema, annotations },
    ]);
    expect(tools[0]?.inputSchema).toBe(inputSchema);
    expect(notices).toEqual([]);
  });

  test('a tool with wrong types everywhere takes any arguments', () => {
    const odd = { name: 'odd', title: 5, description: [], inputSchema: 'none', outputSchema: 7, annotations: null };
    expect(takeIn([odd]).tools).toEqual([{ name: 'odd', description: '', inputSchema: {} }]);
  });

  test('makes hidden characters in names visible, and keeps the exact name for the server', () => {
    const { tools } = takeIn([{ name: 'a\u200bb' }, { name: '__proto__' }, { name: 'x'.repeat(300) }]);
    expect(tools.map(({ name, wireName }) => [name, wireName])).toEqual([
      ['a<U+200B>b', 'a\u200bb'],
      ['__proto__', undefined],
      ['x'.repeat(300), undefined],
    ]);
  });

  test('leaves out, with a notice, names that become equal once visible, and names that are too long', () => {
    const { tools, notices } = takeIn([{ name: 'a\u200b' }, { name: 'a<U+200B>' }, { name: 'x'.repeat(1_001) }]);
    expect(tools).toHaveLength(1);
    expect(notices).toEqual([
      'of tools with the same name only the first was kept',
      'tools with names longer than 1,000 characters were left out',
    ]);
  });

  test('cuts a description of 10 MB, with a notice', () => {
    const { tools, notices } = takeIn([{ name: 'long', description: 'x'.repeat(10_000_000) }]);
    expect(tools[0]?.description).toMatch(/x… \(10,000,000 characters in all\)$/);
    expect(tools[0]?.description.length).toBeLessThan(21_000);
    expect(notices).toEqual(["the description of 'long' was cut to 20,000 characters"]);
  });

  test('replaces a schema that is too large or too deep by a note', () => {
    let deep: Record<string, unknown> = {};
    for (let level = 0; level < 100_000; level += 1) {
      deep = { not: deep };
    }
    const huge = { enum: Array.from({ length: 100_000 }, () => 'value') };
    const { tools, notices } = takeIn([
      { name: 'deep', inputSchema: deep },
      { name: 'huge', inputSchema: huge, outputSchema: { type: 'object' } },
    ]);
    const replaced = { type: 'object', description: expect.stringMatching(/too large to show/) };
    expect(tools.map(({ inputSchema }) => inputSchema)).toEqual([replaced, replaced]);
    expect(notices).toEqual([
      "the input schema of 'deep' is too large to keep",
      "the input schema of 'huge' is too large to keep",
    ]);
  });

  test('keeps at most 16 million characters of tools', () => {
    const description = 'x'.repeat(20_000);
    const { tools, notices } = takeIn(
      Array.from({ length: 2_000 }, (_, number) => ({ name: `t${number}`, description })),
    );
    expect(tools.length).toBeGreaterThan(800);
    expect(tools.length).toBeLessThan(900);
    expect(notices).toEqual([expect.stringMatching(/^only the first 8\d\d tools were kept/)]);
  });

  test('limits the number of notices', () => {
    const description = 'x'.repeat(20_001);
    const { notices } = takeIn(Array.from({ length: 100 }, (_, number) => ({ name: `t${number}`, description })));
    expect(notices).toHaveLength(21);
    expect(notices.at(-1)).toBe('and 80 more like these');
  });
});

describe('hidden characters in schemas', () => {
  const properties = {
    'a\u200b': { type: 'string', description: 'hi\u{e0041}dden', enum: ['x\r', 'plain'] },
    ['__proto__']: { const: 'é' },
  };
  const [tool] = takeIn([{ name: 't', inputSchema: { type: 'object', properties } }]).tools;

  test('become visible in every name and text', () => {
    expect(JSON.stringify(tool?.inputSchema)).toBe(
      '{"type":"object","properties":{"a<U+200B>":{"type":"string","description":"hi<U+E0041>dden",' +
        '"enum":["x<U+000D>","plain"]},"__proto__":{"const":"é"}}}',
    );
  });

  test('are restored in arguments, at any depth', () => {
    const given = { 'a<U+200B>': ['x<U+000D>', { 'a<U+200B>': 'hi<U+E0041>dden' }], ['__proto__']: 1 };
    const restored = restoreHidden(given, tool?.hiddenTexts ?? []);
    expect(JSON.stringify(restored)).toBe('{"a\u200b":["x\\r",{"a\u200b":"hi<U+E0041>dden"}],"__proto__":1}');
  });
});

test('makes what a server says about itself visible, and cuts it', () => {
  const words = {
    protocolVersion: '2025-11-25',
    serverName: 'x\u202e',
    serverVersion: undefined,
    instructions: 'i'.repeat(30_000),
    capabilities: { tools: { listChanged: true } },
  };
  expect(takeIn([], words, ['only the first page was read'])).toEqual({
    tools: [],
    notices: ['only the first page was read', 'its instructions were cut to 20,000 characters'],
    protocolVersion: '2025-11-25',
    serverName: 'x<U+202E>',
    instructions: expect.stringMatching(/… \(30,000 characters in all\)$/),
    capabilities: { tools: { listChanged: true } },
  });
});
