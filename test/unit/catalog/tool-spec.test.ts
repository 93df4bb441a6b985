import { describe, expect, test } from 'vitest';
import { signatureHint, signatureLine, specText, toolSpec } from '../../../src/core/catalog/tool-spec.ts';

function tool(properties: unknown, more: Record<string, unknown> = {}, outputSchema?: Record<string, unknown>) {
  return {
    name: 'list-issues',
    alias: 'list_issues',
    description: 'Lists issues.',
    inputSchema: { type: 'object', properties, ...more },
    ...(outputSchema === undefined ? {} : { outputSchema }),
  };
}

/** The annotation of a parameter `value`, and the types in it. */
function typeOf(schema: unknown, more: Record<string, unknown> = {}): string {
  const { parameters, types } = toolSpec(tool({ value: schema }, more));
  return [parameters[0]?.annotation, ...types].join('\n');
}

describe('annotations', () => {
  test.each([
    [{ type: 'string' }, 'str'],
    [{ type: ['string', 'null'] }, 'str | None'],
    [{ type: 'integer', nullable: true }, 'int | None'],
    [{ type: ['integer', 'number'] }, 'float'],
    [{ enum: ['a', 'b'] }, "Literal['a', 'b']"],
    [{ enum: ['a', 1, true, null] }, "Literal['a', 1, True] | None"],
    [{ const: 'only' }, "Literal['only']"],
    [{ enum: [1.5, { a: 1 }, [1]] }, 'float | dict | list'],
    [{ anyOf: [{ const: 'a' }, { const: 'b' }, { type: 'null' }] }, "Literal['a', 'b'] | None"],
    [{ oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }, 'str | list[str]'],
    [{ allOf: [{ description: 'x' }, { type: 'string' }] }, 'str'],
    [{ type: 'array' }, 'list'],
    [{ items: { type: 'integer' } }, 'list[int]'],
    [{ type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }], items: false }, 'list[float | str]'],
    [{ type: 'array', items: [{ type: 'number' }, { type: 'number' }] }, 'list[float]'],
    [{ type: 'object' }, 'dict'],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, 'dict[str, int]'],
    [{ type: 'object', anyOf: [{ description: 'any' }] }, 'dict'],
    [{ pattern: '^a' }, "Annotated[str, 'matches ^a']"],
    [true, 'Any'],
    [false, 'Any'],
    ['none', 'Any'],
    [{ type: 'strange' }, 'Any'],
    [{ type: ['__proto__', 5] }, 'Any'],
    [{ $ref: 'https://example.com/schema.json' }, 'Any'],
    [{ $ref: '#/nowhere' }, 'Any'],
    [
      {
        anyOf: Array.from({ length: 9 }, (_, index) => ({ type: 'array', maxItems: index, items: { enum: [index] } })),
      },
      'Any',
    ],
  ])('%j is %s', (schema, annotation) => {
    expect(typeOf(schema)).toBe(annotation);
  });

  test.each([
    [{ type: 'integer', minimum: 1, maximum: 100 }, "int, '1 to 100'"],
    [{ type: 'integer', minimum: 1, maximum: 1 }, "int, 'exactly 1'"],
    [{ type: 'integer', minimum: 0 }, "int, 'at least 0'"],
    [{ type: 'number', maximum: 0.5, multipleOf: 0.1 }, "float, 'at most 0.5, a multiple of 0.1'"],
    [{ type: 'number', exclusiveMinimum: 0, maximum: 1 }, "float, 'more than 0, at most 1'"],
    [{ type: 'number', minimum: 0, exclusiveMinimum: true, exclusiveMaximum: 9 }, "float, 'more than 0, less than 9'"],
    [{ type: 'string', minLength: 1 }, "str, 'not empty'"],
    [{ type: 'string', maxLength: 1 }, "str, 'at most 1 character'"],
    [{ type: 'string', minLength: 2, maxLength: 9 }, "str, '2 to 9 characters'"],
    [
      { type: 'string', minLength: 9, maxLength: 9, pattern: '^\\d+$' },
      "str, 'exactly 9 characters, matches ^\\\\d+$'",
    ],
    [{ type: 'string', pattern: 'a'.repeat(100) }, `str, 'matches ${'a'.repeat(60)}…'`],
    [{ type: 'string', format: 'date-time', pattern: 'a'.repeat(100) }, "str, 'date-time'"],
    [{ type: 'string', pattern: "']; import os #\n" }, 'str, "matches \']; import os #\\n"'],
    [{ type: 'array', minItems: 3, uniqueItems: true }, "list, 'at least 3 items, no duplicates'"],
  ])('%j has the limits %s', (schema, annotated) => {
    expect(typeOf(schema)).toBe(`Annotated[${annotated}]`);
  });

  test('have no limits that say nothing, or for other types; those of members are shown', () => {
    const safe = { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
    expect(typeOf({ properties: { a: safe, b: { type: 'integer', minimum: 1 } }, required: ['a'] })).toBe(
      "ListIssuesValue\nclass ListIssuesValue(TypedDict): a: int; b: NotRequired[Annotated[int, 'at least 1']]",
    );
    expect(typeOf({ type: ['string', 'null'], minLength: 0, maxLength: 5, minimum: 3, minItems: '2' })).toBe(
      "Annotated[str, 'at most 5 characters'] | None",
    );
    expect(typeOf({ enum: ['a'], type: 'string', maxLength: 5 })).toBe("Literal['a']");
    expect(toolSpec(tool({}, {}, { type: 'array', minItems: 1 })).returns).toBe('list');
  });

  test('an object with named members is a TypedDict; keys that are not identifiers are strings', () => {
    expect(typeOf({ properties: { a: { type: 'string' }, b: {} }, required: ['a'] })).toBe(
      'ListIssuesValue\nclass ListIssuesValue(TypedDict): a: str; b: NotRequired[Any]',
    );
    expect(typeOf({ type: 'array', items: { properties: { 'x-y': { type: 'integer' }, class: {} } } })).toBe(
      "list[ListIssuesValue]\nListIssuesValue = TypedDict('ListIssuesValue', {'x-y': int, 'class': Any}, total=False)",
    );
  });

  test('equal objects share a type; different ones with the same name are numbered', () => {
    const point = { properties: { x: { type: 'number' } }, required: ['x'] };
    expect(typeOf({ properties: { a: point, b: { ...point, description: 'same' } } })).toBe(
      'ListIssuesValue\nclass ListIssuesValue(TypedDict, total=False): a: ListIssuesA; b: ListIssuesA\n' +
        'class ListIssuesA(TypedDict): x: float',
    );
    expect(typeOf({ properties: { value: point } })).toContain('value: ListIssuesValue2');
  });

  test('follow references in the document, recursive ones by name', () => {
    const $defs = {
      node: { properties: { next: { $ref: '#/$defs/node' }, 'a/b': { $ref: '#/$defs/a~1b' } } },
      'a/b': { type: 'string' },
    };
    expect(typeOf({ $ref: '#/$defs/node' }, { $defs })).toBe(
      "ListIssuesNode\nListIssuesNode = TypedDict('ListIssuesNode', {'next': ListIssuesNode, 'a/b': str}, total=False)",
    );
    expect(typeOf({ $ref: '#/$defs/loop' }, { $defs: { loop: { $ref: '#/$defs/loop' } } })).toBe('Any');
    expect(
      typeOf({ $ref: '#/$defs/list' }, { $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } } }),
    ).toBe('list');
  });

  test('limit the depth, width and number of types', () => {
    let deep: unknown = { type: 'string' };
    for (let level = 0; level < 20; level += 1) {
      deep = { properties: { [`level${level}`]: deep } };
    }
    expect(toolSpec(tool({ value: deep })).types).toHaveLength(6);
    const wide = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`p${index}`, { properties: { [`k${index}`]: {} } }]),
    );
    expect(toolSpec(tool(wide)).types.length).toBeLessThanOrEqual(24);
    expect(typeOf({ enum: Array.from({ length: 500 }, (_, index) => `value ${index}`) })).toBe(
      "Literal['value 0', 'value 1', 'value 2', ...]",
    );
    expect(typeOf({ enum: Array.from({ length: 20 }, (_, index) => `${index}`.repeat(100)) })).toBe('str');
  });

  test('handle a bomb of references quickly', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [
        `d${index}`,
        {
          allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }],
          anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: '#' }],
        },
      ]),
    );
    expect(toolSpec(tool({ value: { $ref: '#/$defs/d0' } }, { $defs })).parameters).toHaveLength(1);
  });
});

