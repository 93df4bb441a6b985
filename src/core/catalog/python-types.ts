/**
 * JSON Schema as Python type annotations: `Literal` for enumerations, and a `TypedDict` for each object that names its
 * members. The annotations are for reading, not for checking: what cannot be expressed briefly becomes a wider type (`dict`,
 * `list`, `Any`), never a wrong one. The time and length for one schema are limited.
 */
import { isObject } from '../base/is-object.ts';
import { follow, listOf, type ObjectShape, objectShape, type Schema } from './json-schema.ts';
import { isPythonKeyword } from './names.ts';
import { withLimits } from './python-limits.ts';
import { pythonString } from './python-literal.ts';
import { ANY, joinParts, literalParts, type Part, PYTHON_TYPES, simple } from './python-union.ts';

/** The types defined in one text. */
/** Of a text in base64 that stands for a file. The kernel takes bytes for it (`files.py`). */
const FILE_TYPE = 'application/octet-stream';

export interface TypeNames {
  readonly taken: Set<string>;
  /** The members of a type as text, and its name: a type with the same members is not defined again. */
  readonly byMembers: Map<string, string>;
}

/** What the annotations of one tool share: the types they refer to. */
export interface TypeScope {
  /** Class statements, one line each. A definition may refer to a later one. */
  readonly definitions: string[];
  readonly names: TypeNames;
  /** The names of all types of this tool begin with it. */
  readonly prefix: string;
  /** For a one-line signature: objects become plain `dict`, of long literals only some are shown, and limits only of parameters. */
  readonly isBrief: boolean;
}

/** The annotation for a schema of one document; a type defined for it gets `name`. */
export type Annotate = (schema: unknown, name: string) => string;

/** Schemas visited in one document. Chosen: the largest of 1,084 real tools needs 1,100; a bomb would need millions. */
const MAX_VISITS = 2_000;
/** Nested types below a parameter. Chosen: for deeper ones, readers have the schema. */
const MAX_DEPTH = 6;
/** Types of one tool. Chosen, for the same reason. */
const MAX_DEFINITIONS = 24;
const MAX_TYPE_NAME_CHARS = 40;

const RESERVED = ['Annotated', 'Any', 'Literal', 'NotRequired', 'TypedDict'];
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function createTypeNames(): TypeNames {
  return { taken: new Set(RESERVED), byMembers: new Map() };
}

/** Pass `names` if one text contains the types of several tools. */
export function createTypeScope(
  tool: string,
  { isBrief = false, names = createTypeNames() }: { readonly isBrief?: boolean; readonly names?: TypeNames } = {},
): TypeScope {
  return { definitions: [], names, prefix: typeName(tool), isBrief };
}

/** `CreateIssue` for `create-issue`; at most 40 characters, so that an absurd name costs little. */
export function typeName(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const pascal = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  const name = pascal.slice(0, MAX_TYPE_NAME_CHARS);
  return /^[A-Za-z]/.test(name) ? name : `T${name}`;
}

/** Annotates schemas inside `root` and adds the definitions they need to `scope`. Limits matter for arguments, not for results. */
export function createAnnotate(
  root: Schema,
  scope: TypeScope,
  { showsLimits = true }: { readonly showsLimits?: boolean } = {},
): Annotate {
  const writer = new TypeWriter(root, scope, showsLimits);
  return (schema, name) => joinParts(writer.partsOf(schema, name, MAX_DEPTH), scope.isBrief);
}

/** In all methods, `name` is for the type if one must be defined, and `depth` counts down. */
class TypeWriter {
  readonly #root: Schema;
  readonly #scope: TypeScope;
  readonly #showsLimits: boolean;
  /** The results for referenced schemas. */
  readonly #references = new Map<unknown, readonly Part[]>();
  #visits = 0;

  constructor(root: Schema, scope: TypeScope, showsLimits: boolean) {
    this.#root = root;
    this.#scope = scope;
    this.#showsLimits = showsLimits;
  }

