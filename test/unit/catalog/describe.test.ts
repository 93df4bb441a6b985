import { describe, expect, test } from 'vitest';
import { cleanText, describeTool, toolMetadata } from '../../../src/catalog/describe.ts';

const server = { name: 'git-hub', alias: 'git_hub', description: '' };
const tool = {
  name: 'create-issue',
  alias: 'create_issue',
  description: 'Creates an issue.',
  inputSchema: { type: 'object', properties: { from: { type: 'string' }, title: { type: 'string' } } },
};

describe('describeTool', () => {
  test('a summary names server and tool by both names and says how to load the server', () => {
    expect(describeTool(server, tool, { detail: 'summary', isLoaded: false })).toEqual({
      server: 'git-hub',
      serverAlias: 'git_hub',
      tool: 'create-issue',
      toolAlias: 'create_issue',
      description: 'Creates an issue.',
      loaded: false,
      load: "call run_python again with servers=['git-hub']",
    });
  });

  test('full adds the schema; a loaded server needs no loading; an empty description is left out', () => {
    expect(describeTool(server, { ...tool, description: '' }, { detail: 'full', isLoaded: true })).toEqual({
      server: 'git-hub',
      serverAlias: 'git_hub',
      tool: 'create-issue',
      toolAlias: 'create_issue',
      inputSchema: tool.inputSchema,
      loaded: true,
    });
  });

  test('a description of 10 MB is cut and says so', () => {
    const long = { ...tool, description: 'x'.repeat(10_000_000) };
    const { description } = describeTool(server, long, { detail: 'full', isLoaded: true });
    expect(description).toMatch(/x… \(10,000,000 characters in all\)$/);
    expect(description?.length).toBeLessThan(21_000);
  });

  test('hidden characters are removed from every string of a schema', () => {
    const hidden = { ...tool, inputSchema: { properties: { a: { description: 'hi\u{e0041}\u200b\u001b[31m' } } } };
    const document = describeTool(server, hidden, { detail: 'full', isLoaded: true });
    expect(document.inputSchema).toEqual({ properties: { a: { description: 'hi[31m' } } });
  });

  test('a schema of a megabyte and one nested 10,000 levels deep are replaced by a word about them', () => {
    const huge = { ...tool, inputSchema: { enum: Array.from({ length: 100_000 }, () => 'value') } };
    expect(describeTool(server, huge, { detail: 'full', isLoaded: true }).inputSchema).toMatchObject({
      description: expect.stringMatching(/too large to show/),
    });
    let deep: Record<string, unknown> = {};
    for (let level = 0; level < 10_000; level += 1) {
      deep = { not: deep };
    }
    const document = describeTool(server, { ...tool, inputSchema: deep }, { detail: 'full', isLoaded: true });
    expect(JSON.stringify(document)).toContain('nested too deep');
  });
});

describe('toolMetadata', () => {
  test('names parameters that Python spells differently', () => {
    expect(toolMetadata(tool)).toEqual({
      name: 'create-issue',
      alias: 'create_issue',
      description: 'Creates an issue.',
      input_schema: tool.inputSchema,
      parameter_aliases: { from: 'from_' },
    });
  });
});

describe('cleanText', () => {
  test('keeps tabs and line ends, and removes what hides or reorders text', () => {
    expect(cleanText(' a\tb\nc\r\u202e\u2066\u0000\ufeff ', 100)).toBe('a\tb\nc');
  });

  test('never cuts a character in half', () => {
    expect(cleanText(`${'a'.repeat(9)}\u{1F600}bc`, 10)).toBe('aaaaaaaaa… (13 characters in all)');
  });

  test('a text at the limit is whole', () => {
    expect(cleanText('a'.repeat(10), 10)).toBe('a'.repeat(10));
    expect(cleanText('a'.repeat(11), 10)).toContain('… (11 characters');
  });
});
