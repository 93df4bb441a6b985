/**
 * The answer of a GraphQL server (GraphQL, October 2021, section 7.1) as the result of a tool. Which form of a result becomes
 * which Python value: `docs/internals/decisions/002-results-as-python-values.md`.
 */
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import { isCarriedNumber, stringifyExact } from '../../../../core/protocol/exact-json.ts';
import type { GraphqlDocumentOperation, GraphqlNextPage, GraphqlOperation } from '../compiled-api.ts';
import { NEXT_PAGE_META, type NextPage } from '../next-page-meta.ts';

const MAX_ERRORS = 20;
const ERROR_CHARS = 2_000;

/** `args` are those of the call, which the call for the next page repeats. */
export function resultOfGraphql(
  answer: unknown,
  operation: GraphqlOperation | GraphqlDocumentOperation,
  args: JsonObject,
): JsonObject {
  const { data, errors } = isObject(answer) ? answer : {};
  const failed = Array.isArray(errors) && errors.length > 0;
  if (failed || data === undefined || data === null) {
    return failure(answer, failed ? errors : [], operation);
  }
  const value = operation.kind === 'graphql' ? memberOf(data, operation.field) : data;
  const next = operation.kind === 'graphql' ? nextArguments(value, operation.nextPage, args) : undefined;
  return {
    content: [],
    structuredContent: isPlainObject(value) ? value : { result: value ?? null },
    ...(next === undefined ? {} : { _meta: { [NEXT_PAGE_META]: next } }),
  };
}

/** Whether the value can be structured content: an object, but not one that would be taken for the envelope of another value. */
function isPlainObject(value: unknown): value is JsonObject {
  return isObject(value) && !isCarriedNumber(value) && Object.keys(value).join() !== 'result';
}

/** What the server sent is kept: a part of it may be there, with null in place of what failed. */
function failure(
  answer: unknown,
  errors: readonly unknown[],
  operation: GraphqlOperation | GraphqlDocumentOperation,
): JsonObject {
  const texts = errors.slice(0, MAX_ERRORS).map(errorText);
  const more = errors.length > MAX_ERRORS ? [`and ${errors.length - MAX_ERRORS} more`] : [];
  const text = errors.length === 0 ? 'the answer has neither data nor errors' : [...texts, ...more].join('\n');
  const hasPart = isObject(answer) && isObject(answer['data']);
  const hint =
    hasPart && operation.kind === 'graphql' && operation.selection !== undefined
      ? `\nOnly a part was answered. Give "${operation.selection.argument}" to select only what you need.`
      : '';
  return {
    isError: true,
    content: [{ type: 'text', text: `${text.slice(0, ERROR_CHARS)}${hint}` }],
    ...(isObject(answer) ? { structuredContent: answer } : {}),
  };
}

function errorText(error: unknown): string {
  if (!isObject(error)) {
    return typeof error === 'string' ? error : stringifyExact(error);
  }
  const { message, path, extensions } = error;
  const text = typeof message === 'string' && message !== '' ? message : stringifyExact(error).slice(0, ERROR_CHARS);
  const code = isObject(extensions) ? extensions['code'] : undefined;
  const facts = [
    ...(Array.isArray(path) ? [`path: ${path.map(String).join('.')}`] : []),
    ...(typeof code === 'string' ? [`code: ${code}`] : []),
  ];
  return facts.length === 0 ? text : `${text} (${facts.join(', ')})`;
}

/** The arguments for the next page; undefined at the end, and if the cursor is that of this page. */
function nextArguments(value: unknown, nextPage: GraphqlNextPage | undefined, args: JsonObject): NextPage | undefined {
  if (nextPage === undefined) {
    return undefined;
  }
  const { argument, cursor: path, hasNext } = nextPage;
  const cursor = path.reduce(memberOf, value);
  const isLast = hasNext !== undefined && hasNext.reduce(memberOf, value) !== true;
  const isNew = typeof cursor === 'string' && cursor !== '' && cursor !== args[argument];
  if (isObject(value) && !Object.hasOwn(value, (hasNext ?? path)[0] ?? '')) {
    // A selection of the code's own, without what says whether there is more.
    return { isOutOfReach: true };
  }
  return isNew && !isLast ? { arguments: { ...args, [argument]: cursor } } : undefined;
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
