import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { serverStub } from '../../../src/core/catalog/stubs.ts';

const server = { name: 'git-hub', alias: 'git_hub', description: '' };
const point = { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] };

function tool(alias: string, properties: Record<string, unknown>, description = '') {
  return { name: alias, alias, description, inputSchema: { type: 'object', properties } };
}

test('imports only what it uses, and defines a shared type once', () => {
  const tools = [
    tool('move', { to: point, mode: { enum: ['fast'] } }, 'Moves it. Slowly.'),
    tool('find', { near: point, options: { properties: { deep: { type: 'boolean' } } } }),
  ].map((one) => ({ tool: one }));
  expect(serverStub(server, tools)).toBe(`\
# mcp_git_hub: await mcp_git_hub.name(...). "= ..." is the server's own default.
from typing import Literal, TypedDict
class MoveTo(TypedDict): x: float
async def move(to: MoveTo = ..., mode: Literal['fast'] = ...): 'Moves it.'
class FindOptions(TypedDict, total=False): deep: bool
async def find(near: MoveTo = ..., options: FindOptions = ...): ...
`);
});

test('numbers different types whose names would be equal', () => {
  const tools = [tool('a_b', { c: point }), tool('aB', { c: { properties: { y: {} } } })].map((one) => ({ tool: one }));
  expect(serverStub(server, tools)).toMatch(/class ABC\(.*\n.*\nclass ABC2\(/);
});

test('shows the variants of arguments', () => {
  const act = { ...tool('act', {}), inputSchema: { oneOf: [{ required: ['a'] }, { required: ['b'] }] } };
  expect(serverStub(server, [{ tool: act }])).toMatch(
    /\n# act, one of: a\n# or: b\nasync def act\(a=\.\.\., b=\.\.\.\): \.\.\.\n$/,
  );
});

test('marks an observed result', () => {
  const observed = { type: 'array', items: { type: 'integer' } };
  expect(serverStub(server, [{ tool: tool('list', {}), observed }])).toContain(
    'async def list() -> list[int]: ...  # result as observed',
  );
});

/** Tools with an object, a long description and a limit. */
function manyTools(count: number) {
  return Array.from({ length: count }, (_, index) => {
    const issue = { properties: { title: { type: 'string', maxLength: 80 }, [`label_${index}`]: { type: 'string' } } };
    const properties = { issue, limit: { type: 'integer', minimum: 1, maximum: 100 } };
    return { tool: tool(`create_issue_${index}`, properties, `Creates an issue of kind ${index} in the project.`) };
  });
}

test.each([
  [10, /^class CreateIssue0Issue\(TypedDict/m, /Shortened/],
  [30, /Shortened to 1500 .* types are left out\.[^]*issue: dict = .*'Creates an issue of kind 29/, /class/],
  [45, /Shortened to 1500 .* types and descriptions are left out\.[^]*create_issue_44\(.*: \.\.\.$/m, /class|Creates/],
  [
    120,
    /Shortened to 1500 .* types are left out, and \d+ tools have no signature\.[^]*def create_issue_19\([^]*\n# Also: create_issue_\d+, .*, create_issue_119\.$/m,
    /class/,
  ],
  [
    1_000,
    /and \d+ tools have no signature\.[^]*def create_issue_9\([^]*\n# Also: create_issue_\d+, .*, … \(\d+ more\)\.$/m,
    /class/,
  ],
])('a stub of %i tools fits into a limit', (count, expected, unexpected) => {
  const stub = serverStub(server, manyTools(count), { maxTokens: 1_500 });
  expect(stub).toMatch(expected);
  expect(stub).not.toMatch(unexpected);
  expect(encode(stub).length).toBeLessThanOrEqual(1_500);
});

test('a tool is shown or named once, whatever the limit is', () => {
  const tools = manyTools(120);
  for (const maxTokens of [100, 200, 400, 800, 1_500, 3_000]) {
    const stub = serverStub(server, tools, { maxTokens });
    const signed = [...stub.matchAll(/^async def (\w+)/gm)].map(([, name]) => name);
    const [, named = '', more = '0'] = /^# Also: (.*?)(?:(?:, )?… \((\d+) more\))?\.$/m.exec(stub) ?? [];
    const names = [...signed, ...named.split(', ').filter((name) => name !== '')];
    expect(new Set(names).size).toBe(names.length);
    expect(names.length + Number(more)).toBe(120);
  }
});

test('a shortened stub says how to see the rest, and how the tools were chosen', () => {
  const tools = manyTools(30);
  const options = { maxTokens: 1_500, choice: "30 of 99 tools, chosen by 'issue'" };
  const [, choice, , more] = serverStub(server, tools, options).split('\n');
  expect(choice).toBe("# 30 of 99 tools, chosen by 'issue'.");
  expect(more).toMatch(/^# runtime\.stubs\('git-hub', 'create_issue_0'\); max_tokens=\d+ shows everything\.$/);
  const maxTokens = Number(/max_tokens=(\d+)/.exec(more ?? '')?.[1]);
  expect(serverStub(server, tools, { maxTokens })).toBe(serverStub(server, tools));
});
