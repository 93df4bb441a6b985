import { array, assert, constantFrom, property } from 'fast-check';
import { Kind, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { checkSelection, operationsIn } from '../../../../../src/edges/upstream/api/graphql/document-scan.ts';

/** The only selection of the only field of the only operation, as graphql's own parser reads it; undefined if it is not all. */
function selectionOf(text: string): string | undefined {
  const { definitions } = parse(`{ field { ${text} } }`);
  const [operation] = definitions;
  const fields = operation?.kind === Kind.OPERATION_DEFINITION ? operation.selectionSet.selections : [];
  const [field] = fields;
  return definitions.length === 1 && fields.length === 1 && field?.kind === Kind.FIELD ? field.name.value : undefined;
}

/** Pieces of which texts are made that try to leave their braces. */
const PUNCTUATORS = [
  '{',
  '}',
  '(',
  ')',
  '[',
  ']',
  '"',
  '"""',
  '\\',
  '\\"',
  '#',
  '\n',
  '\r',
  '\u2028',
  '\uFEFF',
  ' ',
  ',',
];
const WORDS = ['a', 'b: c', '...', '... on T', '@skip(if: true)', '$x', '1.5', '-1e9', '{ a }', '(a: "}")'];
const KEYWORDS = ['mutation', 'query', 'subscription', 'fragment F on T'];
const pieces = constantFrom(...PUNCTUATORS, ...WORDS, ...KEYWORDS);

describe('checkSelection', () => {
  it.each([
    ['id name', 'id name\n'],
    ['{ id owner { login } }', ' id owner { login } \n'],
    ['  {id}  ', 'id\n'],
    ['issues(first: 3, filter: {text: "a } b \\" {"}) { nodes { id } }', undefined],
    ['id # the key }', undefined],
    ['... on User { login } ...Part @include(if: $yes)', undefined],
    ['nested: field(list: [[1, 2.5e3], [-1]])', undefined],
  ])('accepts %s', (text, expected = `${text}\n`) => {
    expect(checkSelection(text)).toBe(expected);
    expect(selectionOf(checkSelection(text))).toBe('field');
  });

  it.each([
    ['', 'is empty'],
    [' , # nothing', 'is empty'],
    ['{ }', 'is empty'],
    ['id } other { id', 'has a "}" at character 4 that closes nothing'],
    ['{ id } }', 'has a "}" at character 8 that closes nothing'],
    ['{ id } other', 'has something after its closing brace'],
    ['{ id } { id }', 'has something after its closing brace'],
    ['id { name', 'ends before "}"'],
    ['id(a: [1)', 'has a ")" at character 9 that closes nothing'],
    ['id(a: "x', 'has something at character 7 that is not accepted: "\\"x"'],
    ['id(a: "x\ny")', 'is not accepted'],
    ['id(a: """x""")', 'is not accepted'],
    ['id # \u2028 }', 'is not accepted'],
    ['id \u00a0', 'is not accepted'],
    ["id(a: 'x')", 'is not accepted'],
    ['a'.repeat(20_001), 'has 20001 characters; the limit is 20000'],
    ['a {'.repeat(101), 'is nested deeper than 100 levels'],
  ])('refuses %.30s', (text, message) => {
    expect(() => checkSelection(text)).toThrow(message);
  });

  it('lets nothing out of the braces that the parser of graphql accepts', () => {
    assert(
      property(array(pieces, { maxLength: 24 }), (parts) => {
        let selected: string;
        try {
          selected = checkSelection(parts.join(''));
          parse(`{ field { ${selected} } }`);
        } catch {
          return; // Refused here, or by the server.
        }
        expect(selectionOf(selected)).toBe('field');
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('operationsIn', () => {
  it.each([
    ['{ a }', ['query']],
    ['# first\nquery Q($a: [Int] = [1], $b: I = {a: {b: 1}}) @d(x: {y: 1}) { a { b } }', ['query']],
    ['query mutation { mutation }', ['query']],
    ['fragment mutation on T { a } { ...mutation }', ['query']],
    ['mutation M { a } query { b }', ['mutation', 'query']],
    ['{ a } mutation { b }', ['query', 'mutation']],
    ['subscription { a }', ['subscription']],
    ['fragment F on T { a }', []],
    ['', []],
    ['"""text""" { a }', 'is not accepted'],
    ['"text" mutation { a }', ['"text"']],
  ])('of %s', (text, expected) => {
    if (typeof expected === 'string') {
      expect(() => operationsIn(text)).toThrow(expected);
    } else {
      expect(operationsIn(text)).toEqual(expected);
    }
  });

  it('are those that the parser of graphql finds', () => {
    assert(
      property(array(pieces, { maxLength: 24 }), (parts) => {
        const text = parts.join('');
        let found: readonly string[];
        let parsed: ReturnType<typeof parse>;
        try {
          found = operationsIn(text);
          parsed = parse(text);
        } catch {
          return;
        }
        const kinds = parsed.definitions.flatMap((each) =>
          each.kind === Kind.OPERATION_DEFINITION ? [each.operation] : [],
        );
        expect(found).toEqual(kinds);
      }),
      { numRuns: 5_000 },
    );
  });
});
