/** How the person sees a question of a server, and which questions are refused. */
import { describe, expect, it, test } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import type { Question, Reply } from '../../../src/core/base/cell.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { elicitFor } from '../../../src/core/calls/server-questions.ts';
import type { Asker } from '../../../src/core/session/asker.ts';

const yes: Reply = { action: 'accept', content: { name: 'Ada' } };
const form = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

/** Asks for the server `git\nhub`; gives the result and the question that the person got. */
async function ask(params: Record<string, unknown>, more: Partial<Asker> = {}) {
  const asked: Question[] = [];
  const asker: Asker = {
    code: '',
    opensPages: true,
    async ask(question) {
      asked.push(question);
      return yes;
    },
    ...more,
  };
  const elicit = elicitFor('git\nhub', asker, silentLogger);
  const result = await elicit?.(params, new CancelSource());
  return { result, question: asked[0] };
}

test('a form names its server and quotes its text', async () => {
  const message = `Who are you?\n\nServer 'files' asks:\u2028> \u202ehidden${' '.repeat(99)}far`;
  expect(await ask({ message, requestedSchema: form })).toEqual({
    result: yes,
    question: {
      mode: 'form',
      message: `Server 'git hub' asks:

> Who are you?
>
> Server 'files' asks:
> > <U+202E>hidden<99 spaces>far

The text above and the fields come from the server, and what you enter goes to it.`,
      requestedSchema: form,
    },
  });
});

test('a page is shown with its host', async () => {
  const { question } = await ask({ mode: 'url', message: 'Log in', url: 'https://ex\u00e4mple.com/a?b=c d' });
  expect(question).toMatchObject({ mode: 'url', url: 'https://xn--exmple-cua.com/a?b=c%20d' });
  expect(question?.message).toContain("Server 'git hub' asks you to open a page:\n\n> Log in\n");
  expect(question?.message).toContain('The page is on xn--exmple-cua.com;');
});

test('hidden characters in the texts of a form are made visible', async () => {
  const requestedSchema = {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Na\u200bme\n', description: 'x'.repeat(9_000), enumNames: ['a\u200b'] },
    },
  };
  const { question } = await ask({ message: 'x', requestedSchema });
  expect(JSON.stringify(question)).toContain('"title":"Na<U+200B>me"');
  expect(JSON.stringify(question)).toContain('"enumNames":["a<U+200B>"]');
  expect(JSON.stringify(question).length).toBeLessThan(1_000);
});

describe('a question is refused', () => {
  const properties = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`f${index}`, { type: 'string' }]));
  it.each<[string, Record<string, unknown>]>([
    ['without a message', { requestedSchema: form }],
    ['without a form', { message: 'x' }],
    ['with a form that is none', { message: 'x', requestedSchema: { type: 'array' } }],
    ['with too many fields', { message: 'x', requestedSchema: { type: 'object', properties } }],
    [
      'with a form that is too large',
      {
        message: 'x',
        requestedSchema: { ...form, properties: { a: { type: 'string', description: 'x'.repeat(40_000) } } },
      },
    ],
    [
      'with invisible characters in a value',
      { message: 'x', requestedSchema: { type: 'object', properties: { a: { type: 'string', enum: ['a\u200b'] } } } },
    ],
    [
      'with invisible characters in a name',
      { message: 'x', requestedSchema: { type: 'object', properties: { 'a\u200b': {} } } },
    ],
    [
      'with a choice of several lines, which could pass for the end of its words',
      { message: 'x', requestedSchema: { type: 'object', properties: { a: { enum: ["b\n\nServer 'c' asks:"] } } } },
    ],
    [
      'with a titled choice of several lines',
      {
        message: 'x',
        requestedSchema: { type: 'object', properties: { a: { oneOf: [{ const: 'b\nc', title: 'd' }] } } },
      },
    ],
    [
      'with a name of several lines',
      { message: 'x', requestedSchema: { type: 'object', properties: { 'a\tb\nc': {} } } },
    ],
    ['with a file for a page', { mode: 'url', message: 'x', url: 'file:///etc/passwd' }],
    ['with a script for a page', { mode: 'url', message: 'x', url: 'javascript:alert(1)' }],
    ['with a password in the address', { mode: 'url', message: 'x', url: 'https://a:b@example.com' }],
    ['with no address', { mode: 'url', message: 'x' }],
    ['with a long address', { mode: 'url', message: 'x', url: `https://example.com/${'x'.repeat(3_000)}` }],
  ])('%s', async (_, params) => {
    await expect(ask(params)).rejects.toMatchObject({ kind: 'malformed' });
  });

  it('with a page, if the client cannot open pages', async () => {
    const page = { mode: 'url', message: 'x', url: 'https://example.com' };
    await expect(ask(page, { opensPages: false })).rejects.toThrow('this client cannot open pages');
  });

  it('if the person cannot be asked', () => {
    expect(elicitFor('github', undefined, silentLogger)).toBeUndefined();
  });
});

test.each(['APPROVAL_TIMEOUT', 'APPROVAL_UNAVAILABLE', 'CALL_CANCELLED'] as const)(
  'a question that ends with %s is a closed one to the server',
  async (code) => {
    const { result } = await ask(
      { message: 'x', requestedSchema: form },
      { ask: () => Promise.reject(new BridgeError(code, 'no')) },
    );
    expect(result).toEqual({ action: 'cancel' });
  },
);
