import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { Question } from '../../../src/core/base/cell.ts';
import { createTerminalPerson } from '../../../src/edges/terminal/terminal-person.ts';

function form(properties: Readonly<Record<string, unknown>>, required: readonly string[] = []): Question {
  return { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties, required } };
}

/** The reply of a person who types these lines, and the text they see. */
async function ask(question: Question, lines: string) {
  const input = new PassThrough();
  const output = new PassThrough();
  const shown = text(output);
  const person = createTerminalPerson({ input, output });
  const reply = person.ask(question, new AbortController().signal);
  for (const line of lines.split('\n')) {
    input.write(`${line}\n`);
    // The next question is asked in a later turn; a line that arrives before it would be lost.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  input.end();
  const given = await reply;
  output.end();
  return { ...given, shown: await shown };
}

const COLOURS = { type: 'string', enum: ['red', 'green'], title: 'Colour', description: 'of the door' };

describe('a person at a terminal', () => {
  test('fills in one field after the other', async () => {
    const properties = {
      name: { type: 'string' },
      age: { type: 'integer' },
      sure: { type: 'boolean' },
      colour: COLOURS,
      many: { type: 'array', items: { enum: ['a', 'b', 'c'] } },
    };
    const { action, content, shown } = await ask(form(properties), 'Ann\n40\nyes\n2\n1, c');
    expect([action, content]).toEqual([
      'accept',
      { name: 'Ann', age: 40, sure: true, colour: 'green', many: ['a', 'c'] },
    ]);
    expect(shown).toContain('Who?\nname\n');
    expect(shown).toContain('Colour: of the door\n  1) red\n  2) green\n');
  });

  test('is asked again after an invalid answer', async () => {
    expect(await ask(form({ colour: COLOURS }), 'blue\n3\nred')).toMatchObject({ content: { colour: 'red' } });
    expect(await ask(form({ age: { type: 'integer' } }), 'x\n1.5\n7')).toMatchObject({ content: { age: 7 } });
  });

  test('may skip an optional field, cancels with an empty required one, and accepts a default', async () => {
    expect(await ask(form({ name: { type: 'string' } }), '')).toMatchObject({ action: 'accept', content: {} });
    expect(await ask(form({ name: { type: 'string' } }, ['name']), '')).toMatchObject({ action: 'cancel' });
    const number = await ask(form({ n: { type: 'integer', default: 3 } }), '');
    expect(number).toMatchObject({ content: { n: 3 }, shown: expect.stringContaining('(integer; empty: 3) ') });
    const decision = await ask(form({ sure: { type: 'boolean', default: false } }), '');
    expect(decision).toMatchObject({ content: { sure: false }, shown: expect.stringContaining('(y or n; empty: n) ') });
  });

  test('who leaves cancels the question, and pages are not opened', async () => {
    const input = new PassThrough();
    const person = createTerminalPerson({ input, output: new PassThrough().resume() });
    const reply = person.ask(form({ name: { type: 'string' } }), new AbortController().signal);
    input.end();
    expect(await reply).toEqual({ action: 'cancel' });
    const page: Question = { mode: 'url', message: 'x', url: 'https://x.test' };
    expect(await person.ask(page, new AbortController().signal)).toEqual({ action: 'cancel' });
  });

  test('is no longer asked if the question is withdrawn', async () => {
    const taken = new AbortController();
    const person = createTerminalPerson({ input: new PassThrough(), output: new PassThrough().resume() });
    const reply = person.ask(form({ name: { type: 'string' } }), taken.signal);
    taken.abort();
    await expect(reply).rejects.toMatchObject({ name: 'AbortError' });
  });
});