  partsOf(schema: unknown, name: string, depth: number): readonly Part[] {
    this.#visits += 1;
    if (!isObject(schema) || this.#visits > MAX_VISITS || depth < 0) {
      return ANY;
    }
    if (typeof schema['$ref'] === 'string') {
      return this.#referenceParts(schema['$ref'], name, depth);
    }
    const parts =
      literalParts(schema) ?? this.#objectParts(schema, name, depth) ?? this.#unionParts(schema, name, depth);
    return schema['nullable'] === true ? [...parts, simple('None')] : parts;
  }

  #text(schema: unknown, name: string, depth: number): string {
    return joinParts(this.partsOf(schema, name, depth), this.#scope.isBrief);
  }

  #referenceParts(reference: string, name: string, depth: number): readonly Part[] {
    const target = follow({ $ref: reference }, this.#root);
    const known = this.#references.get(target);
    if (known !== undefined) {
      return known;
    }
    // Preliminary: a recursion through something that gets no name of its own is `Any`.
    this.#references.set(target, ANY);
    const last = reference.split('/').at(-1) ?? '';
    const parts = this.partsOf(target, last === '' || last === '#' ? name : last, depth);
    this.#references.set(target, parts);
    return parts;
  }

  /** Undefined if the schema names no members. */
  #objectParts(schema: Schema, name: string, depth: number): readonly Part[] | undefined {
    const shape = objectShape(schema, this.#root, { alternatives: false });
    if (shape.properties.size === 0) {
      return undefined;
    }
    if (this.#scope.isBrief || depth === 0 || this.#scope.definitions.length >= MAX_DEFINITIONS) {
      return [simple('dict')];
    }
    return [simple(this.#define(schema, shape, name, depth))];
  }

  /** The name of a type for the object. A type with the same members is reused. */
  #define(schema: Schema, shape: ObjectShape, name: string, depth: number): string {
    const { definitions, names } = this.#scope;
    const claimed = claimName(this.#scope, name);
    this.#references.set(schema, [simple(claimed)]);
    const slot = definitions.push('') - 1;
    const members = [...shape.properties].map(([key, member]): Member => {
      return { key, type: this.#text(member, key, depth - 1), isRequired: shape.required.has(key) };
    });
    const body = definition(members);
    const twin = names.byMembers.get(body);
    if (twin !== undefined) {
      // It cannot be recursive, because then its body would contain its own name.
      definitions.splice(slot, 1);
      names.taken.delete(claimed);
      this.#references.set(schema, [simple(twin)]);
      return twin;
    }
    names.byMembers.set(body, claimed);
    definitions[slot] = body.replaceAll(PLACEHOLDER, claimed);
    return claimed;
  }

  #unionParts(schema: Schema, name: string, depth: number): readonly Part[] {
    const { type } = schema;
    if (typeof type === 'string' && type !== 'object') {
      return this.#typeParts(type, schema, name, depth);
    }
    const branches = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])];
    const parts = branches.flatMap((branch) => this.partsOf(branch, name, depth));
    const merged = listOf(schema['allOf']).map((member) => this.partsOf(member, name, depth));
    const known = [parts, ...merged].find((some) => some.length > 0 && joinParts(some, false) !== 'Any');
    if (known !== undefined) {
      return known;
    }
    const types = listOf(type).filter((member) => typeof member === 'string');
    return types.length > 0
      ? types.flatMap((member) => this.#typeParts(member, schema, name, depth))
      : this.#typeParts(typeof type === 'string' ? type : impliedType(schema), schema, name, depth);
  }

