/**
 * Limits of a JSON Schema in a few words, for `Annotated[int, '1 to 100']`: range, length, number of items, pattern and format.
 * A number that every number meets (JavaScript's safe integers, which generators write as limits) is no limit.
 */
import type { Schema } from './json-schema.ts';
import { pythonString } from './python-literal.ts';

/** Longer patterns are cut: readers have the schema. Chosen. */
const MAX_PATTERN_CHARS = 60;
const MAX_FORMAT_CHARS = 30;

/** `type` with the limits that the schema states for a value of this JSON type: `Annotated[str, 'at most 50 characters']`. */
export function withLimits(type: string, jsonType: string, schema: Schema): string {
  const limits = limitsOf(jsonType, schema);
  return limits.length === 0 ? type : `Annotated[${type}, ${pythonString(limits.join(', '))}]`;
}

function limitsOf(jsonType: string, schema: Schema): string[] {
  switch (jsonType) {
    case 'integer':
    case 'number':
      return [...rangeOf(schema), ...multipleOf(schema)];
    case 'string':
      return [...countOf(schema['minLength'], schema['maxLength'], 'character'), ...formOf(schema)];
    case 'array':
      return [
        ...countOf(schema['minItems'], schema['maxItems'], 'item'),
        ...(schema['uniqueItems'] === true ? ['no duplicates'] : []),
      ];
    default:
      return [];
  }
}

/** JSON Schema draft 4 has `exclusiveMinimum: true` next to `minimum`; later drafts have a number. */
function rangeOf(schema: Schema): string[] {
  const least = bound(schema['minimum']);
  const most = bound(schema['maximum']);
  const above = schema['exclusiveMinimum'] === true ? least : bound(schema['exclusiveMinimum']);
  const below = schema['exclusiveMaximum'] === true ? most : bound(schema['exclusiveMaximum']);
  if (least !== undefined && most !== undefined && above === undefined && below === undefined) {
    return [least === most ? `exactly ${least}` : `${least} to ${most}`];
  }
  const low = above === undefined ? least && `at least ${least}` : `more than ${above}`;
  const high = below === undefined ? most && `at most ${most}` : `less than ${below}`;
  return [low, high].filter((text) => text !== undefined);
}

function bound(value: unknown): string | undefined {
  return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? String(value) : undefined;
}

function multipleOf({ multipleOf: step }: Schema): string[] {
  return typeof step === 'number' && step !== 1 ? [`a multiple of ${step}`] : [];
}

function countOf(min: unknown, max: unknown, noun: string): string[] {
  const least = typeof min === 'number' && min > 0 ? min : undefined;
  const most = bound(max);
  if (most === undefined) {
    return least === undefined ? [] : [least === 1 ? 'not empty' : `at least ${least} ${noun}s`];
  }
  const nouns = most === '1' ? noun : `${noun}s`;
  if (least === undefined) {
    return [`at most ${most} ${nouns}`];
  }
  return [String(least) === most ? `exactly ${most} ${nouns}` : `${least} to ${most} ${nouns}`];
}

/** Formats are shorter than the patterns that generators write next to them. */
function formOf({ format, pattern }: Schema): string[] {
  if (typeof format === 'string' && format.length <= MAX_FORMAT_CHARS && /^[\w-]+$/.test(format)) {
    return [format];
  }
  if (typeof pattern !== 'string' || pattern === '') {
    return [];
  }
  return [`matches ${pattern.length > MAX_PATTERN_CHARS ? `${pattern.slice(0, MAX_PATTERN_CHARS)}…` : pattern}`];
}