describe('signature', () => {
  test('has required parameters, then optional ones with their defaults, then the result', () => {
    const properties = {
      limit: { type: 'integer', default: 10 },
      from: { type: 'string' },
      state: { enum: ['open', 'closed'], default: 'open' },
      other: {},
      labels: { type: 'array', items: { type: 'string' } },
    };
    const output = { properties: { issues: { type: 'array', items: { type: 'string' } } }, required: ['issues'] };
    const spec = toolSpec(tool(properties, { required: ['from'] }, output));
    expect(spec.signature).toBe(
      "list_issues(from_: str, limit: int = 10, state: Literal['open', 'closed'] = 'open', other=..., " +
        'labels: list[str] = ...) -> ListIssuesResult',
    );
    expect(spec.types).toEqual(['class ListIssuesResult(TypedDict): issues: list[str]']);
  });

  test('shows that a tool takes any arguments, without a clash of names', () => {
    expect(toolSpec(tool({ kwargs: {} }, { additionalProperties: true })).signature).toBe(
      'list_issues(kwargs=..., **kwargs_)',
    );
  });

  test('gives the result as the kernel returns it, without its envelope', () => {
    const returns = (properties: unknown) => toolSpec(tool({}, {}, { type: 'object', properties })).returns;
    expect(returns({ result: { type: 'array', items: { type: 'integer' } } })).toBe('list[int]');
    expect(returns({ content: { type: 'string' } })).toBe('str');
    expect(returns({ content: { type: 'array' } })).toBeUndefined();
    expect(returns(undefined)).toBe('dict');
  });

  test('names the objects that the kernel makes of declared content', () => {
    const block = (type: unknown) => ({ type: 'object', properties: { type, data: { type: 'string' } } });
    const items = { anyOf: [block({ enum: ['image', 'audio'] }), block({ const: 'resource' })] };
    const spec = (blocks: unknown) =>
      toolSpec(tool({}, {}, { type: 'object', properties: { content: { type: 'array', items: blocks } } }));
    expect(spec(items)).toMatchObject({ returns: 'ImageContent | AudioContent | ResourceContent | list', types: [] });
    expect(specText(spec(items))).toContain('# .data: bytes, .save(path)');
    expect(spec(block({ const: 'text' })).returns).toBe('str | list');
    expect(spec({ anyOf: [block({ const: 'image' }), block({ const: 'chart' })] })).not.toHaveProperty('returns');
  });

  test('uses the observed type if the server declares none, and marks it', () => {
    const observed = { type: 'array', items: { type: 'integer' } };
    const spec = toolSpec(tool({}), { observed });
    expect([spec.returns, spec.observed]).toEqual(['list[int]', true]);
    expect(specText(spec)).toContain('list_issues() -> list[int]  # result as observed so far');
    expect(toolSpec(tool({}, {}, { type: 'object' }), { observed })).not.toHaveProperty('observed');
  });

  test('the text gives original names and describes each parameter in one line', () => {
    const properties = { 'x-loc-lat': { type: 'number', description: 'Latitude,\n in degrees' }, b: {} };
    expect(specText(toolSpec(tool(properties)))).toBe(
      'list_issues(x_loc_lat: float = ..., b=...)\n\nLists issues.\n\nParameters:\n' +
        "  x_loc_lat ('x-loc-lat'): Latitude, in degrees\n  b",
    );
  });

  test('leaves out a schema with texts that were made visible: the server expects others', () => {
    const hidden = { ...tool({ a: { enum: ['x<U+200B>'] } }), hiddenTexts: [['x<U+200B>', 'x\u200b']] as const };
    expect(toolSpec(hidden)).toMatchObject({ input_schema: {}, parameters: [{ name: 'a' }] });
  });

  test('escapes everything from a server in code', () => {
    const hostile = { "a'); import os #": { enum: ["'] = 1\nimport os #", '\u202e'] } };
    const { signature } = toolSpec(tool(hostile));
    expect(signature).toBe(`list_issues(a____import_os__: Literal["'] = 1\\nimport os #", '\\u202e'] = ...)`);
  });
});