  #typeParts(type: string, schema: Schema, name: string, depth: number): readonly Part[] {
    const parts = this.#unlimitedParts(type, schema, name, depth);
    // A short line has room for the limits of parameters only.
    const hasLimits = this.#showsLimits && (!this.#scope.isBrief || depth === MAX_DEPTH);
    return hasLimits ? parts.map((part) => simple(withLimits(part.text, type, schema))) : parts;
  }

  #unlimitedParts(type: string, schema: Schema, name: string, depth: number): readonly Part[] {
    if (type === 'array') {
      const item = this.#itemType(schema, name, depth);
      return [simple(item === 'Any' ? 'list' : `list[${item}]`)];
    }
    if (type === 'object' && isObject(schema['additionalProperties'])) {
      const value = this.#text(schema['additionalProperties'], `${name}Value`, depth - 1);
      return [simple(value === 'Any' ? 'dict' : `dict[str, ${value}]`)];
    }
    if (type === 'string' && schema['contentEncoding'] === 'base64' && schema['contentMediaType'] === FILE_TYPE) {
      return [simple('bytes')];
    }
    const plain = PYTHON_TYPES.get(type);
    return plain === undefined ? ANY : [simple(plain)];
  }

  /** The union of the types of an array's items; positions of a tuple are not distinguished. */
  #itemType(schema: Schema, name: string, depth: number): string {
    const { items, prefixItems, additionalItems } = schema;
    const tuple = Array.isArray(items) ? listOf(items) : listOf(prefixItems);
    const rest = Array.isArray(items) ? additionalItems : items;
    const isOnlyTuple = tuple.length > 0 && (rest === undefined || rest === false);
    const members = isOnlyTuple ? tuple : [...tuple, rest];
    const parts = members.flatMap((member) => this.partsOf(member, singular(name), depth - 1));
    return joinParts(parts, this.#scope.isBrief);
  }
}

/** An unused name in the scope; if names are equal, all but the first are numbered. */
function claimName(scope: TypeScope, name: string): string {
  const own = typeName(name);
  const base = own.startsWith(scope.prefix) ? own : `${scope.prefix}${own}`;
  let claimed = base;
  for (let count = 2; scope.names.taken.has(claimed); count += 1) {
    claimed = `${base}${count}`;
  }
  scope.names.taken.add(claimed);
  return claimed;
}

interface Member {
  readonly key: string;
  readonly type: string;
  readonly isRequired: boolean;
}

/** Replaces the name of a class in its own definition until it is known whether an equal one exists. */
const PLACEHOLDER = '\0';

function definition(members: readonly Member[]): string {
  const total = members.some(({ isRequired }) => isRequired) ? '' : ', total=False';
  const entries = members.map(({ key, type, isRequired }) => ({
    key,
    type: isRequired || total !== '' ? type : `NotRequired[${type}]`,
  }));
  if (entries.every(({ key }) => IDENTIFIER.test(key) && !isPythonKeyword(key) && !key.startsWith('__'))) {
    return `class ${PLACEHOLDER}(TypedDict${total}): ${entries.map(({ key, type }) => `${key}: ${type}`).join('; ')}`;
  }
  const pairs = entries.map(({ key, type }) => `${pythonString(key)}: ${type}`);
  return `${PLACEHOLDER} = TypedDict('${PLACEHOLDER}', {${pairs.join(', ')}}${total})`;
}

/** The type that the other keywords of a schema without `type` apply to; empty if unknown. */
function impliedType(schema: Schema): string {
  if ('items' in schema || 'prefixItems' in schema) {
    return 'array';
  }
  if ('additionalProperties' in schema || 'patternProperties' in schema) {
    return 'object';
  }
  return 'pattern' in schema || 'format' in schema || 'minLength' in schema || 'maxLength' in schema ? 'string' : '';
}

/** The name for one member of a list: `label` for `labels`, `entity` for `entities`. */
function singular(name: string): string {
  if (/[a-z]ies$/.test(name)) {
    return `${name.slice(0, -'ies'.length)}y`;
  }
  return name.replace(/(?<=ch|sh|x|ss)es$|(?<=[^s])s$/i, '');
}
