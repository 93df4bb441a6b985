import { describe, expect, test } from 'vitest';
import { describeTool, toolMetadata } from '../../../src/catalog/describe.ts';

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
      signature: 'create_issue(from_: str = ..., title: str = ...)',
      inputSchema: tool.inputSchema,
      loaded: true,
    });
  });

  test('a summary cuts a long description', () => {
    const { description } = describeTool(
      server,
      { ...tool, description: 'x'.repeat(2_000) },
      { detail: 'summary', isLoaded: true },
    );
    expect(description).toBe(`${'x'.repeat(500)}… (2,000 characters in all)`);
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
