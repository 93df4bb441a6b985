/** Edits of files: one entry is added and removed, and every other byte stays. */
import { describe, expect, it } from 'vitest';
import { FileSyntaxError, UnsafeEditError } from '../../../src/edges/clients/file-format.ts';
import { loadFormat } from '../../../src/edges/clients/format.ts';
import type { FileFormatName } from '../../../src/edges/clients/table.ts';

const ENTRY = { command: 'npx', args: ['-y', 'x'] };

interface Edit {
  readonly title: string;
  readonly format: FileFormatName;
  readonly keys: readonly string[];
  readonly before: string;
  readonly after: string;
}

const JSON_ENTRY = (indent: string, unit = '  ') =>
  [
    `"new": {`,
    `${unit}"command": "npx",`,
    `${unit}"args": [`,
    `${unit}${unit}"-y",`,
    `${unit}${unit}"x"`,
    `${unit}]`,
    '}',
  ]
    .map((line) => indent + line)
    .join('\n');

const EDITS: readonly Edit[] = [
  {
    title: 'json: after the last, with its comment and trailing comma',
    format: 'json',
    keys: ['s'],
    before: `{\n  // top\n  "s": {\n    "a": { "command": "a" }, // about a\n  },\n  "z": [1,2]\n}\n`,
    after: `{\n  // top\n  "s": {\n    "a": { "command": "a" }, // about a\n${JSON_ENTRY('    ')},\n  },\n  "z": [1,2]\n}\n`,
  },
  {
    title: 'json: after the last, without a comma',
    format: 'json',
    keys: ['s'],
    before: `{"x":1,\n\t"s": {\n\t\t"a": {} /* a */ // b\n\t}\n}`,
    after: `{"x":1,\n\t"s": {\n\t\t"a": {}, /* a */ // b\n${JSON_ENTRY('\t\t', '\t')}\n\t}\n}`,
  },
  {
    title: 'json: in one line',
    format: 'json',
    keys: ['s'],
    before: `{"s":{"a":{}}}`,
    after: `{"s":{"a":{}, "new": {"command":"npx","args":["-y","x"]}}}`,
  },
  {
    title: 'json: into an empty object',
    format: 'json',
    keys: ['s'],
    before: `{\n  "s": {},\n  "t": 1\n}\n`,
    after: `{\n  "s": {\n${JSON_ENTRY('    ')}\n  },\n  "t": 1\n}\n`,
  },
  {
    title: 'json: into an object with a comment alone',
    format: 'json',
    keys: ['s'],
    before: `{\n  "s": {\n    // none yet\n  }\n}\n`,
    after: `{\n  "s": {\n    // none yet\n${JSON_ENTRY('    ')}\n  }\n}\n`,
  },
  {
    title: 'toml: at the end',
    format: 'toml',
    keys: ['s'],
    before: `# mine\na = 1 # one\n\n[s.old]\ncommand = 'x'\n# last\n`,
    after: `# mine\na = 1 # one\n\n[s.old]\ncommand = 'x'\n# last\n\n[s.new]\ncommand = "npx"\nargs = ["-y", "x"]\n`,
  },
  {
    title: 'yaml: after the last, with its indentation',
    format: 'yaml',
    keys: ['s'],
    before: `# mine\nA: x   # a\ns:\n    old:\n        cmd: "y"\n\n# tail\nB: 1\n`,
    after: `# mine\nA: x   # a\ns:\n    old:\n        cmd: "y"\n    new:\n        command: npx\n        args:\n            - -y\n            - x\n\n# tail\nB: 1\n`,
  },
];

describe.each(EDITS)('$title', ({ format: name, keys, before, after }) => {
  it.each([
    ['with line feeds', (text: string) => text],
    ['with carriage returns', (text: string) => text.replaceAll('\n', '\r\n')],
  ])('is added and removed %s', async (_title, eol) => {
    const format = await loadFormat(name);
    expect(format.add(eol(before), { keys, name: 'new' }, ENTRY)).toBe(eol(after));
    // An empty object on one line then takes two lines; everything else is unchanged.
    const removed = format.remove(eol(after), { keys, name: 'new' });
    expect(removed.replace(/\{\s+\}/, '{}')).toBe(eol(before));
  });
});

