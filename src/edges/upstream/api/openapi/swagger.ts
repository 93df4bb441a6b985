/**
 * Requests and answers of Swagger 2.0 as OpenAPI 3 writes them. Not by a package: `@scalar/openapi-upgrader` 0.1.11 loses the values
 * and items of form parameters and references to body parameters, and takes members named `example` for examples.
 */
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import { listOf } from '../../../../core/catalog/json-schema.ts';
import { objectOf, textOf } from './api-document.ts';

const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
/** What a parameter says itself in place of a schema. */
const SCHEMA_KEYS =
  'type format items default enum minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern multipleOf minItems maxItems uniqueItems x-nullable'.split(
    ' ',
  );
const STYLES: Readonly<Record<string, string>> = { ssv: 'spaceDelimited', pipes: 'pipeDelimited' };

/** A parameter that is neither a body nor a part of a form. */
export function modernParameter(parameter: JsonObject): JsonObject {
  const format = textOf(parameter['collectionFormat']) || 'csv';
  const isQuery = parameter['in'] === 'query';
  const style = isQuery && Object.hasOwn(STYLES, format) ? STYLES[format] : isQuery ? 'form' : 'simple';
  const isArray = parameter['type'] === 'array';
  return {
    ...parameter,
    schema: schemaOf(parameter),
    ...(isArray && { style, explode: isQuery && format === 'multi' }),
  };
}

function schemaOf(parameter: JsonObject): JsonObject {
  return Object.fromEntries(
    SCHEMA_KEYS.filter((key) => parameter[key] !== undefined).map((key) => [key, parameter[key]]),
  );
}

/** The request body that the parameters describe; undefined if none is a part of it. */
export function modernBody(parameters: readonly JsonObject[], consumes: readonly string[]): JsonObject | undefined {
  const whole = parameters.find((parameter) => parameter['in'] === 'body');
  if (whole !== undefined) {
    const { required, description, schema } = whole;
    const isForm = (type: string): boolean => type.startsWith(FORM) || type.startsWith(MULTIPART);
    const types = consumes.filter((type) => !isForm(type));
    return { required, description, content: contentOf(types.length === 0 ? ['application/json'] : types, schema) };
  }
  const fields = parameters.filter((parameter) => parameter['in'] === 'formData');
  if (fields.length === 0) {
    return undefined;
  }
  const hasFile = fields.some((field) => field['type'] === 'file');
  const isMultipart = hasFile || (consumes.some((type) => type.startsWith(MULTIPART)) && !consumes.includes(FORM));
  const named = fields.filter((field) => typeof field['name'] === 'string');
  const properties = named.map((field): [string, JsonObject] => {
    const { description, type } = field;
    return [textOf(field['name']), { ...schemaOf(field), description, ...(type === 'file' && BYTES) }];
  });
  const required = named.filter((field) => field['required'] === true).map((field) => textOf(field['name']));
  const schema = { type: 'object', properties: Object.fromEntries(properties), required };
  return { required: required.length > 0, content: contentOf([isMultipart ? MULTIPART : FORM], schema) };
}

const BYTES = { type: 'string', format: 'binary' };

export function modernResponse(response: JsonObject, produces: readonly string[]): JsonObject {
  const { schema } = response;
  const types = produces.length === 0 ? ['application/json'] : produces;
  return isObject(schema) ? { ...response, content: contentOf(types, schema) } : response;
}

function contentOf(types: readonly string[], schema: unknown): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

/** `consumes` or `produces`: of the operation, otherwise of the document. */
export function mediaTypes(key: string, operation: JsonObject, root: JsonObject): string[] {
  const own = objectOf(operation)[key];
  return listOf(own === undefined ? root[key] : own).filter((type) => typeof type === 'string');
}
