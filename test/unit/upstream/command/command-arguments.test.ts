import { describe, expect, it } from 'vitest';
import { parseExact } from '../../../../src/core/protocol/exact-json.ts';
import { RequestError } from '../../../../src/core/protocol/server-requests.ts';
import { SubcommandsSchema } from '../../../../src/edges/servers/subcommands.ts';
import { buildCommand } from '../../../../src/edges/upstream/command/command-arguments.ts';
import { toolsOf } from '../../../../src/edges/upstream/command/command-tools.ts';

/** A subcommand as an entry declares it. */
function subcommand(entry: unknown) {
  const { it: read } = SubcommandsSchema.parse({ it: entry });
  if (read === undefined) {
    throw new Error('not read');
  }
  return read;
}

const parameters = {
  limit: { type: 'integer', default: 30 },
  label: {},
  draft: { type: 'boolean' },
  name: {},
  body: {},
};
const list = subcommand({
  args: ['list', '--limit={limit}', ['--label', '{label}'], { flag: '--draft', if: 'draft' }, '{name}', ['at:{body}']],
  parameters,
});

describe('the arguments of a program', () => {
  it.each([
    [{ name: 'a' }, ['list', '--limit=30', 'a']],
    [{ name: 'a b; $(c)', limit: 5 }, ['list', '--limit=5', 'a b; $(c)']],
    [{ name: '', draft: true, label: 'x' }, ['list', '--limit=30', '--label', 'x', '--draft', '']],
    [{ name: 'a', draft: false, label: null }, ['list', '--limit=30', 'a']],
    [{ name: 'a', label: ['x', 'y'] }, ['list', '--limit=30', '--label', 'x', '--label', 'y', 'a']],
    [{ name: 'a', label: [] }, ['list', '--limit=30', 'a']],
    [{ name: ['a', 'b'] }, ['list', '--limit=30', 'a', 'b']],
    [{ name: { a: [1] }, limit: null }, ['list', '--limit=30', '{"a":[1]}']],
    [{ name: '{limit}', body: '-x' }, ['list', '--limit=30', '{limit}', 'at:-x']],
    [parseExact('{"name": 12345678901234567890}'), ['list', '--limit=30', '12345678901234567890']],
  ])('of %j', (args, expected) => {
    expect(buildCommand(list, args as Record<string, unknown>)).toEqual({ args: expected, stdin: '' });
  });

  it.each([
    [{}, 'the argument "name" is missing'],
    [{ name: '-x' }, '"name" begins with "-", which the program would read as an option'],
    [{ name: ['a', '--all'] }, '"name" begins with "-", which the program would read as an option'],
    [{ name: 'a', label: '--web' }, '"label" begins with "-", which the program would read as an option'],
    [{ name: -5 }, '"name" begins with "-", which the program would read as an option'],
    [{ name: 'a\0' }, '"name" contains a NUL character'],
    [{ name: 'a'.repeat(100_001) }, '"name" is longer than 100,000 bytes'],
    [{ name: Array.from({ length: 5_000 }, () => 'a') }, 'the command has 5002 arguments; the limit is 5000'],
    [{ name: 'a', other: 1 }, 'there is no argument "other"'],
    [JSON.parse('{"name": "a", "__proto__": 1}'), 'there is no argument "__proto__"'],
  ])('are refused for %.40j', (args, message) => {
    expect(() => buildCommand(list, args)).toThrow(new RequestError('rpc', message, { code: -32_602 }));
  });

  it('may begin with a dash if they are declared so, or after --', () => {
    const free = subcommand({ args: ['{a}', '--', '{b}'], parameters: { a: { mayBeginWithDash: true }, b: {} } });
    expect(buildCommand(free, { a: '-1', b: '--all' }).args).toEqual(['-1', '--', '--all']);
    // A value is no end of options.
    const given = subcommand({ args: ['{a}', '{b}'], parameters: { a: { mayBeginWithDash: true }, b: {} } });
    expect(() => buildCommand(given, { a: '--', b: '--all' })).toThrow('"b" begins with "-"');
    const group = subcommand({ args: [['--', '{a}'], '{b}'], parameters: { a: {}, b: {} } });
    expect(buildCommand(group, { a: '-1', b: 'c' }).args).toEqual(['--', '-1', 'c']);
    const two = subcommand({ args: ['{a}{b}'], parameters: { a: {}, b: {} } });
    expect(() => buildCommand(two, { a: '', b: '-x' })).toThrow('"a", "b" begins with "-"');
  });

  it('have braces where they are doubled', () => {
    const braces = subcommand({ args: ['{{a}} {{{a}}} { } {1}'], parameters: { a: {} } });
    expect(buildCommand(braces, { a: 'x' }).args).toEqual(['{a} {x} { } {1}']);
  });

  it('are repeated for one list only', () => {
    const two = subcommand({ args: [['{a}', '{b}']], parameters: { a: {}, b: {} } });
    expect(() => buildCommand(two, { a: [1], b: [2] })).toThrow('only one of "a" and "b" can be a list');
    expect(buildCommand(two, { a: [1, 2], b: 3 }).args).toEqual(['1', '3', '2', '3']);
  });

  it('may leave one for standard input', () => {
    const input = subcommand({ args: ['-'], parameters: { body: {} }, stdin: 'body' });
    expect(buildCommand(input, { body: '--x\0' })).toEqual({ args: ['-'], stdin: '--x\0' });
    expect(buildCommand(input, { body: { a: 1 } }).stdin).toBe('{"a":1}');
    expect(buildCommand(input, {}).stdin).toBe('');
  });
});

it('tools say what they need and whether they change something', () => {
  const tools = toolsOf({ list, look: subcommand({ description: 'Looks.', readOnly: true, args: ['look'] }) });
  expect(tools).toEqual([
    {
      name: 'list',
      inputSchema: { type: 'object', properties: parameters, required: ['name'], additionalProperties: false },
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    },
    {
      name: 'look',
      description: 'Looks.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
    },
  ]);
  const [free] = toolsOf({
    a: subcommand({ args: ['{a}'], parameters: { a: { type: 'string', mayBeginWithDash: true } } }),
  });
  expect(free?.inputSchema['properties']).toEqual({ a: { type: 'string' } });
});

describe('a declaration', () => {
  it.each([
    [{ args: ['{a}'] }, 'write {{a}} for a text in braces'],
    [{ args: [['x', '{a}']] }, 'uses {a}'],
    [{ args: [{ flag: '-x', if: 'a' }] }, 'uses {a}'],
    [{ stdin: 'a' }, 'uses {a}'],
    [{ parameters: { a: {} } }, 'does not use the parameter a'],
    [{ parameters: { 'a b': {} } }, 'must be a name of letters, digits and _'],
    [{ args: ['{a}'], parameters: { a: 'text' } }, 'must be a JSON Schema'],
    [{ args: [1] }, 'must be a text, a list of texts'],
    [{ args: ['a\0'] }, 'must not contain a NUL character'],
    [{ args: [[]] }, 'expected array to have >=1 items'],
    [{ args: ['${secret:KEY}'] }, 'cannot refer to secrets, files or variables'],
    [{ arguments: [] }, 'Unrecognized key'],
  ])('like %j is refused', (entry, message) => {
    const { success, error } = SubcommandsSchema.safeParse({ it: entry });
    expect([success, error?.message]).toEqual([false, expect.stringContaining(message)]);
  });
});
