/**
 * Writes the schemas of one tool: each as its own JSON Schema 2020-12, with the referenced ones under `$defs`, so that recursive ones
 * keep working. What is too deep or too long is simplified: the schema allows more then, never something else.
 */
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import { listOf } from '../../../../core/catalog/json-schema.ts';
import { type ApiDocument, isReference, objectOf, type Referred, shorten, textOf } from './api-document.ts';
import { orNull, plainKeywords, requiredOf, typesOf } from './schema-keywords.ts';

/** Schemas within each other in one definition. The catalog takes 64 levels of JSON, and each of these takes two. */
const MAX_NESTING = 26;
/** Branches of one `oneOf` and the like. Chosen: real ones have up to 60. */
const MAX_BRANCHES = 100;

export interface WriterLimits {
  /** Levels of members and items, also through references. */
  readonly maxLevel: number;
  /** Of a description within the schema. */
  readonly maxTextChars: number;
  /** Stops there; about the length as JSON. */
  readonly maxChars: number;
}

export interface WriterOptions extends WriterLimits {
  /** Whether the schema is of what is sent: read-only members and, in the other case, write-only ones are left out. */
  readonly isInput: boolean;
}

interface Place {
  readonly level: number;
  readonly nesting: number;
}

interface Definition {
  readonly name: string;
  readonly level: number;
  readonly value: unknown;
}

export class SchemaWriter {
  readonly #document: ApiDocument;
  readonly #options: WriterOptions;
  /** By pointer. */
  readonly #definitions = new Map<string, Definition>();
  readonly #names = new Set<string>();
  #chars = 0;
  /** Whether something was simplified. */
  isCut = false;

  constructor(document: ApiDocument, options: WriterOptions) {
    this.#document = document;
    this.#options = options;
  }

  get isTooLong(): boolean {
    return this.#chars > this.#options.maxChars;
  }

  /** Throws an `OperationFault` if it needs another file. */
  write(schema: unknown, { level, nesting }: Place = { level: 0, nesting: 0 }): unknown {
    if (!isObject(schema)) {
      return typeof schema === 'boolean' ? schema : {};
    }
    this.#chars += 20;
    if (level > this.#options.maxLevel || nesting > MAX_NESTING || this.isTooLong) {
      this.isCut = true;
      const { types } = typesOf(schema);
      return types.length === 1 ? { type: types[0] } : {};
    }
    const { hasNull } = typesOf(schema);
    const written = isReference(schema)
      ? this.#reference(schema, { level, nesting })
      : this.#keywords(schema, { level, nesting });
    return hasNull && isObject(written) ? orNull(written) : written;
  }

  get maxTextChars(): number {
    return this.#options.maxTextChars;
  }

  /** The text for readers of an argument, which is often in what the schema refers to, or beside null. */
  descriptionOf(schema: unknown, depth = 3): string {
    const target = this.#document.object(schema);
    const branches = [...listOf(target['anyOf']), ...listOf(target['oneOf'])].filter(
      (branch) => !isObject(branch) || branch['type'] !== 'null',
    );
    const own = textOf(objectOf(schema)['description']) || textOf(target['description']);
    const [part] = branches.length === 1 ? branches : listOf(target['allOf']);
    return own !== '' || part === undefined || depth === 0 ? own : this.descriptionOf(part, depth - 1);
  }

  /** `$defs` for everything that was written; undefined if there are none. */
  definitions(): JsonObject | undefined {
    const written: [string, unknown][] = [];
    // Grows while it is read.
    for (const { name, level, value } of this.#definitions.values()) {
      written.push([name, this.write(value, { level, nesting: 1 })]);
    }
    return written.length === 0 ? undefined : Object.fromEntries(written);
  }

  #keywords(schema: JsonObject, place: Place): JsonObject {
    const plain = plainKeywords(schema, this.#options.maxTextChars, this.#options.isInput);
    this.#chars += JSON.stringify(plain).length;
    const choice = discriminatorText(schema);
    return {
      ...plain,
      ...(choice !== '' && { description: `${textOf(plain['description'])} ${choice}`.trim() }),
      ...this.#members(schema, place),
      ...this.#subschemas(schema, place),
    };
  }