describe('a list of alternatives at the top of a schema', () => {
  const email = { properties: { kind: { const: 'email' }, to: { type: 'string' } }, required: ['kind', 'to'] };
  const sms = {
    properties: { kind: { const: 'sms' }, to: { type: 'integer' }, number: { type: 'string' } },
    required: ['number', 'kind'],
  };

  // Only the first variant was shown: `kind: Literal['email'] = ..., to: str = ...`.
  test.each([
    ['oneOf', { oneOf: [email, sms] }],
    ['anyOf', { anyOf: [{ $ref: '#/$defs/a' }, sms], $defs: { a: email } }],
  ])('shows all variants: %s', (_key, more) => {
    const described = tool({ dry: { type: 'boolean' } }, more);
    const signature =
      "list_issues(kind: Literal['email', 'sms'], dry: bool = ..., to: str | int = ..., number: str = ...)";
    expect(signatureLine(described)).toBe(signature);
    expect(specText(toolSpec(described))).toMatch(
      /\n\nTypes:\n {2}# list_issues, one of: kind: Literal\['email'\], to: str\n {2}# or: kind: Literal\['sms'\], number: str, to: int = \.\.\.$/,
    );
  });

  test('may only say which parameters go together', () => {
    const either = { anyOf: [{ required: ['a'] }, { required: ['b'] }, {}] };
    expect(toolSpec(tool({ a: { type: 'string' }, b: {} }, either)).types).toEqual([
      '# list_issues, one of: a: str',
      '# or: b',
      '# or: nothing more',
    ]);
    expect(toolSpec(tool({ a: {} }, { anyOf: [{}, { required: ['a'] }] })).types).toEqual([]);
  });

  test('is cut if there are many, or they are long', () => {
    const branch = (_: unknown, index: number) => ({ properties: { [`p${index}`]: { const: 'x'.repeat(40) } } });
    const wide = { properties: Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`long_${index}`, {}])) };
    const { types } = toolSpec(tool({}, { oneOf: [wide, ...Array.from({ length: 90 }, branch)] }));
    expect(types).toHaveLength(9);
    expect(types[0]?.length).toBeLessThan(350);
    expect(types[8]).toBe('# or: one of 83 more variants');
  });
});

