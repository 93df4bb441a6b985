import { describe, expect, test } from 'vitest';
import type { HttpOperation } from '../../../../../src/edges/upstream/api/compiled-api.ts';
import { compileOpenApi } from '../../../../../src/edges/upstream/api/openapi/compile-openapi.ts';

type Json = Record<string, unknown>;

function compile(paths: unknown, more: Json = {}) {
  return compileOpenApi({ openapi: '3.0.3', info: { title: 'Shop', version: '1' }, paths, ...more });
}

/** The only tool of a POST to `/x`, with its request. */
function only(operation: Json, more: Json = {}, path = '/x') {
  const api = compile({ [path]: { post: { responses: {}, ...operation } } }, more);
  const [tool] = api.tools;
  return { ...api, tool, operation: Object.values(api.operations)[0] as HttpOperation };
}

function json(schema: unknown, required = true): Json {
  return { requestBody: { required, content: { 'application/json': { schema } } } };
}

function argumentsOf(operation: Json, more: Json = {}, path = '/x'): unknown {
  return only(operation, more, path).tool?.inputSchema['properties'];
}

describe('names of tools', () => {
  test('are identifiers, distinct in any case, and do not change when operations are added', () => {
    const ids = [
      'getOrder',
      'GetOrder',
      'orders/list-all',
      'import',
      '2fa',
      '__proto__',
      '获取',
      undefined,
      'getOrder_2',
      'x'.repeat(120),
    ];
    const paths = (count: number) =>
      Object.fromEntries(ids.slice(0, count).map((operationId, at) => [`/p${at}/{id}`, { get: { operationId } }]));
    const names = compile(paths(ids.length)).tools.map(({ name }) => name);
    expect(names.slice(0, -1)).toEqual([
      'getOrder',
      'GetOrder_2',
      'orders_list_all',
      'import_',
      '_2fa',
      'proto',
      'get_p6_by_id',
      'get_p7_by_id',
      'getOrder_2_2',
    ]);
    expect(names.at(-1)).toHaveLength(100);
    expect(compile(paths(5)).tools.map(({ name }) => name)).toEqual(names.slice(0, 5));
  });
});

