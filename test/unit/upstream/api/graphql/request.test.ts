import { describe, expect, it } from 'vitest';
import { RequestError } from '../../../../../src/core/protocol/server-requests.ts';
import type { GraphqlDocumentOperation, GraphqlOperation } from '../../../../../src/edges/upstream/api/compiled-api.ts';
import { compileGraphql } from '../../../../../src/edges/upstream/api/graphql/compile.ts';
import { buildGraphqlRequest } from '../../../../../src/edges/upstream/api/graphql/request.ts';

const { operations } = compileGraphql(`
  type Query { item(id: ID!, text: String): Item  count(of: String): Int }
  type Item { id: ID! name: String }
`);
const item = operations['item'] as GraphqlOperation;
const query: GraphqlDocumentOperation = { kind: 'graphql-document', allows: 'query' };
const mutate: GraphqlDocumentOperation = { kind: 'graphql-document', allows: 'mutation' };

const invalid = (message: string): RequestError => new RequestError('rpc', message, { code: -32_602 });

describe('a call of a field', () => {
  it('sends the given arguments as variables, also null', () => {
    expect(buildGraphqlRequest(item, { id: 1 })).toEqual({
      query: 'query item($id: ID!, $text: String) { item(id: $id, text: $text) { id name } }',
      variables: { id: 1 },
    });
    expect(buildGraphqlRequest(item, { id: 'a', text: null }).variables).toEqual({ id: 'a', text: null });
    expect(buildGraphqlRequest(item, { id: 'a', text: undefined, fields: null }).variables).toEqual({ id: 'a' });
  });

  it('may select other fields', () => {
    const { query: document, variables } = buildGraphqlRequest(item, { id: 1, fields: '{ name # all\n }' });
    expect(document).toBe('query item($id: ID!, $text: String) { item(id: $id, text: $text) {  name # all\n \n } }');
    expect(variables).toEqual({ id: 1 });
  });

  it.each([
    [{ id: 1, fields: 'a } b { c' }, 'fields has a "}" at character 3 that closes nothing'],
    [{ id: 1, fields: ['a'] }, 'fields must be a text'],
    [{ id: 1, other: 2 }, 'there is no argument "other"'],
    [JSON.parse('{"id": 1, "__proto__": 2}'), 'there is no argument "__proto__"'],
  ])('with %o is refused', (args, message) => {
    expect(() => buildGraphqlRequest(item, args)).toThrow(invalid(message));
  });

  it('without a selection has no argument for one', () => {
    const count = operations['count'] as GraphqlOperation;
    expect(() => buildGraphqlRequest(count, { fields: 'id' })).toThrow('there is no argument "fields"');
  });
});

describe('a call with a document', () => {
  it('sends it with its variables', () => {
    const document = 'query ($id: ID!) { item(id: $id) { id } }';
    expect(buildGraphqlRequest(query, { document, variables: { id: 1 } })).toEqual({
      query: document,
      variables: { id: 1 },
    });
    expect(buildGraphqlRequest(mutate, { document: 'mutation { a }' })).toEqual({
      query: 'mutation { a }',
      variables: {},
    });
    expect(buildGraphqlRequest(mutate, { document, variables: null }).variables).toEqual({});
  });

  it.each([
    [query, 'mutation { a }', 'document may only have queries, not "mutation"'],
    [query, '{ a } mutation { b }', 'document may only have queries, not "mutation"'],
    [query, 'subscription { a }', 'document may only have queries, not "subscription"'],
    [mutate, 'subscription { a }', 'document may only have queries and mutations, not "subscription"'],
    [mutate, '{ a } { b }', 'document must have one operation, not 2'],
    [query, 'fragment F on T { a }', 'document must have one operation, not 0'],
    [query, '{ a', 'document ends before "}"'],
    [query, undefined, 'document must be a text'],
  ])('is refused if it is not what the tool is for', (operation, document, message) => {
    const build = (): unknown => buildGraphqlRequest(operation, { document });
    expect(build).toThrow(invalid(message));
  });

  it('is refused with variables that are no object', () => {
    expect(() => buildGraphqlRequest(query, { document: '{ a }', variables: [1] })).toThrow(
      'variables must be an object',
    );
  });
});
