/** Schemas of a bounded length: written again with fewer levels and shorter texts until they fit. */
import type { JsonObject } from '../../../../core/base/is-object.ts';
import { isObject } from '../../../../core/base/is-object.ts';
import { listOf } from '../../../../core/catalog/json-schema.ts';
import { type ApiDocument, OperationFault } from './api-document.ts';
import { typesOf } from './schema-keywords.ts';
import { SchemaWriter, type WriterLimits } from './schema-writer.ts';

const KIB = 1024;

export interface SchemaLengths {
  readonly maxInputChars: number;
  readonly maxOutputChars: number;
}

/** Chosen: the largest of 1,084 tools of MCP servers has 20 KB. */
export const USUAL_LENGTHS: SchemaLengths = { maxInputChars: 64 * KIB, maxOutputChars: 16 * KIB };
/** For APIs whose tools are longer together than the catalog takes. */
export const SHORT_LENGTHS: SchemaLengths = { maxInputChars: 16 * KIB, maxOutputChars: 4 * KIB };
/** Branches of alternatives within each other. Chosen. */
const MAX_DEPTH = 8;

type Step = Omit<WriterLimits, 'maxChars'>;

const STEPS: readonly Step[] = [
  { maxLevel: 100, maxTextChars: 2_000 },
  { maxLevel: 100, maxTextChars: 300 },
  { maxLevel: 5, maxTextChars: 200 },
  { maxLevel: 3, maxTextChars: 200 },
  { maxLevel: 2, maxTextChars: 120 },
  { maxLevel: 1, maxTextChars: 60 },
];
/** The types of answers are read as Python types, which have no texts. */
const OUTPUT_STEPS: readonly Step[] = [
  { maxLevel: 100, maxTextChars: 120 },
  ...[100, 4, 2, 1].map((maxLevel) => ({ maxLevel, maxTextChars: 0 })),
];

export interface BoundedSchema {
  readonly schema: JsonObject;
  readonly isCut: boolean;
}

/** The schema of the arguments, as `compose` writes it. Throws an `OperationFault` if nothing makes it short enough. */
export function inputSchema(document: ApiDocument, compose: Compose, lengths: SchemaLengths): BoundedSchema {
  const found = fitting(document, { compose, steps: STEPS, isInput: true, maxChars: lengths.maxInputChars });
  if (found === undefined) {
    throw new OperationFault(`has arguments whose description is longer than ${lengths.maxInputChars / KIB} KiB`);
  }
  return found;
}

/**
 * The schema of an answer; undefined if it is too long, or says nothing. MCP has types for objects only, so any other value is shown as
 * the member `result` of one, which the catalog takes as the value; so does an object that would be taken for that.
 */
export function outputSchema(
  document: ApiDocument,
  schema: unknown,
  { maxOutputChars }: SchemaLengths,
): BoundedSchema | undefined {
  const target = document.object(schema);
  if (Object.keys(target).length === 0) {
    return undefined;
  }
  const isObjectItself = isObjectSchema(document, schema, MAX_DEPTH);
  const compose = (writer: SchemaWriter): JsonObject => {
    const written = writer.write(target) as JsonObject;
    const members = Object.keys(isObject(written['properties']) ? written['properties'] : {});
    const isLikeEnvelope = members.length === 1 && (members[0] === 'result' || members[0] === 'content');
    return isObjectItself && !isLikeEnvelope
      ? { ...written, type: 'object' }
      : { type: 'object', properties: { result: written }, required: ['result'] };
  };
  return fitting(document, { compose, steps: OUTPUT_STEPS, isInput: false, maxChars: maxOutputChars });
}

type Compose = (writer: SchemaWriter) => JsonObject;

interface Task {
  readonly compose: Compose;
  readonly steps: readonly Step[];
  readonly isInput: boolean;
  readonly maxChars: number;
}

function fitting(document: ApiDocument, { compose, steps, isInput, maxChars }: Task): BoundedSchema | undefined {
  for (const [index, step] of steps.entries()) {
    const writer = new SchemaWriter(document, { ...step, isInput, maxChars: 1.25 * maxChars });
    const root = compose(writer);
    const definitions = writer.definitions();
    const schema = definitions === undefined ? root : { ...root, $defs: definitions };
    if (!writer.isTooLong && JSON.stringify(schema).length <= maxChars) {
      return { schema, isCut: writer.isCut || (isInput && index > 0) };
    }
  }
  return undefined;
}

function isObjectSchema(document: ApiDocument, schema: unknown, depth: number): boolean {
  const target = document.object(schema);
  const { types, hasNull } = typesOf(target);
  if (hasNull || types.length > 0 || depth === 0) {
    return !hasNull && types.length === 1 && types[0] === 'object';
  }
  const isOf = (part: unknown): boolean => isObjectSchema(document, part, depth - 1);
  const branches = [...listOf(target['oneOf']), ...listOf(target['anyOf'])].slice(0, 100);
  return (
    isObject(target['properties']) ||
    listOf(target['allOf']).slice(0, 100).some(isOf) ||
    (branches.length > 0 && branches.every(isOf))
  );
}
