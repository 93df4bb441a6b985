import { describe, expect, test } from 'vitest';
import { describeHit, describeTool, toolMetadata } from '../../../src/core/catalog/describe.ts';

const server = { name: 'git-hub', alias: 'git_hub', description: '' };
const storedTool = {
  name: 'create-issue',
  alias: 'create_issue',
  description: 'Creates an issue.',
  inputSchema: { type: 'object', properties: { from: { type: 'string' }, title: { type: 'string' } } },
};

describe('describeTool', () => {
  test('a summary has both names of server and tool, and says how to load the server', () => {
    expect(describeTool(server, storedTool, { detail: 'summary', isLoaded: false })).toEqual({
      server: 'git-hub',
      serverAlias: 'git_hub',
      tool: 'create-issue',
      toolAlias: 'create_issue',
      description: 'Creates an issue.',
      signature: 'create_issue(from_: str = ..., title: str = ...)',
      loaded: false,
      load: "call run_python again with servers=['git-hub']",
    });
  });

  test('full detail adds the schema; `load` and an empty description are left out', () => {
    expect(describeTool(server, { ...storedTool, description: '' }, { detail: 'full', isLoaded: true })).toEqual({
      server: 'git-hub',
      serverAlias: 'git_hub',
      tool: 'create-issue',
      toolAlias: 'create_issue',
      signature: 'create_issue(from_: str = ..., title: str = ...)',
      inputSchema: storedTool.inputSchema,
      loaded: true,
    });
  });

  test('a summary shortens a long signature, unless no other tool was asked for', () => {
    const names = Array.from({ length: 20 }, (_, index) => `option_${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: ['string', 'boolean'] }]));
    const wide = { ...storedTool, inputSchema: { type: 'object', properties } };
    const signature = (isAlone: boolean) =>
      describeTool(server, wide, { detail: 'summary', isLoaded: true, isAlone }).signature;
    expect(signature(false)).toMatch(/option_9=\.\.\./);
    expect(signature(true)).toBe(`create_issue(${names.map((name) => `${name}: str | bool = ...`).join(', ')})`);
  });

  test('a summary cuts a long description', () => {
    const { description } = describeTool(
      server,
      { ...storedTool, description: 'x'.repeat(2_000) },
      { detail: 'summary', isLoaded: true },
    );
    expect(description).toBe(`${'x'.repeat(500)}… (2,000 characters in all)`);
  });
});

describe('describeHit', () => {
  const longText = 'Create an issue\nin a repository. It may have labels, assignees and a milestone.';
  const issueTool = {
    name: 'create_issue',
    alias: 'create_issue',
    description: longText,
    inputSchema: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
  };
  const options = { detail: 'summary', isLoaded: false, score: 7.4567 } as const;

  test('a hit is short: signature, first sentence and score', () => {
    expect(describeHit(server, issueTool, options)).toEqual({
      server: 'git-hub',
      serverAlias: 'git_hub',
      tool: 'create_issue',
      toolAlias: 'create_issue',
      signature: 'create_issue(title: str)',
      description: 'Create an issue in a repository.',
      loaded: false,
      load: "servers=['git-hub']",
      score: 75,
    });
  });

  test('leaves out `load` for a loaded server, and an empty description', () => {
    const hit = describeHit(server, { ...issueTool, description: ' ' }, { ...options, isLoaded: true });
    expect(Object.keys(hit)).toEqual(['server', 'serverAlias', 'tool', 'toolAlias', 'signature', 'loaded', 'score']);
  });

  test('cuts a long sentence, but not with detail `full`', () => {
    const verbose = { ...issueTool, description: `Creates ${'very '.repeat(100)}much.` };
    expect(describeHit(server, verbose, options).description).toMatch(/^Creates very .{100,165}…$/);
    expect(describeHit(server, verbose, { ...options, detail: 'full' })).toMatchObject({
      description: verbose.description,
      inputSchema: { type: 'object' },
    });
  });
});

describe('toolMetadata', () => {
  test('is a summary that also lists parameters with another name in Python', () => {
    expect(toolMetadata(server, storedTool, true)).toEqual({
      ...describeTool(server, storedTool, { detail: 'summary', isLoaded: true }),
      name: 'create-issue',
      alias: 'create_issue',
      description: 'Creates an issue.',
      input_schema: storedTool.inputSchema,
      parameter_aliases: { from: 'from_' },
    });
  });
});