describe('removing', () => {
  const text = `{\n  "s": {\n    // first\n    "a": {}, // a\n    "b": {\n      "x": 1\n    },\n    "c": {} // c\n  }\n}\n`;
  it.each([
    ['a', `{\n  "s": {\n    // first\n    "b": {\n      "x": 1\n    },\n    "c": {} // c\n  }\n}\n`],
    ['b', `{\n  "s": {\n    // first\n    "a": {}, // a\n    "c": {} // c\n  }\n}\n`],
    ['c', `{\n  "s": {\n    // first\n    "a": {}, // a\n    "b": {\n      "x": 1\n    }\n  }\n}\n`],
  ])('deletes the lines of %s', async (name, expected) => {
    expect((await loadFormat('json')).remove(text, { keys: ['s'], name })).toBe(expected);
  });
  it.each([
    ['a', '{"s":{"b":1}}'],
    ['b', '{"s":{"a":{}}}'],
  ])('deletes %s from its line', async (name, expected) => {
    expect((await loadFormat('json')).remove('{"s":{"a":{},"b":1}}', { keys: ['s'], name })).toBe(expected);
  });
  it('deletes tables with their sub-tables', async () => {
    const toml = `[s.a]\nx = 1\n\n[s.a.env]\nK = "v" # k\n\n# about b\n[s."b.c"]\nargs = [\n  "1",\n]\n`;
    const format = await loadFormat('toml');
    expect(format.remove(toml, { keys: ['s'], name: 'a' })).toBe(`\n# about b\n[s."b.c"]\nargs = [\n  "1",\n]\n`);
    expect(format.remove(toml, { keys: ['s'], name: 'b.c' })).toBe(
      `[s.a]\nx = 1\n\n[s.a.env]\nK = "v" # k\n\n# about b\n`,
    );
    expect(format.remove(`[s]\na = {x = 1}\nb.x = 2\n`, { keys: ['s'], name: 'b' })).toBe(`[s]\na = {x = 1}\n`);
  });
  it('deletes mappings, and leaves an empty one after the last', async () => {
    const format = await loadFormat('yaml');
    const yaml = `s:\n  a:\n    x: 1\n  b: {x: 2} # b\nt: 1\n`;
    const withoutA = `s:\n  b: {x: 2} # b\nt: 1\n`;
    expect(format.remove(yaml, { keys: ['s'], name: 'a' })).toBe(withoutA);
    expect(format.remove(yaml, { keys: ['s'], name: 'b' })).toBe(`s:\n  a:\n    x: 1\nt: 1\n`);
    expect(format.parse(format.remove(`s:\n  a:\n    x: 1\nt: 1\n`, { keys: ['s'], name: 'a' }))).toEqual({
      s: {},
      t: 1,
    });
  });
});

describe('invalid files and unsafe edits', () => {
  it.each([
    ['json', '{\n  "s": {\n    "a" 1\n', 3, 9],
    ['toml', 'a = 1\nb = ]\n', 2, 5],
    ['yaml', 'a: 1\nb: [1\nc: 2\n', 3, 1],
  ] as const)('report where %s is invalid', async (name, text, line, column) => {
    const format = await loadFormat(name);
    const failed = (): unknown => format.parse(text);
    expect(failed).toThrow(FileSyntaxError);
    expect(failed).toThrow(expect.objectContaining({ line, column }));
  });
  // The libraries set the prototype for such a key, TOML's even that of all objects, and the entry was silently lost.
  it('treat a key __proto__ as an ordinary member or an error', async () => {
    const entry = { command: 'x' };
    const text = '{"s": {"__proto__": {"command": "x"}}}';
    for (const name of ['json', 'yaml'] as const) {
      const servers = (await loadFormat(name)).parse(text)['s'] as object;
      expect(Object.getOwnPropertyDescriptor(servers, '__proto__')?.value).toEqual(entry);
    }
    const toml = await loadFormat('toml');
    for (const refused of ['[s.__proto__]\ncommand = "x"\n', 's = {"\\u005f_proto__" = {command = "x"}}\n']) {
      expect(() => toml.parse(refused)).toThrow(FileSyntaxError);
    }
    expect(Object.hasOwn(Object.prototype, 'command')).toBe(false);
  });
  // It used to be a ReferenceError.
  it('include an alias in YAML that refers to nothing', async () => {
    const { parse } = await loadFormat('yaml');
    expect(() => parse('<<: *gone')).toThrow(FileSyntaxError);
  });
  it.each([
    ['json', '{"s": []}'],
    ['json', '{"s": "x"}'],
    ['toml', 's = {}\n'],
    ['toml', 's = 1\n'],
    ['yaml', 's:\n'],
    ['yaml', 's: [1]\n'],
    ['yaml', 's: &a\n  b: 1\nt: *a\n'],
  ] as const)('refuse %s that cannot be edited in place: %j', async (name, text) => {
    const format = await loadFormat(name);
    expect(() => format.add(text, { keys: ['s'], name: 'new' }, ENTRY)).toThrow(UnsafeEditError);
  });
});
