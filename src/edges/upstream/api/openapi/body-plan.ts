/** How a body is given: by arguments for its members, or as one argument. */
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import { listOf } from '../../../../core/catalog/json-schema.ts';
import { type ApiDocument, isReference, textOf } from './api-document.ts';
import { chooseMedia } from './media-types.ts';
import { requiredOf, typesOf } from './schema-keywords.ts';

export interface BodyPlan {
  readonly mediaType: string;
  readonly isRequired: boolean;
  readonly description: string;
  /** Schemas by member, without read-only ones; undefined if one argument is the whole body. */
  readonly members: ReadonlyMap<string, unknown> | undefined;
  /** Names of members. */
  readonly required: ReadonlySet<string>;
  /** The schema of the whole body. */
  readonly schema: unknown;
  readonly isBase64: boolean;
  /** Members of a form whose values are bytes. */
  readonly files: readonly string[];
  /** Members of a form that are written with brackets. */
  readonly brackets: readonly string[];
}

/** Bytes of a file. In Python, these are `bytes` and nothing else; what says that they are not encoded is replaced. */
const FILE = {
  type: 'string',
  contentEncoding: 'base64',
  contentMediaType: 'application/octet-stream',
  format: undefined,
};
/** More members are given as one argument. Chosen: the catalog lists 250 arguments. */
const MAX_MEMBERS = 150;
/** Schemas that are merged by `allOf`. Chosen. */
const MAX_MERGED = 64;

/** Undefined if there is nothing to send. Throws an `OperationFault` if a part is in another file. */
export function planBody(document: ApiDocument, body: JsonObject): BodyPlan | undefined {
  const chosen = chooseMedia(body['content']);
  // Generators describe an empty form for requests without a body.
  if (chosen === undefined || (body['required'] !== true && isEmpty(document.object(chosen.schema)))) {
    return undefined;
  }
  const { mediaType, kind, schema, brackets } = chosen;
  const plan = {
    mediaType,
    isRequired: body['required'] === true,
    description: textOf(body['description']),
    members: undefined,
    required: new Set<string>(),
    files: [],
    brackets,
    isBase64: kind === 'bytes',
  };
  if (kind === 'bytes' || kind === 'text') {
    return { ...plan, schema: { type: 'string', ...(kind === 'bytes' && FILE) } };
  }
  const found = new MemberCollector(document);
  const isFlat = found.add(schema, true) && found.members.size > 0 && found.members.size <= MAX_MEMBERS;
  found.settle();
  const isForm = kind === 'form' || kind === 'multipart';
  const files = isForm ? [...found.members].filter(([, member]) => isBinary(document, member)) : [];
  const members = new Map([
    ...found.members,
    ...files.map(([name, member]) => [name, asBase64(document, member)] as const),
  ]);
  return {
    ...plan,
    schema:
      files.length > 0
        ? { allOf: [schema, { properties: Object.fromEntries(files.map(([name]) => [name, members.get(name)])) }] }
        : (schema ?? {}),
    ...(isFlat && { members, required: found.required }),
    files: files.map(([name]) => name),
  };
}

/** Collects the members of an object schema and of those that it merges. */
class MemberCollector {
  readonly members = new Map<string, unknown>();
  readonly required = new Set<string>();
  readonly #document: ApiDocument;
  readonly #seen = new Set<unknown>();

  constructor(document: ApiDocument) {
    this.#document = document;
  }

  /** Leaves out read-only members. A name that is only listed as required may be a slip: it is a member, but an optional one. */
  settle(): void {
    for (const [name, member] of this.members) {
      if (this.#document.says(member, 'readOnly')) {
        this.members.delete(name);
        this.required.delete(name);
      }
    }
    for (const name of [...this.required].filter((each) => !this.members.has(each))) {
      this.members.set(name, {});
      this.required.delete(name);
    }
  }

  /** Returns whether an object with nothing but these members is all that the schema describes. */
  add(schema: unknown, isTop: boolean): boolean {
    const target = isReference(schema) ? this.#document.object(schema) : schema;
    if (!isObject(target) || this.#seen.has(target) || this.#seen.size >= MAX_MERGED) {
      return isObject(target) && this.#seen.has(target);
    }
    this.#seen.add(target);
    if (isObject(target['properties'])) {
      for (const [name, member] of Object.entries(target['properties']).slice(0, MAX_MEMBERS + 1)) {
        const known = this.members.get(name);
        this.members.set(name, known === undefined || known === member ? member : { allOf: [known, member] });
      }
    }
    requiredOf(target)
      .slice(0, MAX_MEMBERS)
      .forEach((name) => this.required.add(name));
    const merged = listOf(target['allOf']).map((part) => this.add(part, false));
    return merged.every(Boolean) && isClosed(target, isTop);
  }
}

function isEmpty({ properties, ...rest }: JsonObject): boolean {
  return (
    isObject(properties) && Object.keys(properties).length === 0 && Object.keys(rest).every((key) => key === 'type')
  );
}

/** Of a discriminated schema, others may have more members. */
function isClosed(schema: JsonObject, isTop: boolean): boolean {
  const { additionalProperties } = schema;
  const { types } = typesOf(schema);
  const isOpen = additionalProperties === true || isObject(additionalProperties);
  const hasMore = ['oneOf', 'anyOf', 'not', 'if', 'patternProperties'].some((key) => schema[key] !== undefined);
  const isVariant = isTop && schema['discriminator'] !== undefined;
  return !isOpen && !hasMore && !isVariant && (types.length === 0 || (types.length === 1 && types[0] === 'object'));
}

/** Bytes, or a list of them. */
function isBinary(document: ApiDocument, member: unknown): boolean {
  const schema = document.object(member);
  const item = Array.isArray(schema['items']) ? {} : document.object(schema['items']);
  return isBytes(schema) || (typesOf(schema).types.includes('array') && isBytes(item));
}

function isBytes({ type, format, contentEncoding, contentMediaType }: JsonObject): boolean {
  const media = textOf(contentMediaType);
  const isFile = media !== '' && !/^text\/|[/+](?:json|xml)$/.test(media);
  return type === 'file' || format === 'binary' || (isFile && contentEncoding === undefined);
}

function asBase64(document: ApiDocument, member: unknown): JsonObject {
  const schema = document.object(member);
  const { description, ...rest } = schema;
  const said = { description: textOf((member as JsonObject)['description']) || textOf(description) };
  return isBytes(schema) ? { ...said, ...rest, ...FILE } : { ...said, ...rest, items: FILE };
}
