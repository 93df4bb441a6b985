/** Results of calls that were not sent: as the output schema of the tool says, if it has one. */
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import type { CalledTool } from '../../core/calls/contract.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';

/** Deeper values are null: a schema can refer to itself. Chosen. */
const MAX_DEPTH = 8;
/** Items and properties in one stand-in. Chosen: a schema can describe more than fits anywhere. */
const MAX_VALUES = 1_000;
/** What one stand-in copies from the schema, in characters of JSON. Chosen. */
const MAX_COPIED_CHARS = 65_536;

/** A `CallToolResult`. */
export function standInFor(server: string, tool: CalledTool): JsonObject {
  const { outputSchema } = tool;
  if (outputSchema === undefined) {
    return { content: [{ type: 'text', text: `dry run: ${server}.${tool.name} was not called` }] };
  }
  const made = new StandIn(outputSchema).of(outputSchema, 0);
  const content = [{ type: 'text', text: stringifyExact(made) }];
  // MCP: structured content is an object.
  return isObject(made) ? { content, structuredContent: made } : { content };
}

class StandIn {
  readonly #root: unknown;
  #values = 0;
  #copiedChars = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  /** A value of a JSON Schema: the simplest that its usual keywords allow. */
  of(given: unknown, depth: number): unknown {
    const schema = this.#resolve(given);
    this.#values += 1;
    if (!isObject(schema) || depth > MAX_DEPTH || this.#values > MAX_VALUES) {
      return null;
    }
    const stated = statedValue(schema);
    if (stated !== undefined) {
      return this.#copy(stated);
    }
    return typeOf(schema) === undefined ? this.#ofParts(schema, depth) : this.#ofType(schema, depth);
  }

  /** A value that the schema states. */
  #copy(value: unknown): unknown {
    this.#copiedChars += stringifyExact(value).length;
    return this.#copiedChars > MAX_COPIED_CHARS ? null : value;
  }

  /** A value of a schema without a type of its own. */
  #ofParts({ allOf, anyOf, oneOf }: JsonObject, depth: number): unknown {
    const choices = [anyOf, oneOf].find((list) => Array.isArray(list) && list.length > 0);
    if (Array.isArray(choices)) {
      const chosen: unknown = choices.find((choice) => !isNull(this.#resolve(choice)));
      return this.of(chosen ?? choices[0], depth + 1);
    }
    if (!Array.isArray(allOf)) {
      return null;
    }
    const parts = allOf.slice(0, MAX_VALUES).map((part) => this.of(part, depth + 1));
    return parts.every(isObject) ? Object.assign({}, ...parts) : parts[0];
  }

  #ofType(schema: JsonObject, depth: number): unknown {
    switch (typeOf(schema)) {
      case 'object':
        return this.#object(schema, depth);
      case 'array': {
        const length = Math.min(wholeNumber(schema['minItems']), MAX_VALUES);
        return Array.from({ length }, () => this.of(schema['items'] ?? {}, depth + 1));
      }
      case 'string':
        return ''.padEnd(Math.min(wholeNumber(schema['minLength']), MAX_VALUES), 'x');
      case 'integer':
      case 'number':
        return leastNumber(schema);
      case 'boolean':
        return false;
      default:
        return null;
    }
  }

  #object({ allOf, properties }: JsonObject, depth: number): JsonObject {
    const entries = isObject(properties) ? Object.entries(properties) : [];
    const own = entries.slice(0, MAX_VALUES).map(([name, schema]) => [name, this.of(schema, depth + 1)]);
    const parts = Array.isArray(allOf) ? allOf.slice(0, MAX_VALUES).map((part) => this.of(part, depth + 1)) : [];
    return Object.assign({}, ...parts.filter(isObject), Object.fromEntries(own));
  }

  /** Follows references within the schema. */
  #resolve(schema: unknown): unknown {
    let found = schema;
    for (let step = 0; step < MAX_DEPTH && isObject(found) && typeof found['$ref'] === 'string'; step += 1) {
      const path = found['$ref'];
      found = path.startsWith('#') ? at(this.#root, path.slice(1)) : undefined;
    }
    return found;
  }
}

/** What a JSON pointer names. */
function at(root: unknown, pointer: string): unknown {
  const keys = pointer.split('/').slice(1);
  return keys.reduce<unknown>((value, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
    return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }, root);
}

function statedValue(schema: JsonObject): unknown {
  if (schema['const'] !== undefined) {
    return schema['const'];
  }
  if (schema['default'] !== undefined) {
    return schema['default'];
  }
  const values = schema['enum'];
  return Array.isArray(values) ? values[0] : undefined;
}

function isNull(schema: unknown): boolean {
  return isObject(schema) && (schema['type'] === 'null' || schema['const'] === null);
}

/** The first type other than null, if there is one. */
function typeOf({ items, properties, type }: JsonObject): unknown {
  if (Array.isArray(type)) {
    return type.find((one) => one !== 'null') ?? type[0];
  }
  if (type !== undefined) {
    return type;
  }
  if (properties !== undefined) {
    return 'object';
  }
  return items === undefined ? undefined : 'array';
}

function leastNumber({ exclusiveMinimum, maximum, minimum }: JsonObject): number {
  if (typeof exclusiveMinimum === 'number' && exclusiveMinimum >= 0) {
    return exclusiveMinimum + 1;
  }
  if (typeof minimum === 'number' && minimum > 0) {
    return minimum;
  }
  return typeof maximum === 'number' && maximum < 0 ? maximum : 0;
}

function wholeNumber(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.floor(value) : 0;
}
