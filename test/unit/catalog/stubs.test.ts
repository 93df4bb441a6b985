import { expect, test } from 'vitest';
import { serverStub } from '../../../src/catalog/stubs.ts';

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

test('marks an observed result', () => {
  const observed = { type: 'array', items: { type: 'integer' } };
  expect(serverStub(server, [{ tool: tool('list', {}), observed }])).toContain(
    'async def list() -> list[int]: ...  # result as observed',
  );
});
