import { expect, test } from 'vitest';
import { describeHit } from '../../../src/catalog/describe-hit.ts';

const SERVER = { name: 'git-hub', alias: 'git_hub', description: '' };
const DESCRIPTION = 'Create an issue\nin a repository. It may have labels, assignees and a milestone.';
const TOOL = {
  name: 'create_issue',
  alias: 'create_issue',
  description: DESCRIPTION,
  inputSchema: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
};
const OPTIONS = { detail: 'summary', isLoaded: false, score: 7.4567 } as const;

test('a hit is short: how it is called, the first sentence in one line, and a score', () => {
  expect(describeHit(SERVER, TOOL, OPTIONS)).toEqual({
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

test('a loaded one needs no help, and one without a description has none', () => {
  const hit = describeHit(SERVER, { ...TOOL, description: ' ' }, { ...OPTIONS, isLoaded: true });
  expect(Object.keys(hit)).toEqual(['server', 'serverAlias', 'tool', 'toolAlias', 'loaded', 'signature', 'score']);
});

test('a long sentence is cut, and all of it is there in full detail', () => {
  const tool = { ...TOOL, description: `Creates ${'very '.repeat(100)}much.` };
  expect(describeHit(SERVER, tool, OPTIONS).description).toMatch(/^Creates very .{100,165}…$/);
  expect(describeHit(SERVER, tool, { ...OPTIONS, detail: 'full' })).toMatchObject({
    description: tool.description,
    inputSchema: { type: 'object' },
  });
});
