/**
 * Which fields of a result are returned by default: all scalars and enums of it, and those of the objects in it. It must be
 * valid (GraphQL, October 2021, section 5.3.2: selections of the same name must be mergeable), finite, and cheap for servers.
 */
import {
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import type { JsonObject } from '../../../../core/base/is-object.ts';
import { leafSchema, outputSchema } from './json-schema.ts';

/** Fields of one selection, and of one object in the result. Chosen: the most that someone would read. */
const MAX_FIELDS = 200;
const MAX_NESTED_FIELDS = 12;
/** Objects in the result, but not those in them. */
const MAX_LEVEL = 2;
/** Types inside each other, with those that are no level of their own. */
const MAX_PATH = 6;
/** The types of a union for which fields are selected. Chosen: GitHub's `Node` has 150. */
const MAX_POSSIBLE_TYPES = 10;
/** An object with fewer scalars only wraps others. It is no level of its own. */
const MIN_SCALARS = 3;
/** Longer names are not used, as those of tools. */
export const MAX_NAME_CHARS = 100;

/** Selected first if not all scalars are: schemas are often in alphabetical order. */
const USUAL =
  /^(?:id|name|title|number|key|code|login|slug|handle|state|status|type|kind|url|email|amount|currency(?:Code)?|message|field|body|text|description|created_?at|updated_?at)$/i;

type Field = GraphQLField<unknown, unknown>;

interface SelectedField {
  readonly field: Field;
  /** Its name in the result. */
  readonly response: string;
  /** Undefined for scalars and enums. */
  readonly selection: Selection | undefined;
}

/** What is selected of an object. */
export interface Selection {
  readonly type: GraphQLNamedType;
  readonly hasTypename: boolean;
  readonly fields: readonly SelectedField[];
  /** For interfaces and unions. */
  readonly fragments: readonly Selection[];
}

/** The default selection for a result of the type; undefined for scalars and enums. */
export function defaultSelection(schema: GraphQLSchema, type: GraphQLOutputType): Selection | undefined {
  const named = getNamedType(type);
  return isLeafType(named) ? undefined : new Selector(schema).selectAll(named);
}

/** Where in a result a selection is. */
interface Place {
  readonly level: number;
  /** The names of the fields up to it in the result. */
  readonly response: string;
  /** The types around it. A type is not selected in itself. */
  readonly types: readonly GraphQLNamedType[];
}

class Selector {
  readonly #schema: GraphQLSchema;
  readonly #roots: readonly GraphQLNamedType[];
  /** By place in the result, what is there: fields of different types in the same place must have the same form. */
  readonly #forms = new Map<string, string>();
  #left = MAX_FIELDS;

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
    this.#roots = [schema.getQueryType(), schema.getMutationType()].filter((type) => isObjectType(type));
  }

  selectAll(type: GraphQLNamedType): Selection {
    const place = { level: 1, response: '', types: this.#roots.filter((root) => root !== type) };
    return this.#select(type, place) ?? { type, hasTypename: true, fields: [], fragments: [] };
  }

  /** Undefined if there is nothing to select. */
  #select(type: GraphQLNamedType, place: Place): Selection | undefined {
    if (place.types.includes(type) || place.types.length > MAX_PATH + this.#roots.length) {
      return undefined;
    }
    const inside = { ...place, types: [...place.types, type] };
    const fields = this.#selectFields(type, inside, new Set());
    if (!isAbstractType(type)) {
      return fields.length === 0 ? undefined : { type, hasTypename: false, fields, fragments: [] };
    }
    const possible = this.#schema.getPossibleTypes(type);
    const isKnown = isInterfaceType(type) && (place.level > 1 || possible.length > MAX_POSSIBLE_TYPES);
    const shown = isKnown && fields.length > 0 ? [] : possible.slice(0, MAX_POSSIBLE_TYPES);
    const share = Math.max(1, Math.floor(this.#left / Math.max(1, shown.length)));
    const fragments = shown.flatMap((each): Selection[] => {
      const own = { ...inside, types: [...inside.types, each] };
      const more = this.#within(share, () => this.#selectFields(each, own, namesOf(fields)));
      return more.length === 0 ? [] : [{ type: each, hasTypename: false, fields: more, fragments: [] }];
    });
    return { type, hasTypename: true, fields, fragments };
  }

  /** The fields of an object or interface, without `known` ones. */
  #selectFields(type: GraphQLNamedType, place: Place, known: ReadonlySet<string>): readonly SelectedField[] {
    const { leaves, objects, isWrapper } = membersOf(type);
    const isNew = (field: Field): boolean => !known.has(field.name);
    const selected = atMost(leaves.filter(isNew), this.#left).flatMap((field) => this.#take(field, place, type) ?? []);
    const level = isWrapper ? place.level : place.level + 1;
    if (level > MAX_LEVEL) {
      return selected;
    }
    const most = level > 1 ? MAX_NESTED_FIELDS : MAX_FIELDS;
    const nested = objects.filter(isNew).flatMap((field) => {
      return this.#within(most, () => this.#take(field, { ...place, level }, type)) ?? [];
    });
    return [...selected, ...nested];
  }

  /** Selects a field, under another name if a field of another type has its place. Undefined if it is left out. */
  #take(field: Field, place: Place, parent: GraphQLNamedType): SelectedField | undefined {
    const form = formOf(field.type);
    const response = [field.name, `${field.name}_${parent.name}`].find(
      (name) => (this.#forms.get(`${place.response}.${name}`) ?? form) === form,
    );
    if (this.#left === 0 || response === undefined) {
      return undefined;
    }
    this.#left -= 1;
    const named = getNamedType(field.type);
    const path = `${place.response}.${response}`;
    const selection = isLeafType(named) ? undefined : this.#select(named, { ...place, response: path });
    if (!isLeafType(named) && selection === undefined) {
      return undefined;
    }
    this.#forms.set(path, form);
    return { field, response, selection };
  }

  /** Runs a function that may select so many fields. */
  #within<Result>(maxFields: number, run: () => Result): Result {
    const others = Math.max(0, this.#left - maxFields);
    this.#left -= others;
    const result = run();
    this.#left += others;
    return result;
  }
}

function namesOf(fields: readonly SelectedField[]): ReadonlySet<string> {
  return new Set(fields.map(({ field }) => field.name));
}

/** What can be selected of a type without an argument that it needs, without deprecated fields. */
interface Members {
  /** Scalars and enums. */
  readonly leaves: readonly Field[];
  readonly objects: readonly Field[];
  /** Connections, edges, payloads of mutations: what they are about is in them. */
  readonly isWrapper: boolean;
}

const members = new WeakMap<GraphQLNamedType, Members>();

function membersOf(type: GraphQLNamedType): Members {
  const known = members.get(type) ?? readMembers(type);
  members.set(type, known);
  return known;
}

function readMembers(type: GraphQLNamedType): Members {
  const usable = fieldsOf(type).filter(
    ({ name, args, deprecationReason }) =>
      !args.some(isRequiredArgument) && typeof deprecationReason !== 'string' && isUsableName(name),
  );
  const leaves = usable.filter(isLeaf);
  // Arguments of objects say which ones: without them, servers refuse some of these fields, or answer with all there is.
  const objects = inOrder(usable.filter((field) => !isLeaf(field) && field.args.length === 0));
  const hasFewScalars = isObjectType(type) && leaves.length < MIN_SCALARS;
  const isWrapper = hasFewScalars || usable.some(({ name }) => name === 'nodes' || name === 'edges');
  return { leaves, objects, isWrapper };
}

function isLeaf({ type }: Field): boolean {
  return isLeafType(getNamedType(type));
}

function fieldsOf(type: GraphQLNamedType): readonly Field[] {
  return isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
}

/** GraphQL keeps names with two underscores for itself. */
export function isUsableName(name: string): boolean {
  return !name.startsWith('__') && name.length <= MAX_NAME_CHARS;
}

function atMost(leaves: readonly Field[], maxFields: number): readonly Field[] {
  if (leaves.length <= maxFields) {
    return leaves;
  }
  const usual = leaves.filter(({ name }) => USUAL.test(name));
  const kept = new Set([...usual, ...leaves.filter((field) => !usual.includes(field))].slice(0, maxFields));
  return leaves.filter((field) => kept.has(field));
}

/**
 * Objects of scalars first, because others could use up what may be selected: `pageInfo`, and the errors of a mutation. The
 * `edges` of a connection that also has `nodes` are left out, because they are the same objects.
 */
function inOrder(objects: readonly Field[]): readonly Field[] {
  const hasNodes = objects.some(({ name }) => name === 'nodes');
  const kept = objects.filter(({ name }) => !hasNodes || name !== 'edges');
  const isSmall = (field: Field): boolean => {
    const inner = fieldsOf(getNamedType(field.type));
    return inner.length > 0 && inner.every(isLeaf);
  };
  return [...kept.filter(isSmall), ...kept.filter((field) => !isSmall(field))];
}

/** Two fields of the same form can have the same place in a result. */
function formOf(type: GraphQLOutputType): string {
  const named = getNamedType(type);
  return isLeafType(named) ? String(type) : String(type).replace(named.name, '{}');
}

/** The selection as text, without the braces around it. */
export function printSelection({ hasTypename, fields, fragments }: Selection): string {
  const parts = fields.map(({ field, response, selection }) => {
    const name = response === field.name ? response : `${response}: ${field.name}`;
    return selection === undefined ? name : `${name} { ${printSelection(selection)} }`;
  });
  const possible = fragments.map((fragment) => `... on ${fragment.type.name} { ${printSelection(fragment)} }`);
  return [...(hasTypename ? ['__typename'] : []), ...parts, ...possible].join(' ');
}

/** The JSON Schema of a result of `type` with this selection. */
export function resultSchema(type: GraphQLOutputType, selection: Selection | undefined): JsonObject {
  return outputSchema(type, (named) =>
    selection === undefined ? leafSchema(named as GraphQLLeafType) : objectSchema(selection),
  );
}

function objectSchema(selection: Selection): JsonObject {
  const properties = new Map<string, JsonObject>();
  if (selection.hasTypename) {
    properties.set('__typename', { type: 'string' });
  }
  for (const { fields } of [...selection.fragments, selection]) {
    for (const { field, response, selection: inner } of fields) {
      properties.set(response, resultSchema(field.type, inner));
    }
  }
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/** The object that a result is about: the nodes of a connection, otherwise what is selected itself. */
function subjectOf(selection: Selection): Selection {
  const wrapped = membersOf(selection.type).isWrapper
    ? selection.fields.find(({ field, selection: inner }) => inner !== undefined && field.name !== 'pageInfo')
    : undefined;
  return wrapped?.selection === undefined ? selection : subjectOf(wrapped.selection);
}

/** The fields of the main object in a result that are not selected, as `name(arguments): Type`. */
export function unselectedFields(selection: Selection): readonly string[] {
  const { type, fields } = subjectOf(selection);
  const selected = namesOf(fields);
  return fieldsOf(type)
    .filter(
      ({ name, deprecationReason }) =>
        !selected.has(name) && typeof deprecationReason !== 'string' && isUsableName(name),
    )
    .map(({ name, args, type: result }) => {
      const shown = args.map((argument) => `${argument.name}: ${String(argument.type)}`).join(', ');
      return `${name}${shown === '' ? '' : `(${shown})`}: ${String(result)}`;
    });
}

/** How pages of this result follow each other. Each is a cursor with the argument that takes it. */
export function nextPageOf({
  args,
  type,
}: Field): { argument: string; cursor: string[]; hasNext?: string[] } | undefined {
  const takes = new Set(args.map(({ name }) => name));
  const named = getNamedType(type);
  const inner = isNonNullType(type) ? type.ofType : type;
  if (isListType(inner)) {
    return undefined;
  }
  const fields = new Map(fieldsOf(named).map((field) => [field.name, field]));
  const pageInfo = fields.get('pageInfo');
  const names = new Set(pageInfo === undefined ? [] : fieldsOf(getNamedType(pageInfo.type)).map(({ name }) => name));
  if (takes.has('after') && names.has('hasNextPage') && names.has('endCursor')) {
    return { argument: 'after', cursor: ['pageInfo', 'endCursor'], hasNext: ['pageInfo', 'hasNextPage'] };
  }
  return takes.has('nextToken') && fields.has('nextToken')
    ? { argument: 'nextToken', cursor: ['nextToken'] }
    : undefined;
}
