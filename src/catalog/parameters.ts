/** The parameters of a tool: their original names, their names in Python, and their order in a call. */
import { isObject } from '../base/is-object.ts';
import { objectShape, type Schema } from './json-schema.ts';
import { assignAliases, type Named } from './names.ts';

export interface Parameter extends Named {
  readonly schema: unknown;
  /** A parameter with a default is not: servers list those as required too, and fill them in. */
  readonly isRequired: boolean;
}

export interface Parameters {
  /** Their original names. */
  readonly names: ReadonlySet<string>;
  /** The required ones first, each group in the order of the schema. */
  readonly list: readonly Parameter[];
  /** Whether the tool takes further arguments: it says so, or names no parameter, or more than are read. */
  readonly isOpen: boolean;
}

const known = new WeakMap<Schema, Parameters>();

/** The parameters of an input schema; the same object as long as the schema is the same one. */
export function parametersOf(inputSchema: Schema): Parameters {
  const remembered = known.get(inputSchema);
  if (remembered !== undefined) {
    return remembered;
  }
  const shape = objectShape(inputSchema, inputSchema, { alternatives: true });
  const names = [...shape.properties.keys()];
  const aliases = assignAliases(names);
  const all = names.map((name, index): Parameter => {
    const schema = shape.properties.get(name);
    const hasDefault = isObject(schema) && Object.hasOwn(schema, 'default');
    return { name, alias: aliases[index] ?? name, schema, isRequired: shape.required.has(name) && !hasDefault };
  });
  const parameters = {
    names: new Set(names),
    list: [...all.filter((parameter) => parameter.isRequired), ...all.filter((parameter) => !parameter.isRequired)],
    isOpen: shape.isOpen || shape.isCut || (all.length === 0 && !isClosed(inputSchema)),
  };
  known.set(inputSchema, parameters);
  return parameters;
}

function isClosed(schema: Schema): boolean {
  return schema['additionalProperties'] === false || isObject(schema['properties']);
}

/**
 * The arguments under the names of the schema: a key that is no parameter but the alias of one (`from_` for `from`,
 * `issue_number` for `issue-number`) is renamed. Other keys stay, and the server judges them.
 */
export function resolveArguments(
  inputSchema: Schema,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { names, list } = parametersOf(inputSchema);
  if (Object.keys(given).every((key) => names.has(key))) {
    return given;
  }
  const byAlias = new Map(list.map(({ alias, name }) => [alias, name]));
  // fromEntries defines members, so a key `__proto__` is data like any other.
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => {
      const original = names.has(key) ? key : (byAlias.get(key) ?? key);
      return [Object.hasOwn(given, original) ? key : original, value];
    }),
  );
}
