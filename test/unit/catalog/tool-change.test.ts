import { expect, it } from 'vitest';
import { withChange } from '../../../src/core/catalog/tool-change.ts';

const TOOL = {
  name: 'read',
  title: 'Read!',
  description: 'Reads!',
  inputSchema: {
    type: 'object',
    description: 'All!',
    properties: {
      description: { type: 'string', description: 'What!', default: 'x!', enum: ['a', 'b'] },
      list: { items: [{ title: 'One!', $comment: '!' }] },
      'read this first!': { type: 'string' },
      either: {
        anyOf: [{ type: ['null', 'any!'] }, { const: 'Constant!', format: 'Format!', pattern: '!', 'x-own': '!' }],
      },
    },
    $defs: { title: { type: 'integer', examples: ['!'] } },
    required: ['description', 'read this first!'],
    additionalProperties: false,
    patternProperties: { 'Pattern!': {} },
    'x-own': '!',
  },
  outputSchema: { description: 'Out!' },
  annotations: { title: 'Hint!' },
  hiddenTexts: [['a<U+200B>', 'a\u200b']] as const,
  fingerprint: 'f',
};

it('notes a change before the description', () => {
  const change = { parts: ['description', 'input schema'], since: '2026-11-21', isRefused: false };
  const { description, ...rest } = withChange(TOOL, change, 'Approve it.');
  expect(description).toBe('[changed since 2026-11-21: description, input schema]\nReads!');
  expect(rest).toMatchObject({ title: 'Read!', change });
});

// Texts in `enum`, in keywords of the server's own and in names of parameters were still shown.
it('removes all prose of a refused tool, but keeps the names and types of its parameters', () => {
  const change = { parts: [], since: '', isRefused: true };
  expect(withChange(TOOL, change, 'Approve it.')).toEqual({
    name: 'read',
    description: '[refused: not accepted yet] Approve it.',
    inputSchema: {
      type: 'object',
      properties: { description: { type: 'string' }, list: { items: {} }, either: { anyOf: [{ type: ['null'] }, {}] } },
      required: ['description'],
      additionalProperties: false,
    },
    hiddenTexts: [['a<U+200B>', 'a\u200b']],
    fingerprint: 'f',
    change,
  });
});
