import { expect, test } from 'vitest';
import { firstSentence } from '../../../src/catalog/first-sentence.ts';
import { serverStub } from '../../../src/catalog/stubs.ts';

const server = { name: 'git-hub', alias: 'git_hub', description: '' };
const point = { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] };

function tool(alias: string, properties: Record<string, unknown>, description = '') {
  return { name: alias, alias, description, inputSchema: { type: 'object', properties } };
}

test('what is imported is what is used; a type that tools share is defined once', () => {
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

test('different types of tools whose names read alike are told apart', () => {
  const tools = [tool('a_b', { c: point }), tool('aB', { c: { properties: { y: {} } } })].map((one) => ({ tool: one }));
  expect(serverStub(server, tools)).toMatch(/class ABC\(.*\n.*\nclass ABC2\(/);
});

test('an observed result says so', () => {
  const observed = { type: 'array', items: { type: 'integer' } };
  expect(serverStub(server, [{ tool: tool('list', {}), observed }])).toContain(
    'async def list() -> list[int]: ...  # result as observed',
  );
});

test.each([
  ['Does it. And more.', 'Does it.'],
  ['  Version 1.2 of\n the thing! Yes', 'Version 1.2 of the thing!'],
  ['no end', 'no end'],
  ['', ''],
  ['x'.repeat(500), `${'x'.repeat(119)}…`],
])('the first sentence of %j', (text, sentence) => {
  expect(firstSentence(text)).toBe(sentence);
});
