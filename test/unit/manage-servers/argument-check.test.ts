import { describe, expect, test } from 'vitest';
import { checkToolArguments } from '../../../src/manage-servers/argument-check.ts';

const SERVER = { name: 'git-hub', alias: 'git_hub', description: '' };
const TOOL = {
  name: 'create-issue',
  alias: 'create_issue',
  description: '',
  inputSchema: {
    type: 'object',
    properties: {
      title: { type: 'string' },
      'issue-number': { type: 'integer', minimum: 1 },
      state: { enum: ['open', 'closed'] },
      filter: { type: 'object', properties: { labels: { type: 'array', items: { type: 'string' } } } },
      maybe: { type: ['string', 'null'] },
    },
    required: ['title'],
    additionalProperties: false,
  },
};
const check = (given: Readonly<Record<string, unknown>>) => checkToolArguments(SERVER, TOOL, Object.entries(given));

describe('arguments of a person', () => {
  test('get the names that the server knows; null that is not allowed is left out', async () => {
    expect(await check({ title: 'x', issue_number: 3, state: null, maybe: null })).toEqual({
      title: 'x',
      'issue-number': 3,
      maybe: null,
    });
  });

  test.each([
    [{}, 'title is missing'],
    [{ title: 5 }, 'title must be str, not 5 (int)'],
    [{ title: 'x', issue_number: 'a' }, "issue_number must be int, not 'a' (str)"],
    [{ title: 'x', 'issue-number': 0 }, 'issue_number must be at least 1, not 0 (int)'],
    [
      { title: 'x', state: 'opne' },
      "state must be one of 'open', 'closed', not 'opne' (str). Did you mean 'open' or 'closed'?",
    ],
    [{ title: 'x', filter: { labels: ['a', 1] } }, 'filter.labels[1] must be str, not 1 (int)'],
    [{ titel: 'x' }, "titel is not a parameter of this tool. Did you mean 'title' or 'state'?"],
    [{ title: 'x', zzz: 1 }, 'zzz is not a parameter of this tool'],
    [{ title: 'x', 'issue-number': 1, issue_number: 1 }, 'issue_number was given twice'],
  ])('%j is refused', async (given, why) => {
    await expect(check(given)).rejects.toMatchObject({
      code: 'TOOL_ARGUMENT_INVALID',
      message: `git-hub.create-issue: ${why}`,
      hint: expect.stringMatching(/^The signature is create_issue\(title: str, /),
    });
  });
});

test('a schema without an end is left to the server', async () => {
  const endless = { ...TOOL, inputSchema: { properties: { title: {} }, allOf: [{ allOf: [{ $ref: '#' }] }] } };
  expect(await checkToolArguments(SERVER, endless, [['title', 5]])).toEqual({ title: 5 });
});
