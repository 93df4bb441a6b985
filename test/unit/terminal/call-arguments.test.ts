import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseExact, stringifyExact } from '../../../src/core/protocol/exact-json.ts';
import { readJsonArguments, readPairs, typeArguments } from '../../../src/edges/terminal/call-arguments.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    flag: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    numbers: { type: 'array', items: { $ref: '#/$defs/number' } },
    filter: { type: 'object' },
    maybe: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    label: { type: ['string', 'null'] },
    either: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'integer' } }] },
    level: { enum: [1, 2, 'high'] },
    nested: { allOf: [{ title: 'x' }, { type: 'integer' }] },
    'issue-number': { type: 'integer' },
    anything: {},
  },
  $defs: { number: { type: 'integer' } },
};

/** The parsed arguments, as the server would get them. */
const read = async (...words: string[]) => Object.fromEntries(typeArguments(await readPairs(words), SCHEMA));

describe('an argument from the command line', () => {
  test.each([
    ['text=5', '5'],
    ['text=true', 'true'],
    ['text={"a":1}', '{"a":1}'],
    ['text=', ''],
    ['text=a=b', 'a=b'],
    ['text=@@me', '@me'],
    ['count=5', 5],
    ['count=-3', -3],
    ['count=five', 'five'],
    ['count=007', '007'],
    ['ratio=1.5', 1.5],
    ['ratio=1e3', 1000],
    ['flag=true', true],
    ['flag=yes', 'yes'],
    ['tags=["a", "b"]', ['a', 'b']],
    ['tags=a', ['a']],
    ['tags=5', ['5']],
    ['tags=[a', '[a'],
    ['numbers=7', [7]],
    ['filter={"state": "open"}', { state: 'open' }],
    ['filter={state}', '{state}'],
    ['maybe=null', null],
    ['maybe=4', 4],
    ['label=null', 'null'],
    ['either=x', 'x'],
    ['either=5', '5'],
    ['either=[1]', [1]],
    ['level=2', '2'],
    ['nested=3', 3],
    ['issue-number=12', 12],
    ['issue_number=12', 12],
    ['anything=12', 12],
    ['anything=twelve', 'twelve'],
    ['anything="12"', '"12"'],
    ['anything=[1]', [1]],
    ['unknown=1', 1],
  ])('%s', async (word, expected) => {
    expect(Object.values(await read(word))).toEqual([expected]);
  });

  test('becomes a list if its name is repeated and the schema allows one', async () => {
    expect(await read('tags=a', 'tags=5')).toEqual({ tags: ['a', '5'] });
    expect(await read('numbers=1', 'numbers=2')).toEqual({ numbers: [1, 2] });
    expect(typeArguments(await readPairs(['text=a', 'text=b']), SCHEMA)).toEqual([
      ['text', 'a'],
      ['text', 'b'],
    ]);
  });

  test('keeps all digits of a number', async () => {
    expect(stringifyExact(await read('count=12345678901234567890'))).toBe('{"count":12345678901234567890}');
  });

  test('can be the content of a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'call-arguments-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'note.txt'), 'two\nlines\n');
    writeFileSync(join(folder, 'odd.bin'), Buffer.from([0xff, 0xfe]));
    expect(await read(`text=@${join(folder, 'note.txt')}`)).toEqual({ text: 'two\nlines\n' });
    await expect(read(`text=@${join(folder, 'odd.bin')}`)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    await expect(read('text=@/no/such')).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringContaining('could not read /no/such as UTF-8 text: ENOENT'),
      hint: expect.stringContaining('@@'),
    });
  });

  test.each(['path', '=x', ''])('%j is none', async (word) => {
    await expect(read(word)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      hint: expect.stringContaining('name=value'),
    });
  });
});

describe('arguments as JSON', () => {
  test('are an object that keeps all digits of numbers', () => {
    const [first] = readJsonArguments('{"count": 12345678901234567890}');
    expect(first).toEqual(['count', parseExact('12345678901234567890')]);
  });

  test.each(['[1]', '1', '{', ''])('%j is none', (text) => {
    expect(() => readJsonArguments(text)).toThrow(/^--json-args must be a JSON object: /);
  });
});

test('parsing gives up early on a schema that refers to itself a thousand times', () => {
  const loop = {
    anyOf: Array.from({ length: 1_000 }, () => ({ $ref: '#/$defs/loop' })),
    allOf: [{ $ref: '#/$defs/loop' }],
  };
  const schema = { properties: { x: { $ref: '#/$defs/loop' } }, $defs: { loop } };
  expect(typeArguments([['x', '5']], schema)).toEqual([['x', 5]]);
});
