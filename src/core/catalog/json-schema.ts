/**
 * Reads JSON Schema as servers write it, of any draft and not always valid: nothing here throws, fetches or assumes a shape.
 * Only references within the document are followed (JSON Schema 2020-12, section 8.2; pointers: RFC 6901).
 */
import { isObject } from '../base/is-object.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** The properties of an object schema, including those of its `allOf` branches. */
export interface ObjectShape {
  /** In the order of the schema. A property that is only listed as required has the schema `true`. */
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
  /** Whether the schema explicitly allows further properties. */
  readonly isOpen: boolean;
  /** Whether there were more properties than the limit. */
  readonly isCut: boolean;
}

/** The longest chain of references that is followed. Chosen: real ones have one link, and `a -> b -> a` never ends. */
const MAX_REFERENCES = 16;
/** Branches of one schema that are read for properties. Chosen: more than any real schema has; a bomb has millions. */
const MAX_BRANCHES = 64;
/** Properties that are read of one object. Chosen: the largest of 1,084 real tools has 32 parameters. */
const MAX_PROPERTIES = 250;

/** Resolves `$ref`: the schema that `schema` refers to, or `schema` itself without one. Undefined if the target is not in `root`. */
export function follow(schema: unknown, root: Schema): unknown {
  let current = schema;
  for (let links = 0; links < MAX_REFERENCES; links += 1) {
    if (!isObject(current) || typeof current['$ref'] !== 'string') {
      return current;
    }
    current = resolvePointer(current['$ref'], root);
  }
  return undefined;
}

/** What a JSON pointer in a URI fragment, such as `#/a/b`, refers to in `root`; undefined if there is nothing. */
export function resolvePointer(reference: string, root: Schema): unknown {
  if (reference === '#') {
    return root;
  }
  if (!reference.startsWith('#/')) {
    return undefined;
  }
  let current: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const key = decodePart(part);
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) {
      return undefined;
    }
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part; // A stray percent sign: used literally.
  }
}

/**
 * The properties of an object schema. With `alternatives`, also those of its `anyOf`, `oneOf`, `then` and `else` branches: as
 * optional ones, unless each of them requires it, and with the schemas of all branches that have it.
 */
export function objectShape(schema: Schema, root: Schema, options: { readonly alternatives: boolean }): ObjectShape {
  const properties = new Map<string, unknown>();
  const required = new Set<string>();
  const variants = new Map<string, unknown[]>();
  const seen = new Set<Schema>();
  let isOpen = false;

  function read(branch: unknown, isCertain: boolean): void {
    const target = follow(branch, root);
    if (!isObject(target) || seen.has(target) || seen.size >= MAX_BRANCHES) {
      return;
    }
    seen.add(target);
    const names = propertyNames(target);
    const needed = strings(target['required']);
    for (const name of [...names, ...needed]) {
      const member = memberSchema(target, name);
      if (!properties.has(name)) {
        properties.set(name, member ?? true);
        if (!isCertain || member === undefined) {
          variants.set(name, member === undefined ? [] : [member]);
        }
      } else if (!isCertain && member !== undefined && variants.get(name)?.includes(member) === false) {
        variants.get(name)?.push(member);
      }
    }
    for (const name of isCertain ? [...needed, ...(options.alternatives ? neededByAll(target, root) : [])] : []) {
      required.add(name);
    }
    isOpen ||= allowsMore(target);
    for (const member of listOf(target['allOf'])) {
      read(member, isCertain);
    }
    for (const member of options.alternatives ? alternativesOf(target) : []) {
      read(member, false);
    }
  }

  read(schema, true);
  for (const [name, schemas] of variants) {
    properties.set(name, oneOf(schemas));
  }
  const kept = new Map([...properties].slice(0, MAX_PROPERTIES));
  return { properties: kept, required, isOpen, isCut: kept.size < properties.size };
}

function memberSchema({ properties }: Schema, name: string): unknown {
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** The names that each branch of `anyOf`, or of `oneOf`, lists as required, without a default in any of them. */
function neededByAll(schema: Schema, root: Schema): string[] {
  return ['anyOf', 'oneOf'].flatMap((key) => {
    const branches = listOf(schema[key]).map((branch) => follow(branch, root));
    const [first, ...others] = branches.length > MAX_BRANCHES ? [] : branches.map((branch) => neededBy(branch));
    return [...(first ?? [])].filter((name) => others.every((names) => names.has(name)));
  });
}

function neededBy(branch: unknown): ReadonlySet<string> {
  const hasDefault = (name: string): boolean => {
    const member = isObject(branch) ? memberSchema(branch, name) : undefined;
    return isObject(member) && Object.hasOwn(member, 'default');
  };
  return new Set(isObject(branch) ? strings(branch['required']).filter((name) => !hasDefault(name)) : []);
}

/** The description of the first that has one stands for all. */
function oneOf(schemas: readonly unknown[]): unknown {
  if (schemas.length < 2) {
    return schemas[0] ?? true;
  }
  const described = schemas.find((schema) => isObject(schema) && typeof schema['description'] === 'string') as
    | Schema
    | undefined;
  return { anyOf: schemas, ...(described !== undefined && { description: described['description'] }) };
}

/** Limited and cached, so that a thousand references to one huge object cost as much as one. */
function propertyNames({ properties }: Schema): readonly string[] {
  if (!isObject(properties)) {
    return [];
  }
  const known = namesOfProperties.get(properties) ?? Object.keys(properties).slice(0, MAX_PROPERTIES + 1);
  namesOfProperties.set(properties, known);
  return known;
}

const namesOfProperties = new WeakMap<Schema, readonly string[]>();

function allowsMore(schema: Schema): boolean {
  const { additionalProperties, patternProperties } = schema;
  return additionalProperties === true || isObject(additionalProperties) || isObject(patternProperties);
}

function alternativesOf(schema: Schema): unknown[] {
  return [...listOf(schema['anyOf']), ...listOf(schema['oneOf']), schema['then'], schema['else']];
}

/** `value` if it is an array, otherwise an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function strings(value: unknown): string[] {
  return listOf(value)
    .slice(0, MAX_PROPERTIES + 1)
    .filter((member) => typeof member === 'string');
}
