/**
 * A parsed description of any version, and its references. Nothing in it is trusted to have the right shape. Only references within the
 * document can be followed (OpenAPI 3.1, "Reference Object").
 */
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import { resolvePointer } from '../../../../core/catalog/json-schema.ts';

/** The longest chain of references that is followed. Chosen: real ones have two links, and `a -> b -> a` never ends. */
const MAX_LINKS = 16;

/** Why an operation cannot be used, as a clause after its name: `needs the file "common.yaml"`. */
export class OperationFault extends Error {}

export interface Referred {
  /** The reference of the last link, such as `#/components/schemas/Pet`. */
  readonly pointer: string;
  /** Undefined if there is nothing, or the chain is circular. */
  readonly value: unknown;
}

export class ApiDocument {
  readonly root: JsonObject;
  readonly isSwagger: boolean;
  /** By reference. There are at most as many as in the text. */
  readonly #referred = new Map<string, Referred>();

  /** Throws if `root` is no description of an API. */
  constructor(root: unknown) {
    if (!isObject(root)) {
      throw new Error('is not an OpenAPI document: it is no object');
    }
    const version = versionOf(root);
    if (!/^(?:2|3\.\d)/.test(version)) {
      throw new Error(`is of OpenAPI ${version.slice(0, 20)}; versions 2.0 and 3.0 to 3.2 can be read`);
    }
    this.root = root;
    this.isSwagger = version.startsWith('2');
  }

  /** What a reference refers to. Throws an `OperationFault` for another file. */
  refer(reference: string): Referred {
    const found = this.#referred.get(reference) ?? this.#follow(reference);
    this.#referred.set(reference, found);
    return found;
  }

  #follow(reference: string): Referred {
    let pointer = reference;
    for (let links = 0; links < MAX_LINKS; links += 1) {
      if (!pointer.startsWith('#')) {
        throw new OperationFault(`needs the file "${pointer.replace(/#.*/s, '').slice(0, 100)}"`);
      }
      const value = resolvePointer(pointer, this.root);
      if (!isObject(value) || typeof value['$ref'] !== 'string') {
        return { pointer, value };
      }
      pointer = value['$ref'];
    }
    return { pointer, value: undefined };
  }

  /** `value` without a reference at its top; an empty object if it is none. */
  object(value: unknown): JsonObject {
    return objectOf(isReference(value) ? this.refer(value.$ref).value : value);
  }

  /** Whether a schema has `key: true`, itself or where it refers to. */
  says(schema: unknown, key: 'readOnly' | 'writeOnly'): boolean {
    return isObject(schema) && (schema[key] === true || (isReference(schema) && this.object(schema)[key] === true));
  }
}

function versionOf(root: JsonObject): string {
  const version = root['openapi'] ?? root['swagger'];
  // `swagger: 2.0` without quotes is a number in YAML.
  if (typeof version !== 'string' && typeof version !== 'number') {
    throw new Error('is not an OpenAPI document: it has neither "openapi" nor "swagger"');
  }
  return String(version);
}

export function isReference(value: unknown): value is { readonly $ref: string } {
  return isObject(value) && typeof value['$ref'] === 'string';
}

/** `value` if it is an object, otherwise an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** `value` without blanks around it if it is a text, otherwise an empty one. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

/** At most `maxChars` characters of `text`, ended with `…` if it was longer. */
export function shorten(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars - 1).trimEnd()}…` : text;
}
