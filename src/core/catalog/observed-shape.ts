/**
 * The shape of the values seen so far, as a JSON Schema: the result type of a tool whose server does not declare one. Limited
 * in depth, width and the number of members examined. Keeps nothing of the values themselves except the keys of objects.
 */
import type { Schema } from './json-schema.ts';

/** Levels below the value that are described. Chosen: a reader needs only the first few. */
const MAX_DEPTH = 4;
/** An object with more keys is a map whose keys are data, such as ids, and say nothing about the next result. Chosen. */
const MAX_KEYS = 40;
/** Keys that are names: of at most four words, and of this length. Others are data, or sentences for whoever reads the schema. Chosen. */
const NAME = /^[\p{L}\p{N}_$@#(][\p{L}\p{N}\p{M}_$@#%()/.:-]*(?: [\p{L}\p{N}\p{M}_$@#%()/.:-]+){0,3}$/u;
const MAX_NAME_CHARS = 40;
/** Members of an array that are examined; later ones hardly ever have another shape. Chosen. */
const MAX_MEMBERS = 20;
/** Shapes of all levels together: each level may have 40 keys, and four of them 2.5 million. Chosen: a reader needs far fewer. */
const MAX_SHAPES = 1_000;

export class ObservedShape {
  readonly #isNumber: (value: object) => boolean;
  /** How many more shapes the outermost one may have. */
  readonly #room: { left: number };
  readonly #types = new Set<string>();
  #members: ObservedShape | undefined;
  readonly #keys = new Map<string, { readonly shape: ObservedShape; readonly count: number }>();
  #objects = 0;
  #isMap = false;

  /** `isNumber` recognizes objects that represent numbers which JavaScript cannot hold. */
  constructor(isNumber: (value: object) => boolean, room = { left: MAX_SHAPES }) {
    this.#isNumber = isNumber;
    this.#room = room;
  }

  /** Adds one more JSON value. */
  add(value: unknown, depth = MAX_DEPTH): void {
    if (Array.isArray(value)) {
      this.#types.add('array');
      for (const member of depth === 0 ? [] : value.slice(0, MAX_MEMBERS)) {
        this.#members ??= this.#newShape();
        this.#members?.add(member, depth - 1);
      }
    } else if (typeof value === 'object' && value !== null && !this.#isNumber(value)) {
      this.#types.add('object');
      this.#addObject(value, depth);
    } else {
      this.#types.add(typeOf(value));
    }
  }

  #addObject(value: object, depth: number): void {
    const entries = Object.entries(value);
    this.#objects += 1;
    const isMap = depth === 0 || entries.length > MAX_KEYS || !entries.every(([key]) => isName(key));
    if (isMap || this.#isMap) {
      this.#becomeMap();
      return;
    }
    for (const [key, member] of entries) {
      const known = this.#keys.get(key);
      const shape = known?.shape ?? this.#newShape();
      if (shape === undefined) {
        this.#becomeMap();
        return;
      }
      shape.add(member, depth - 1);
      this.#keys.set(key, { shape, count: (known?.count ?? 0) + 1 });
    }
    if (this.#keys.size > MAX_KEYS) {
      this.#becomeMap();
    }
  }

  #becomeMap(): void {
    this.#isMap = true;
    this.#keys.clear();
  }

  /** Undefined if there is no room for another. */
  #newShape(): ObservedShape | undefined {
    if (this.#room.left === 0) {
      return undefined;
    }
    this.#room.left -= 1;
    return new ObservedShape(this.#isNumber, this.#room);
  }

  /** Keys that every object had are required. */
  toSchema(): Schema {
    const schemas = [...this.#types].map((type) => this.#schemaOf(type));
    const [only] = schemas;
    return schemas.length === 1 && only !== undefined ? only : { anyOf: schemas };
  }

  #schemaOf(type: string): Schema {
    if (type === 'array') {
      return this.#members === undefined ? { type } : { type, items: this.#members.toSchema() };
    }
    if (type !== 'object' || this.#isMap) {
      return { type };
    }
    const keys = [...this.#keys];
    const required = keys.filter(([, { count }]) => count === this.#objects).map(([key]) => key);
    if (this.#objects > 1 && required.length === 0) {
      return { type }; // Without a common key, they say nothing about the next one.
    }
    return { type, properties: Object.fromEntries(keys.map(([key, { shape }]) => [key, shape.toSchema()])), required };
  }
}

function isName(key: string): boolean {
  return key.length <= MAX_NAME_CHARS && NAME.test(key);
}

function typeOf(value: unknown): string {
  if (value === null) {
    return 'null';
  }
  // The only objects that get here represent numbers, nearly always long integers.
  return typeof value === 'object' || Number.isInteger(value) ? 'integer' : typeof value;
}