describe('the words about a tool', () => {
  test('are its summary and description, shortened', () => {
    const { tool } = only({ summary: 'Add', description: 'Adds **one**.', deprecated: true });
    expect(tool?.description).toBe('Adds **one**.\n\nPOST /x. Deprecated.');
    expect(only({}).tool?.description).toBe('POST /x');
    const long = only({ description: 'x'.repeat(5_000) }).tool?.description;
    expect(long).toHaveLength(4_000);
    expect(long?.endsWith('x…\n\nPOST /x')).toBe(true);
  });

  test('say what its method does', () => {
    const api = compile({ '/x': { get: { summary: 'Read' }, put: {}, delete: {}, patch: {}, head: {}, trace: {} } });
    expect(api.tools.map(({ annotations }) => annotations)).toEqual([
      { title: 'Read', readOnlyHint: true, idempotentHint: true, openWorldHint: true },
      { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
      { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
      { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
      { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
    ]);
    expect(api.notices).toEqual([]);
  });
});

describe('parameters', () => {
  test('of the path item are overridden by name and place', () => {
    const api = compile({
      '/x/{id}': {
        parameters: [
          { name: 'id', in: 'path', schema: { type: 'string' } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
        ],
        get: {
          parameters: [
            { name: 'x-trace', in: 'header', schema: { type: 'integer' } },
            { name: 'id', in: 'query', schema: { type: 'boolean' } },
          ],
        },
      },
    });
    expect(api.tools[0]?.inputSchema).toEqual({
      type: 'object',
      properties: { id: { type: 'string' }, 'x-trace': { type: 'integer' }, id_in_query: { type: 'boolean' } },
      required: ['id'],
      additionalProperties: false,
    });
  });

  test('that a path needs are there, and those it does not have are not', () => {
    const { operation } = only({ parameters: [{ name: 'gone', in: 'path', required: true }] }, {}, '/a/{+b}/{c*}#d');
    expect(operation.path).toBe('/a/{b}/{c}');
    expect(operation.parameters.map(({ name }) => name)).toEqual(['b', 'c']);
  });

  test('that hold the credential or that headers of HTTP say are left out', () => {
    const securitySchemes = {
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      user: { type: 'http', scheme: 'Basic' },
    };
    const parameters = ['x-key', 'Accept', 'authorization', 'Content-Type', 'X-Other'].map((name) => ({
      name,
      in: 'header',
    }));
    const found = only({ parameters }, { components: { securitySchemes } });
    expect(found.operation.parameters.map(({ name }) => name)).toEqual(['X-Other']);
    expect(found.credentials).toEqual([
      { name: 'key', kind: 'header', field: 'X-Key' },
      { name: 'user', kind: 'basic' },
    ]);
  });

  test('are written as they say, otherwise as their place does', () => {
    const { operation } = only({
      parameters: [
        { name: 'a', in: 'query' },
        { name: 'b', in: 'header' },
        { name: 'c', in: 'query', style: 'pipeDelimited' },
        { name: 'd', in: 'query', style: 'deepObject' },
        { name: 'e', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
        { name: 'f', in: 'query', explode: false, allowReserved: true },
      ],
    });
    const styles = operation.parameters.map(({ style, explode, allowReserved }) => [style, explode, allowReserved]);
    expect(styles).toEqual([
      ['form', true, false],
      ['simple', false, false],
      ['pipeDelimited', false, false],
      ['deepObject', true, false],
      ['json', false, false],
      ['form', false, true],
    ]);
  });

  test('that are required stay so with a default, because no one would send it', () => {
    const parameters = [{ name: 'v', in: 'header', required: true, schema: { type: 'string', default: '2' } }];
    expect(only({ parameters }).tool?.inputSchema).toMatchObject({
      properties: { v: { type: 'string', description: 'Usually "2".' } },
      required: ['v'],
    });
  });
});

describe('a body', () => {
  const base = {
    type: 'object',
    required: ['id', 'name'],
    properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' } },
  };

  test('becomes arguments for its members, without read-only ones', () => {
    const schema = { allOf: [{ $ref: '#/components/schemas/Base' }, { properties: { size: { type: 'integer' } } }] };
    const { tool, operation } = only(json(schema), { components: { schemas: { Base: base } } });
    expect(tool?.inputSchema).toMatchObject({ properties: { name: {}, size: {} }, required: ['name'] });
    expect(operation.body).toEqual({
      mediaType: 'application/json',
      isRequired: true,
      members: { name: 'name', size: 'size' },
    });
  });

  test('has members that are described where they refer to', () => {
    const components = { schemas: { Size: { type: 'object', properties: {}, description: 'How large.' } } };
    const schema = {
      type: 'object',
      properties: {
        a: { $ref: '#/components/schemas/Size' },
        b: { anyOf: [{ type: 'integer', description: 'How many.' }, { type: 'null' }] },
        c: {
          anyOf: [
            { type: 'integer', description: 'One.' },
            { type: 'string', description: 'Other.' },
          ],
        },
      },
    };
    const found = argumentsOf(json(schema), { components }) as Record<string, Json>;
    expect(Object.values(found).map(({ description }) => description)).toEqual(['How large.', 'How many.', undefined]);
  });

  test('that is optional has optional members', () => {
    const { tool } = only(json(base, false));
    expect(tool?.inputSchema['required']).toBeUndefined();
    expect(tool?.description).toBe('POST /x\n\nIf it has a body, the body needs: name.');
  });

  test.each([
    ['alternatives', { ...base, oneOf: [{ required: ['name'] }] }],
    ['further members', { ...base, additionalProperties: { type: 'string' } }],
    ['variants', { ...base, discriminator: { propertyName: 'name' } }],
    ['items', { type: 'array', items: { type: 'string' } }],
    ['no members', { type: 'object' }],
  ])('with %s is one argument', (_what, schema) => {
    const { tool, operation } = only(json(schema));
    expect(Object.keys(tool?.inputSchema['properties'] as object)).toEqual(['body']);
    expect(operation.body?.argument).toBe('body');
  });

  test('keeps the names of its members, and parameters say where they are', () => {
    const parameters = [
      { name: 'name', in: 'query' },
      { name: 'name_in_query', in: 'query' },
    ];
    const { operation } = only({ parameters, ...json(base) });
    expect(operation.parameters.map(({ argument }) => argument)).toEqual(['name_in_query', 'name_in_query_in_query']);
  });

  test.each([
    [['text/xml', 'application/vnd.a+json'], { mediaType: 'application/vnd.a+json', members: { name: 'name' } }],
    [['multipart/form-data', 'application/x-www-form-urlencoded'], { mediaType: 'application/x-www-form-urlencoded' }],
    [['application/json-patch+json', 'application/merge-patch+json'], { mediaType: 'application/merge-patch+json' }],
    [['image/png', 'text/plain'], { mediaType: 'text/plain', argument: 'body' }],
    [['image/png'], { mediaType: 'image/png', argument: 'body', isBase64: true }],
    [['*/*'], { mediaType: 'application/json' }],
  ])('of %s is sent as the best of them', (types, expected) => {
    const content = Object.fromEntries(types.map((type) => [type, { schema: base }]));
    expect(only({ requestBody: { required: true, content } }).operation.body).toMatchObject(expected);
  });

  test('with files has them in base64', () => {
    const FILE = { type: 'string', contentEncoding: 'base64', contentMediaType: 'application/octet-stream' };
    const binary = { type: 'string', format: 'binary' };
    const schema = {
      type: 'object',
      properties: {
        one: { ...binary, description: 'A file.' },
        many: { type: 'array', items: binary },
        text: { type: 'string' },
      },
    };
    const { tool, operation } = only({ requestBody: { content: { 'multipart/form-data': { schema } } } });
    expect(operation.body?.files).toEqual(['one', 'many']);
    expect(tool?.inputSchema['properties']).toEqual({
      one: { description: 'A file.', ...FILE },
      many: { type: 'array', items: FILE },
      text: { type: 'string' },
    });
  });
});

describe('schemas', () => {
  const argument = (schema: unknown, more: Json = {}) =>
    (argumentsOf({ parameters: [{ name: 'v', in: 'query', schema }] }, more) as Json)['v'];

  test.each([
    [{ type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      { type: 'string', enum: ['a'], nullable: true },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [{ nullable: true, allOf: [{ type: 'string' }] }, { anyOf: [{ allOf: [{ type: 'string' }] }, { type: 'null' }] }],
    [{ nullable: true, oneOf: [{ type: 'string' }] }, { oneOf: [{ type: 'string' }, { type: 'null' }] }],
    [
      { type: ['object', 'null'], properties: { a: {} } },
      { anyOf: [{ type: 'object', properties: { a: {} } }, { type: 'null' }] },
    ],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    [
      { type: 'integer', minimum: 1, exclusiveMinimum: true },
      { type: 'integer', exclusiveMinimum: 1 },
    ],
    [
      { type: 'integer', maximum: 9, exclusiveMaximum: false },
      { type: 'integer', maximum: 9 },
    ],
    [
      { type: 'string', enum: [1, true, 'a'] },
      { type: 'string', enum: ['1', 'true', 'a'] },
    ],
    [{ type: 'datetime', example: 'now', xml: {}, 'x-y': 1 }, { type: 'string' }],
    [
      { type: 'string', format: 'byte' },
      { type: 'string', contentEncoding: 'base64' },
    ],
    [{ title: 'Item Id', deprecated: true }, { description: 'Deprecated. Item Id' }],
    [
      { type: 'object', properties: { example: { type: 'string' }, type: { type: 'string', required: true } } },
      { type: 'object', properties: { example: { type: 'string' }, type: { type: 'string' } }, required: ['type'] },
    ],
  ])('are of JSON Schema 2020-12: %j', (schema, expected) => {
    expect(argument(schema)).toEqual(expected);
  });

  test('refer to definitions of their own', () => {
    const Node = {
      type: 'object',
      properties: { next: { $ref: '#/components/schemas/a.Node' }, kind: { $ref: '#/components/schemas/Kind' } },
    };
    const components = { schemas: { 'a.Node': Node, Kind: { type: 'string', enum: ['x'] }, Unused: {} } };
    const { tool } = only(
      { parameters: [{ name: 'v', in: 'query', schema: { $ref: '#/components/schemas/a.Node' } }] },
      { components },
    );
    expect(tool?.inputSchema).toMatchObject({
      properties: { v: { $ref: '#/$defs/a.Node' } },
      $defs: { 'a.Node': { properties: { next: { $ref: '#/$defs/a.Node' }, kind: { type: 'string', enum: ['x'] } } } },
    });
  });

  test('of answers are those of objects', () => {
    const answers = (schema: unknown) => only({ responses: { 201: { content: { 'application/json': { schema } } } } });
    const array = { type: 'object', properties: { result: { type: 'array' } }, required: ['result'] };
    expect(answers({ type: 'array' }).tool?.['outputSchema']).toEqual(array);
    const secret = { password: { type: 'string', writeOnly: true }, name: { type: 'string', maxLength: 3 } };
    expect(answers({ properties: secret }).tool?.['outputSchema']).toEqual({
      type: 'object',
      properties: { name: { type: 'string' } },
    });
    expect(answers({}).operation.accept).toEqual(['application/json']);
  });
});

describe('addresses', () => {
  test('have the defaults of their variables', () => {
    const servers = [{ url: 'https://{region}.example.com/v1/', variables: { region: { default: 'eu' } } }];
    expect(only({}, { servers }).addresses).toEqual(['https://eu.example.com/v1']);
  });

  test('of one operation go into its path, or need an entry of their own', () => {
    const servers = [{ url: 'https://a.example.com/v1' }];
    const at = (url: string) => ({ post: { operationId: 'x', servers: [{ url }] } });
    const api = compile(
      { '/a': at('https://a.example.com/v1/beta'), '/b': at('/v1/rel'), '/c': at('https://b.example.com') },
      { servers },
    );
    expect(Object.values(api.operations).map((operation) => (operation as HttpOperation).path)).toEqual([
      '/beta/a',
      '/rel/b',
    ]);
    expect(api.notices).toEqual(['x_3: left out, because it is at another address; give it an entry of its own']);
  });
});

describe('a document that cannot be used', () => {
  test.each([
    [null, 'is not an OpenAPI document: it is no object'],
    [{ info: {} }, 'is not an OpenAPI document: it has neither "openapi" nor "swagger"'],
    [{ openapi: '4.0.0' }, 'is of OpenAPI 4.0.0; versions 2.0 and 3.0 to 3.2 can be read'],
    [{ openapi: '3.0.0', paths: {} }, 'has no operation that can be used'],
    [
      { openapi: '3.0.0', paths: { '/x': { $ref: 'x.yaml#/a' } } },
      'has no operation that can be used (/x: left out, because it needs the file "x.yaml")',
    ],
  ])('is refused: %j', (document, message) => {
    expect(() => compileOpenApi(document)).toThrow(message);
  });

  test('does not hide the operations that can be used', () => {
    const needsFile = { parameters: [{ $ref: 'common.yaml#/p' }] };
    const api = compile(
      { '/a': { get: needsFile, post: {} }, '/b': { $ref: '#/components/pathItems/b' } },
      { components: { pathItems: { b: { get: {} } } } },
    );
    expect(api.tools.map(({ name }) => name)).toEqual(['post_a', 'get_b']);
    expect(api.notices).toEqual(['get_a: left out, because it needs the file "common.yaml"']);
  });
});

describe('a hostile document', () => {
  test('cannot reach prototypes', () => {
    const document = JSON.parse(`{
      "openapi": "3.0.0", "paths": { "/x": { "post": { "operationId": "__proto__",
        "parameters": [{ "name": "__proto__", "in": "query", "schema": { "$ref": "#/components/__proto__/polluted" } }],
        "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "object", "properties": { "__proto__": { "type": "string" }, "constructor": { "type": "string" } } } } } } } } } }`) as unknown;
    const api = compileOpenApi(document);
    const names = Object.keys(api.tools[0]?.inputSchema['properties'] as object);
    expect(names).toEqual(['__proto___in_query', '__proto__', 'constructor']);
    expect(Object.getPrototypeOf(api.tools[0]?.inputSchema['properties'])).toBe(Object.prototype);
    expect(({} as Json)['polluted']).toBeUndefined();
  });

  test('may be nested deeply, refer to itself and repeat itself without end', () => {
    let deep: Json = { type: 'string' };
    let wide: Json = { type: 'string' };
    for (let level = 0; level < 10_000; level += 1) {
      deep = { type: 'object', properties: { a: deep } };
      wide = { type: 'object', properties: { a: wide, b: wide, c: wide } };
    }
    const circular = {
      a: { $ref: '#/components/schemas/b' },
      b: { $ref: '#/components/schemas/a' },
      c: { allOf: [{ $ref: '#/components/schemas/c' }] },
    };
    const schemas = { ...circular, deep, wide };
    const paths = Object.fromEntries(
      Object.keys(schemas).map((name) => [
        `/${name}`,
        { post: json({ type: 'object', properties: { v: { $ref: `#/components/schemas/${name}` } } }) },
      ]),
    );
    const started = process.cpuUsage();
    const api = compile({ ...paths, '/loop': { $ref: '#/paths/~1loop' } }, { components: { schemas } });
    expect(api.tools).toHaveLength(5);
    expect(JSON.stringify(api).length).toBeLessThan(200_000);
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(3_000);
  });

  test('may have too many operations', () => {
    const paths = Object.fromEntries(Array.from({ length: 10_010 }, (_, at) => [`/p${at}`, { get: {} }]));
    const api = compile(paths);
    expect(api.tools).toHaveLength(10_000);
    expect(api.notices).toEqual([
      'get_p10000, get_p10001, get_p10002 and 7 more: left out, because the limit is 10,000 operations or 48 MiB',
    ]);
  });
});
