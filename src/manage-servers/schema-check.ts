/**
 * A value against a JSON Schema: what is certainly wrong with it, in the words of the check that code in a sandbox passes
 * (`json_schema.py` of the kernel; a test compares the two). What is in doubt passes, and the server judges it: keywords
 * that are not read here, references out of the document, patterns, and what lies beyond a bounded number of steps.
 */

import { isObject } from '../base/is-object.ts';
import { follow, listOf, type Schema } from '../catalog/json-schema.ts';
import { isCarriedNumber } from '../protocol/exact-json.ts';
import {
  listProblem,
  literalProblem,
  numberProblem,
  shownValue,
  sizeProblem,
  textProblem,
  typeProblem,
} from './schema-values.ts';

/** What is wrong, and where. */
export interface Problem {
  /** Leads from the value that was checked to the place. */
  readonly path: readonly (string | number)[];
  readonly text: string;
  /** What would be right, when the value as a whole is wrong; empty when that cannot be said. */
  readonly expected: string;
  /** A word that may be meant to be one of these. */
  readonly guess?: { readonly word: string; readonly known: readonly string[] };
}

/** Values or names listed in one message. */
const MAX_CHOICES = 20;
const MAX_STEPS = 10_000;

/** The first thing that is certainly wrong with `value`, a JSON value; references are those of `root`. */
export function findProblem(value: unknown, schema: unknown, root: Schema): Problem | undefined {
  try {
    return new Check(root).problem(value, schema);
  } catch (error) {
    if (error instanceof RangeError) {
      return undefined; // Nested deeper than the stack is.
    }
    throw error;
  }
}

class Check {
  readonly #root: Schema;
  #steps = MAX_STEPS;

  constructor(root: Schema) {
    this.#root = root;
  }

  problem(value: unknown, schema: unknown): Problem | undefined {
    this.#steps -= 1;
    // A number beyond 2^53 is an object here, and nothing is said of it.
    const isCarried = isObject(value) && isCarriedNumber(value);
    if (this.#steps < 0 || isCarried || schema === true || schema === undefined) {
      return undefined;
    }
    if (!isObject(schema)) {
      return schema === false ? wrong('is not allowed') : undefined;
    }
    // An embedded document has references of its own, which are not followed.
    if (schema !== this.#root && (schema['$id'] !== undefined || typeof schema['id'] === 'string')) {
      return undefined;
    }
    // Alone: in older drafts everything beside a reference is ignored.
    if (schema['$ref'] !== undefined) {
      return this.problem(value, follow(schema, this.#root));
    }
    return schema['nullable'] === true && value === null ? undefined : this.#first(value, schema);
  }

  /** In the order in which problems are told. */
  #first(value: unknown, schema: Schema): Problem | undefined {
    return (
      literalProblem(value, schema) ??
      typeProblem(value, schema) ??
      textProblem(value, schema) ??
      numberProblem(value, schema) ??
      this.#ofList(value, schema) ??
      this.#ofObject(value, schema) ??
      this.#ofAll(value, schema) ??
      this.#ofAny(value, schema)
    );
  }

  #ofList(value: unknown, schema: Schema): Problem | undefined {
    if (!Array.isArray(value)) {
      return undefined;
    }
    // Draft 2019-09 and before have the first members in `items`.
    const [first, items] = Array.isArray(schema['items'])
      ? [schema['items'], schema['additionalItems']]
      : [schema['prefixItems'], schema['items']];
    const places = listOf(first);
    const problem = listProblem(value, schema);
    return (
      problem ??
      firstOf(value, (member, index) => {
        return at(index, this.problem(member, index < places.length ? places[index] : items));
      })
    );
  }

  #ofObject(value: unknown, schema: Schema): Problem | undefined {
    if (!isObject(value)) {
      return undefined;
    }
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    const missing = listOf(schema['required']).find((name): name is string => {
      // A server fills in a default itself, also where it lists the key as required.
      return typeof name === 'string' && !Object.hasOwn(value, name) && !hasDefault(own(properties, name));
    });
    const size = sizeProblem(Object.keys(value).length, schema, ['minProperties', 'maxProperties', 'keys']);
    if (size !== undefined || missing !== undefined) {
      return size ?? at(missing ?? '', wrong('is missing'));
    }
    return firstOf(Object.entries(value), ([key, member]) => {
      return at(
        key,
        Object.hasOwn(properties, key) ? this.problem(member, properties[key]) : this.#ofOther(key, member, schema),
      );
    });
  }

  /** A key that `properties` does not name. A pattern that may match leaves it to the server. */
  #ofOther(key: string, member: unknown, schema: Schema): Problem | undefined {
    const patterns = isObject(schema['patternProperties']) ? Object.keys(schema['patternProperties']) : [];
    const more = schema['additionalProperties'];
    if (patterns.length > 0 || more !== false) {
      return patterns.length > 0 ? undefined : this.problem(member, more);
    }
    const known = isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
    const names = known.length === 0 ? '' : `. Known: ${known.slice(0, MAX_CHOICES).join(', ')}`;
    return { ...wrong(`is not a known key${names}`), guess: { word: key, known } };
  }

  #ofAll(value: unknown, schema: Schema): Problem | undefined {
    return firstOf(listOf(schema['allOf']), (member) => this.problem(value, member));
  }

  #ofAny(value: unknown, schema: Schema): Problem | undefined {
    return firstOf(['anyOf', 'oneOf'], (keyword) => {
      const problems: Problem[] = [];
      for (const member of listOf(schema[keyword])) {
        const found = this.problem(value, member);
        if (found === undefined) {
          return undefined;
        }
        problems.push(found);
      }
      return problems.length === 0 ? undefined : nearest(problems, value);
    });
  }
}

/** The problem to tell when no alternative fits: that of the one that came nearest, else what would be right. */
function nearest(problems: readonly Problem[], value: unknown): Problem | undefined {
  const [deepest] = problems.toSorted((left, right) => right.path.length - left.path.length);
  const expected = [...new Set(problems.map((problem) => problem.expected))];
  if (deepest === undefined || deepest.path.length > 0 || expected.includes('')) {
    return deepest;
  }
  const said = expected.slice(0, MAX_CHOICES).join(' or ');
  return { path: [], text: `must be ${said}, not ${shownValue(value)}`, expected: said };
}

function at(key: string | number, problem: Problem | undefined): Problem | undefined {
  return problem && { ...problem, path: [key, ...problem.path] };
}

function wrong(text: string): Problem {
  return { path: [], text, expected: '' };
}

function hasDefault(schema: unknown): boolean {
  return isObject(schema) && Object.hasOwn(schema, 'default');
}

function own(value: Schema, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function firstOf<Value, Found>(
  values: readonly Value[],
  look: (value: Value, index: number) => Found | undefined,
): Found | undefined {
  for (const [index, value] of values.entries()) {
    const found = look(value, index);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}