describe('signatureHint', () => {
  const hint = (properties: unknown) =>
    signatureHint(toolSpec(tool(properties, {}, { properties: { a: {}, b: {} } })), 'help(mcp_x.list_issues)');

  test('has the types of the parameters, also those of their members, but not of the result', () => {
    const line = { properties: { line: { type: 'integer' } } };
    expect(hint({ at: { items: { properties: { start: line } } }, limit: { type: 'integer' } })).toBe(
      'The signature is list_issues(at: list[ListIssuesAt] = ..., limit: int = ...), with class ' +
        'ListIssuesAt(TypedDict, total=False): start: ListIssuesStart, class ListIssuesStart(TypedDict, total=False): line: int.',
    );
    expect(hint({ limit: { type: 'integer' } })).toBe('The signature is list_issues(limit: int = ...).');
  });

  test('names what shows the rest if the types or the signature are long', () => {
    const many = (prefix: string) =>
      Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`${prefix}_${index}`, { type: 'string' }]));
    expect(hint({ at: { properties: many('member') } })).toBe(
      'The signature is list_issues(at: ListIssuesAt = ...); help(mcp_x.list_issues) shows its types.',
    );
    expect(hint(many('parameter'))).toMatch(
      /^The signature is .{600}… \(help\(mcp_x\.list_issues\) shows all of it\)\.$/,
    );
  });
});

describe('signatureLine', () => {
  test('shows objects as dict and the start of long literals, names what does not fit, and cuts a long line', () => {
    const properties = {
      where: { properties: { a: {} } },
      kind: { enum: Array.from({ length: 12 }, (_, index) => `kind number ${index}`) },
      ...Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`option_${index}`, { type: 'string' }])),
    };
    const line = signatureLine(tool(properties, { required: ['where'] }, { properties: { a: {} } }));
    expect(line).toMatch(
      /^list_issues\(where: dict, kind: Literal\['kind number 0', .*, \.\.\.\] = \.\.\., option_0: str = \.\.\., .*, option_5=\.\.\., .*, \.\.\.\) -> dict$/,
    );
    expect(line.length).toBeLessThan(260);
  });

  test('shows the limits of a parameter, but not those within it', () => {
    const short = { type: 'string', maxLength: 50 };
    const properties = {
      limit: { type: 'integer', maximum: 100 },
      labels: { type: 'array', maxItems: 10, items: short },
    };
    expect(signatureLine(tool(properties))).toBe(
      "list_issues(limit: Annotated[int, 'at most 100'] = ..., labels: Annotated[list[str], 'at most 10 items'] = ...)",
    );
  });

  test('names every required parameter', () => {
    const names = Array.from({ length: 20 }, (_, index) => `parameter_number_${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    const line = signatureLine(tool(properties, { required: names }));
    expect(names.every((name) => line.includes(name))).toBe(true);
  });
});
