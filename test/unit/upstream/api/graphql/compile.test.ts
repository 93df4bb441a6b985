import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import {
  buildASTSchema,
  type GraphQLSchema,
  introspectionFromSchema,
  isRequiredArgument,
  parse,
  validate,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { signatureLine, toolSpec } from '../../../../../src/core/catalog/tool-spec.ts';
import type { GraphqlOperation } from '../../../../../src/edges/upstream/api/compiled-api.ts';
import { compileGraphql } from '../../../../../src/edges/upstream/api/graphql/compile.ts';
import { readSchema } from '../../../../../src/edges/upstream/api/graphql/read-schema.ts';
import { buildGraphqlRequest } from '../../../../../src/edges/upstream/api/graphql/request.ts';
import { resultOfGraphql } from '../../../../../src/edges/upstream/api/graphql/result.ts';
import { answer, argumentFor } from '../../../../support/graphql-server.ts';

const FIXTURES = join(import.meta.dirname, '../../../../fixtures/graphql');
const files = readdirSync(FIXTURES);
const read = (name: string): string => readFileSync(join(FIXTURES, `${name}.graphql`), 'utf8');

function compiled(text: string) {
  const api = compileGraphql(text);
  return {
    ...api,
    names: api.tools.map(({ name }) => name),
    tool: (name: string) => api.tools.find((tool) => tool.name === name),
    operation: (name: string) => api.operations[name] as GraphqlOperation,
    /** The default selection. */
    selected: (name: string) => {
      const { document, selection } = api.operations[name] as GraphqlOperation;
      return selection && document.slice(selection.start, selection.end);
    },
  };
}

const query = (fields: string, types = ''): string => `type Query { ${fields} } ${types}`;

/** The tool in Python. */
function inPython(api: ReturnType<typeof compiled>, name: string) {
  const found = api.tool(name);
  const { description = '', inputSchema = {} } = found ?? {};
  const outputSchema = found?.['outputSchema'];
  const tool = { name, alias: name, description, inputSchema };
  return outputSchema === undefined ? tool : { ...tool, outputSchema: outputSchema as Record<string, unknown> };
}

describe.each(files)('every tool of %s', (file) => {
  const text = readFileSync(join(FIXTURES, file), 'utf8');
  const api = compileGraphql(text);
  const schema = readSchema(text);
  const fields = api.tools.flatMap((tool) => {
    const operation = api.operations[tool.name];
    return operation?.kind === 'graphql' ? [{ tool, operation }] : [];
  });
  const ajv = new Ajv2020({ strict: false, ownProperties: true });

  it('has a document that the schema allows and that can be executed', async () => {
    for (const { tool, operation } of fields) {
      const document = parse(operation.document);
      expect(validate(schema, document)).toEqual([]);
      const args = argumentsOf(schema, operation);
      expect(ajv.validate(tool.inputSchema, args) || ajv.errorsText()).toBe(true);
      const executed = await answer(schema, buildGraphqlRequest(operation, args));
      expect(executed.errors).toBeUndefined();
      const { structuredContent } = resultOfGraphql(executed, operation, args);
      expect(ajv.validate(tool['outputSchema'] as object, structuredContent) || [tool.name, ajv.errorsText()]).toBe(
        true,
      );
    }
    expect(fields.length).toBeGreaterThan(1);
  });

  it('is the same from an introspection result', () => {
    const result = { data: introspectionFromSchema(schema, { inputValueDeprecation: true, oneOf: true }) };
    expect(compileGraphql(JSON.stringify(result))).toEqual(api);
    expect(compileGraphql(`\uFEFF${JSON.stringify(result.data)}`)).toEqual(api);
  });

  it('can be kept as JSON', () => {
    expect(JSON.parse(JSON.stringify(api))).toEqual(api);
  });
});

function argumentsOf(schema: GraphQLSchema, { field, document }: GraphqlOperation): Record<string, unknown> {
  const root = document.startsWith('query') ? schema.getQueryType() : schema.getMutationType();
  const args = root?.getFields()[field]?.args ?? [];
  return Object.fromEntries(args.filter(isRequiredArgument).map(({ name, type }) => [name, argumentFor(type)]));
}

describe('tools', () => {
  it('are the fields of Query and Mutation, and one of each for whole documents', () => {
    const shop = compiled(read('shop'));
    expect(shop.names.join()).toBe(
      'products,product,shop,tags,productCount,oldProduct,productUpdate,tagsAdd,query,mutate',
    );
    expect(shop.notices).toEqual(['subscriptions were left out']);
    expect(shop.operation('query')).toEqual({ kind: 'graphql-document', allows: 'query' });
  });

  it('get another name where one is taken', () => {
    const tracker = compiled(read('tracker'));
    expect(tracker.names.slice(-4)).toEqual(['issue_mutation', 'delete_mutation', 'graphql_query', 'mutate']);
    expect(tracker.operation('issue_mutation')).toMatchObject({ field: 'issue' });
    const many = compiled(
      'type Query { a: Int query: Int graphql_query: Int } type Mutation { a: Int a_mutation: Int }',
    );
    expect(many.names).toEqual([
      'a',
      'query',
      'graphql_query',
      'a_mutation',
      'a_mutation_mutation',
      'graphql_query_',
      'mutate',
    ]);
  });

  it('say what they change', () => {
    const shop = compiled(read('shop'));
    const hints = (name: string) => shop.tool(name)?.['annotations'];
    expect(hints('products')).toEqual({ readOnlyHint: true, idempotentHint: true, openWorldHint: true });
    expect(hints('tagsAdd')).toEqual({ readOnlyHint: false, destructiveHint: true, openWorldHint: true });
    expect(hints('query')).toEqual(hints('products'));
    expect(hints('mutate')).toEqual(hints('tagsAdd'));
  });

  it('are described by their field, with what is not selected', () => {
    const shop = compiled(read('shop'));
    expect(shop.tool('oldProduct')?.description).toMatch(/^Deprecated: Use product\.\n\nBy default/);
    expect(shop.tool('products')?.description).toBe(
      'Products, newest first.\n\nBy default, not all fields are returned. More for "fields": related: [Product!]!, ' +
        'metafield(key: String!): String, variants(first: Int, after: String): VariantConnection!',
    );
    const long = compiled(query(`"${'x'.repeat(5_000)}" a: Int`));
    expect(long.tool('a')?.description).toHaveLength(4_001);
  });

  it('are readable in Python', () => {
    const shop = compiled(read('shop'));
    expect(signatureLine(inPython(shop, 'productUpdate'))).toBe(
      'productUpdate(input: dict, fields: list[str] | None = ..., _fields: str = ...) -> dict',
    );
    expect(signatureLine(inPython(shop, 'tags'))).toBe('tags() -> list[str]');
    expect(signatureLine(inPython(shop, 'productCount'))).toBe('productCount(savedBefore=...) -> int | None');
    const { types, parameters } = toolSpec(inPython(shop, 'products'));
    expect(types.join('\n')).toContain('nodes: list[');
    expect(parameters.find(({ name }) => name === 'sortKey')?.annotation).toBe(
      "Literal['ID', 'TITLE', 'PRICE'] | None",
    );
  });
});

describe('arguments', () => {
  const shop = compiled(read('shop'));
  const schemaOf = (name: string) => shop.tool(name)?.inputSchema as Record<string, Record<string, unknown>>;

  it('are the scalars, lists, enums and input types of the schema', () => {
    expect(schemaOf('productUpdate')['$defs']).toEqual({
      ProductInput: {
        type: 'object',
        properties: {
          id: { type: ['string', 'integer', 'null'] },
          title: { type: ['string', 'null'] },
          publishAt: { description: 'DateTime (An ISO-8601 time.). With an offset.' },
          price: { anyOf: [{ $ref: '#/$defs/MoneyInput' }, { type: 'null' }] },
          status: { anyOf: [{ $ref: '#/$defs/Status' }, { type: 'null' }], default: 'DRAFT' },
          parent: { anyOf: [{ $ref: '#/$defs/ProductInput' }, { type: 'null' }] },
          match: { anyOf: [{ $ref: '#/$defs/MatchInput' }, { type: 'null' }] },
        },
        additionalProperties: false,
      },
      MoneyInput: {
        type: 'object',
        properties: {
          amount: { description: 'Decimal (https://shop.example/decimal)' },
          currencyCode: { type: 'string', default: 'EUR' },
        },
        required: ['amount'],
        additionalProperties: false,
      },
      Status: { type: 'string', enum: ['DRAFT', 'ACTIVE'] },
      MatchInput: {
        type: 'object',
        description: 'Exactly one of its members.',
        properties: { sku: { type: ['string', 'null'] }, id: { type: ['string', 'integer', 'null'] } },
        minProperties: 1,
        maxProperties: 1,
        additionalProperties: false,
      },
    });
  });

  it('are required unless they may be null or have a default', () => {
    expect(schemaOf('tagsAdd')).toEqual({
      type: 'object',
      properties: {
        id: { type: ['string', 'integer'] },
        tags: { type: 'array', items: { type: 'string' }, default: [] },
      },
      required: ['id'],
      additionalProperties: false,
    });
    // If the variable were `[String!]!`, it could not be left out.
    expect(shop.operation('tagsAdd').document).toBe(
      'mutation tagsAdd($id: ID!, $tags: [String!]) { tagsAdd(id: $id, tags: $tags) }',
    );
  });

  it('have one more, for a selection', () => {
    expect(schemaOf('products')['properties']?.['fields']).toEqual({
      type: 'string',
      description: expect.stringMatching(
        /^What to return, as a GraphQL selection\. Default: pageInfo \{ hasNextPage endCursor \} nodes \{ id/,
      ),
    });
    expect(schemaOf('tags')['properties']).toEqual({});
    expect(compiled(read('tracker')).operation('graphql_query').kind).toBe('graphql-document');
    expect(compiled(read('tracker')).operation('query').selection?.argument).toBe('__fields');
  });

  it('of types too large to show are left open', () => {
    const fields = Array.from({ length: 3_000 }, (_, index) => `field_number_${index}: String`).join(' ');
    const api = compiled(query('a(x: Large, y: E): Int', `input Large { ${fields} } enum E { A }`));
    expect(api.tool('a')?.inputSchema['$defs']).toEqual({
      Large: { type: 'object', description: 'Large of the GraphQL schema, not shown here' },
      E: { type: 'string', enum: ['A'] },
    });
    expect(api.notices).toEqual(['large input types were left open in 1 tools']);
  });

  it('that are too many are left out unless they are required', () => {
    const args = Array.from({ length: 3_000 }, (_, index) => `argument_${index}: String`).join(', ');
    const api = compiled(query(`a(${args}, last: Int!): Int`));
    const { variables, document } = api.operation('a');
    expect(variables.at(-1)).toBe('last');
    expect(variables.length).toBeLessThan(1_000);
    expect(validate(buildASTSchema(parse(query(`a(${args}, last: Int!): Int`))), parse(document))).toEqual([]);
  });
});

describe('the default selection', () => {
  const tracker = compiled(read('tracker'));
  const shop = compiled(read('shop'));

  it('has scalars and the objects in the result, but nothing with an argument that chooses, and nothing deprecated', () => {
    expect(shop.selected('product')).toBe(
      'id title createdAt price { amount currencyCode } vendor { id name email } ' +
        'media { __typename ... on Image { url size } ... on Video { url_Video: url size_Video: size seconds } }',
    );
    expect(shop.selected('tags')).toBeUndefined();
  });

  it('of a connection is about its nodes', () => {
    expect(shop.selected('products')).toMatch(/^pageInfo \{ hasNextPage endCursor \} nodes \{ id title .* \}$/);
    const edges = compiled(query('a(after: String): C', 'type C { edges: [E] } type E { node: N } type N { id: ID }'));
    expect(edges.selected('a')).toBe('edges { node { id } }');
  });

  it('of a mutation has its errors and what it changed', () => {
    expect(shop.selected('productUpdate')).toMatch(/^userErrors \{ code field message \} product \{ id title /);
  });

  it('of a union gives fields of another type another name', () => {
    expect(tracker.selected('search')).toBe(
      'count took isExact pageInfo { hasNextPage endCursor } nodes { __typename ' +
        '... on Issue { id number title state labels { name } author { id login name } } ' +
        '... on PullRequest { id number_PullRequest: number title state_PullRequest: state ' +
        'labels_PullRequest: labels { name } author_PullRequest: author { id login name } } ' +
        '... on User { id login name owner { id number title state } } }',
    );
  });

  it('of an interface has what its types add', () => {
    expect(tracker.selected('assignee')).toBe(
      '__typename login owner { __typename id } ... on User { id name } ... on Team { slug }',
    );
  });

  it('ends in types that contain themselves or nothing else', () => {
    expect(tracker.selected('tree')).toBe('b { c { d { name } } }');
    expect(tracker.selected('everything')).toBe('__typename');
  });

  it('has at most 200 fields, and the usual ones of those', () => {
    const fields = Array.from({ length: 300 }, (_, index) => `field_${index}: Int`).join(' ');
    const api = compiled(
      query('a: Wide', `type Wide { ${fields} id: ID name: String other: Other } type Other { id: ID }`),
    );
    const selected = api.selected('a')?.split(' ') ?? [];
    expect(selected).toHaveLength(200);
    expect(selected.slice(-2)).toEqual(['id', 'name']);
    expect(api.selected('a')).not.toContain('other');
  });
});

describe('results', () => {
  it('that are no objects are described in their envelope', () => {
    const shop = compiled(read('shop'));
    expect(shop.tool('tags')?.['outputSchema']).toEqual({
      type: 'object',
      properties: { result: { type: 'array', items: { type: 'string' } } },
      required: ['result'],
    });
    const only = compiled(query('a: R', 'type R { result: Int }'));
    expect(only.tool('a')?.['outputSchema']).toMatchObject({
      properties: { result: { anyOf: [{ type: 'object' }, {}] } },
    });
  });

  it('too large to describe are not', () => {
    const values = Array.from({ length: 3_000 }, (_, index) => `VALUE_${index}`).join(' ');
    expect(compiled(query('a: E', `enum E { ${values} }`)).tool('a')?.['outputSchema']).toBeUndefined();
  });

  it('with pages say how the next one is asked for', () => {
    const after = { argument: 'after', cursor: ['pageInfo', 'endCursor'], hasNext: ['pageInfo', 'hasNextPage'] };
    expect(compiled(read('shop')).operation('products').nextPage).toEqual(after);
    expect(compiled(read('shop')).operation('product').nextPage).toBeUndefined();
    expect(compiled(read('federated')).operation('notes').nextPage).toEqual({
      argument: 'nextToken',
      cursor: ['nextToken'],
    });
  });
});

describe('what is no usable schema', () => {
  it.each([
    ['', 'is neither an introspection result nor in the schema definition language: Syntax Error: Unexpected <EOF>.'],
    ['openapi: 3.1.0', 'is neither'],
    ['type Query { a: Missing }', 'Unknown type: "Missing"'],
    ['type Other { a: Int }', 'has no fields in Query or Mutation'],
    ['{"data": ', 'is not JSON'],
    ['{"errors": [{"message": "introspection is disabled"}]}', 'introspection is disabled'],
    ['{"data": {"__schema": {"queryType": {"name": "Query"}, "types": []}}}', 'is not a complete result'],
    [query(`a: ${'['.repeat(50_000)}Int${']'.repeat(50_000)}`), 'is nested too deeply'],
    [`{"__schema": ${'['.repeat(50_000)}`, 'is nested deeper than 200 levels'],
    [query(`a(x: Int = ${'['.repeat(50_000)}`), 'is nested too deeply'],
  ])('is refused: %.40s', (text, message) => {
    expect(() => compileGraphql(text)).toThrow(message);
  });
});

describe('a hostile schema', () => {
  it('does not take long or grow without bound', () => {
    const count = 2_000;
    const types = Array.from({ length: count }, (_, index) => {
      const next = Array.from({ length: 5 }, (_each, step) => `f${step}: T${(index * 5 + step) % count}`).join(' ');
      const inputs = Array.from({ length: 5 }, (_each, step) => `f${step}: I${(index * 5 + step) % count}`).join(' ');
      return `type T${index} { a: Int b: Int c: Int ${next} } input I${index} { ${inputs} }`;
    });
    const fields = types.map((_, index) => `q${index}(i: I${index}): T${index}`);
    const started = process.cpuUsage();
    const api = compileGraphql(query(fields.join(' '), types.join(' ')));
    const { user } = process.cpuUsage(started);
    expect(api.tools).toHaveLength(count + 1);
    expect(JSON.stringify(api).length).toBeLessThan(48 * 1024 * 1024);
    expect(user / 1_000).toBeLessThan(15_000);
  });

  it('has at most 10,000 tools', () => {
    const fields = Array.from({ length: 10_004 }, (_, index) => `q${index}: Int`);
    const api = compileGraphql(query(fields.join(' ')));
    expect(api.tools).toHaveLength(9_999);
    expect(api.tools.at(-1)?.name).toBe('query');
    expect(api.notices).toEqual(['6 fields of Query or Mutation were left out']);
  });

  it('keeps names of prototypes as names', () => {
    const api = compiled(
      query('constructor(valueOf: toString!): hasOwnProperty __proto__: Int toString: Int ok(__proto__: Int): Int') +
        'input toString { constructor: Int __proto__: Int } type hasOwnProperty { constructor: Int __proto__: Int valueOf: valueOf } ' +
        'type valueOf { id: ID }',
    );
    expect(api.names).toEqual(['constructor', 'toString', 'query']);
    expect(api.selected('constructor')).toBe('constructor valueOf { id }');
    expect(Object.keys(api.operations)).toEqual(api.names);
    expect(api.notices).toEqual(['2 fields of Query or Mutation were left out']);
  });

  it('leaves out names that are too long', () => {
    const api = compiled(query(`a: Int ${'b'.repeat(101)}: Int`));
    expect(api.names).toEqual(['a', 'query']);
  });
});