  #members(schema: JsonObject, place: Place): JsonObject {
    const unwanted = this.#options.isInput ? 'readOnly' : 'writeOnly';
    const properties = isObject(schema['properties'])
      ? Object.entries(schema['properties']).filter(([, member]) => !this.#document.says(member, unwanted))
      : undefined;
    const left = properties && new Set(properties.map(([name]) => name));
    const isDropped = (name: string): boolean =>
      left?.has(name) === false && Object.hasOwn(objectOf(schema['properties']), name);
    const required = requiredOf(schema).filter((name) => !isDropped(name));
    return {
      ...(properties !== undefined && { properties: this.#map(properties, deeper(place)) }),
      ...(required.length > 0 && { required }),
      ...(isObject(schema['patternProperties']) && {
        patternProperties: this.#map(Object.entries(schema['patternProperties']), deeper(place)),
      }),
    };
  }

  #subschemas(schema: JsonObject, place: Place): JsonObject {
    const within = { level: place.level, nesting: place.nesting + 1 };
    const written: [string, unknown][] = [];
    for (const key of ['items', 'additionalProperties', 'contains', 'propertyNames']) {
      // `items: [a, b]` was for tuples.
      if (isObject(schema[key]) || typeof schema[key] === 'boolean') {
        written.push([key, this.write(schema[key], deeper(place))]);
      } else if (Array.isArray(schema[key])) {
        written.push(['prefixItems', this.#list(schema[key], deeper(place))]);
      }
    }
    for (const key of ['not', 'if', 'then', 'else'].filter((each) => this.#options.isInput && isObject(schema[each]))) {
      written.push([key, this.write(schema[key], within)]);
    }
    for (const key of ['allOf', 'anyOf', 'oneOf', 'prefixItems'].filter((each) => listOf(schema[each]).length > 0)) {
      written.push([key, this.#list(listOf(schema[key]), within)]);
    }
    return Object.fromEntries(written);
  }

  #list(schemas: readonly unknown[], place: Place): unknown[] {
    if (schemas.length > MAX_BRANCHES) {
      this.isCut = true;
      return [{}];
    }
    return schemas.map((schema) => this.write(schema, place));
  }

  #map(entries: readonly (readonly [string, unknown])[], place: Place): JsonObject {
    const written: [string, unknown][] = [];
    for (const [name, schema] of entries) {
      this.#chars += name.length;
      if (this.isTooLong) {
        this.isCut = true;
        break;
      }
      written.push([name, this.write(schema, place)]);
    }
    // Defines properties, so that a member `__proto__` is one like any other.
    return Object.fromEntries(written);
  }

  #reference(schema: JsonObject & { readonly $ref: string }, place: Place): unknown {
    const referred = this.#document.refer(schema.$ref);
    const target = referred.value;
    const own = plainKeywords({ ...schema, type: undefined }, this.#options.maxTextChars, false);
    if (!isObject(target)) {
      this.isCut ||= target === undefined;
      return { ...own, ...(target === undefined ? {} : objectOf(this.write(target, place))) };
    }
    if (isScalar(target)) {
      return { ...objectOf(this.write(target, place)), ...own };
    }
    return { ...own, $ref: `#/$defs/${this.#define(referred, place.level)}` };
  }

  #define({ pointer, value }: Referred, level: number): string {
    const known = this.#definitions.get(pointer);
    if (known !== undefined) {
      return known.name;
    }
    const base = shorten(lastPart(pointer).replaceAll(/[^\w.-]+/g, '_'), 80) || 'schema';
    let name = base;
    for (let count = 2; this.#names.has(name); count += 1) {
      name = `${base}_${count}`;
    }
    this.#names.add(name);
    this.#definitions.set(pointer, { name, level, value });
    return name;
  }
}

function deeper({ level, nesting }: Place): Place {
  return { level: level + 1, nesting: nesting + 1 };
}

function lastPart(pointer: string): string {
  const last = pointer.slice(pointer.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last).replaceAll('~1', '/');
  } catch {
    return last; // A stray percent sign.
  }
}

/** Written where it is used: a name for it would say less than the type. */
function isScalar(schema: JsonObject): boolean {
  const { types } = typesOf(schema);
  const isPlain = types.length > 0 && !types.includes('object') && !types.includes('array');
  return isPlain && !['allOf', 'anyOf', 'oneOf', 'not'].some((key) => schema[key] !== undefined);
}

/** What a discriminator means, for readers: `The member "petType" says which: cat, dog.` */
function discriminatorText(schema: JsonObject): string {
  const { propertyName, mapping } = objectOf(schema['discriminator']);
  const name = textOf(propertyName) || textOf(schema['discriminator']);
  const values = Object.keys(objectOf(mapping)).slice(0, 20).join(', ');
  return name === '' ? '' : shorten(`The member "${name}" says which it is${values === '' ? '' : `: ${values}`}.`, 300);
}
