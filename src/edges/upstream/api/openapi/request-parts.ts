/** What an operation takes and answers, in the words of OpenAPI 3, with references resolved and path items merged in. */
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import { listOf } from '../../../../core/catalog/json-schema.ts';
import { type ApiDocument, objectOf, textOf } from './api-document.ts';
import { mediaTypes, modernBody, modernParameter, modernResponse } from './swagger.ts';

/** An operation and where it is in the document. */
export interface Site {
  readonly method: string;
  readonly path: string;
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

export interface RequestParts {
  readonly parameters: readonly JsonObject[];
  /** Undefined if the operation takes none. */
  readonly body: JsonObject | undefined;
  /** By status. */
  readonly responses: ReadonlyMap<string, JsonObject>;
}

/** Parameters of one operation. Chosen: real ones have up to 160. */
const MAX_PARAMETERS = 1_000;
const MAX_RESPONSES = 100;

/** Throws an `OperationFault` if a part is in another file. */
export function requestParts(document: ApiDocument, { item, operation }: Site): RequestParts {
  const all = mergeParameters(document, item, operation);
  const { isSwagger, root } = document;
  const responses = Object.entries(objectOf(operation['responses'])).slice(0, MAX_RESPONSES);
  const produces = isSwagger ? mediaTypes('produces', operation, root) : [];
  return {
    parameters: isSwagger ? all.filter(({ in: at }) => at !== 'body' && at !== 'formData').map(modernParameter) : all,
    body: isSwagger
      ? modernBody(all, mediaTypes('consumes', operation, root))
      : isObject(operation['requestBody'])
        ? document.object(operation['requestBody'])
        : undefined,
    responses: new Map(
      responses
        .filter(([status]) => status.startsWith('2'))
        .map(([status, response]) => {
          const resolved = document.object(response);
          return [status, isSwagger ? modernResponse(resolved, produces) : resolved];
        }),
    ),
  };
}

/** Those of the path item, overridden by those of the operation with the same name and place. */
function mergeParameters(document: ApiDocument, item: JsonObject, operation: JsonObject): JsonObject[] {
  const merged = new Map<string, JsonObject>();
  const listed = [...listOf(item['parameters']), ...listOf(operation['parameters'])].slice(0, MAX_PARAMETERS);
  for (const parameter of listed.map((each) => document.object(each))) {
    const place = textOf(parameter['in']);
    const name = place === 'header' ? textOf(parameter['name']).toLowerCase() : textOf(parameter['name']);
    merged.set(`${place}:${name}`, parameter);
  }
  return [...merged.values()];
}
