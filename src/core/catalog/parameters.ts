/** The parameters of a tool: their names, their names in Python, and their order in a call. */
import { isObject } from '../base/is-object.ts';
import { objectShape, type Schema } from './json-schema.ts';
import { assignAliases, type Named } from './names.ts';

export interface Parameter extends Named {
  readonly schema: unknown;
  /** False for a parameter with a default, even if it is listed as required: servers do that and fill in the default. */
  readonly isRequired: boolean;
}

export interface Parameters {
  readonly names: ReadonlySet<string>;
  /** Required ones first; each group in the order of the schema. */
  readonly list: readonly Parameter[];
  /** Whether the tool may take further arguments: it says so, names no parameters, or has more than the limit. */
  readonly isOpen: boolean;
}

const known = new WeakMap<Schema, Parameters>();

/** The parameters of an input schema. Cached: the same schema object gives the same result object. */
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
 * The arguments with the names that the server expects: aliases such as `from_` for `from` or `issue_number` for
 * `issue-number` are replaced. Unknown keys are left for the server to judge.
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
  // fromEntries defines properties, so that a key `__proto__` is data like any other.
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => {
      const original = names.has(key) ? key : (byAlias.get(key) ?? key);
      return [Object.hasOwn(given, original) ? key : original, value];
    }),
  );
}
