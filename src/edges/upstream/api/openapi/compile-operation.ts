/** One operation as a tool and the request that it sends. */
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import { listOf } from '../../../../core/catalog/json-schema.ts';
import type { UpstreamTool } from '../../tool-list.ts';
import type { ApiBody, ApiCredential, ApiParameter, HttpOperation } from '../compiled-api.ts';
import { addressesIn, pathBelow } from './addresses.ts';
import { type ApiDocument, OperationFault, objectOf, shorten, textOf } from './api-document.ts';
import { type BodyPlan, planBody } from './body-plan.ts';
import { inputSchema, outputSchema, type SchemaLengths } from './bounded-schema.ts';
import { isJson } from './media-types.ts';
import { type ParameterPlan, planParameters } from './parameter-plan.ts';
import { type RequestParts, requestParts, type Site } from './request-parts.ts';
import type { SchemaWriter } from './schema-writer.ts';

const MAX_DESCRIPTION_CHARS = 4_000;
const MAX_TITLE_CHARS = 200;
const MAX_ACCEPTED = 10;

export interface CompiledOperation {
  readonly tool: UpstreamTool;
  readonly operation: HttpOperation;
  /** What was simplified or left out, in one clause each. */
  readonly remarks: readonly string[];
}

export interface OperationContext {
  readonly name: string;
  readonly credentials: readonly ApiCredential[];
  /** The first address of the API. */
  readonly address: string | undefined;
  readonly lengths: SchemaLengths;
}

/** A parameter with the name of its argument. */
interface NamedPlan extends ParameterPlan {
  readonly argument: string;
}

/** Throws an `OperationFault` if the operation cannot be used. */
export function compileOperation(document: ApiDocument, site: Site, context: OperationContext): CompiledOperation {
  const { operation, item, method, path } = site;
  const below = pathBelow(context.address, addressesIn(operation['servers'] ?? item['servers']));
  const parts = requestParts(document, site);
  const security = listOf(operation['security'] ?? document.root['security']);
  const isSecured = security.some((needed) => Object.keys(objectOf(needed)).length > 0);
  const plans = planParameters(parts.parameters, { path, credentials: context.credentials, isSecured });
  const body = parts.body && planBody(document, parts.body);
  const parameters = withArguments(plans, body);
  const input = inputSchema(document, (writer) => composeInput(writer, parameters, body), context.lengths);
  const output = describeAnswer(document, parts, context.lengths);
  return {
    tool: {
      name: context.name,
      description: descriptionOf(site, body),
      inputSchema: input.schema,
      ...(output.schema !== undefined && { outputSchema: output.schema }),
      annotations: annotationsOf(method, textOf(operation['summary'])),
    },
    operation: {
      kind: 'http',
      method: method.toUpperCase() as HttpOperation['method'],
      path: `${below}${path}`,
      parameters: parameters.map((plan) => withFacts(parameterOf(plan), input.schema)),
      ...(body !== undefined && { body: bodyOf(body) }),
      accept: acceptedOf(parts),
    },
    remarks: [
      ...(input.isCut ? ['the description of its arguments is simplified, because it is too large or incomplete'] : []),
      ...output.remarks,
    ],
  };
}

/** If two have the same name, the later one says where it is. Members of the body keep theirs. */
function withArguments(plans: readonly ParameterPlan[], body: BodyPlan | undefined): NamedPlan[] {
  const taken = new Set(body === undefined ? [] : (body.members?.keys() ?? ['body']));
  return plans.map((plan) => {
    const base = taken.has(plan.name) ? `${plan.name}_in_${plan.in}` : plan.name;
    let argument = base;
    for (let count = 2; taken.has(argument); count += 1) {
      argument = `${base}_${count}`;
    }
    taken.add(argument);
    return { ...plan, argument };
  });
}

function composeInput(writer: SchemaWriter, parameters: readonly NamedPlan[], body: BodyPlan | undefined): JsonObject {
  const properties = parameters.map((plan): [string, unknown] => [plan.argument, argumentSchema(writer, plan)]);
  const required = parameters.filter((plan) => plan.isRequired).map((plan) => plan.argument);
  if (body?.members !== undefined) {
    for (const [name, schema] of body.members) {
      const isNeeded = body.isRequired && body.required.has(name);
      properties.push([name, argumentSchema(writer, { schema, isRequired: isNeeded })]);
      required.push(...(isNeeded ? [name] : []));
    }
  } else if (body !== undefined) {
    properties.push(['body', argumentSchema(writer, body)]);
    required.push(...(body.isRequired ? ['body'] : []));
  }
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

interface Argument {
  readonly schema: unknown;
  readonly isRequired: boolean;
  readonly description?: string;
  readonly isDeprecated?: boolean;
}

function argumentSchema(
  writer: SchemaWriter,
  { schema, isRequired, description = '', isDeprecated = false }: Argument,
): unknown {
  const written = writer.write(schema, { level: 1, nesting: 1 });
  if (!isObject(written)) {
    return written;
  }
  // The catalog takes an argument with a default for optional, but no one would send the default.
  const { default: value, ...rest } = written;
  const isFixed = isRequired && value !== undefined;
  const usual = isFixed ? `Usually ${shorten(JSON.stringify(value), 200)}.` : '';
  const said = [
    isDeprecated ? 'Deprecated.' : '',
    description || textOf(written['description']) || writer.descriptionOf(schema),
    usual,
  ];
  const text = shorten(said.filter((part) => part !== '').join(' '), writer.maxTextChars);
  return { ...(isFixed ? rest : written), ...(text !== '' && { description: text }) };
}

function parameterOf({ argument, name, in: place, style, explode, allowReserved }: NamedPlan): ApiParameter {
  return { argument, name, in: place, style, explode, allowReserved };
}

/** What the next page of a list can be told from. */
function withFacts(parameter: ApiParameter, input: JsonObject): ApiParameter {
  const { default: usual, minimum, type } = objectOf(objectOf(input['properties'])[parameter.argument]);
  const facts = { ...(type !== undefined && { type }), ...(usual !== undefined && { default: usual }) };
  const isOfPages = parameter.in === 'query' && (typeof usual === 'number' || type === 'integer');
  return isOfPages ? { ...parameter, facts: minimum === undefined ? facts : { ...facts, minimum } } : parameter;
}

function bodyOf({ mediaType, isRequired, members, isBase64, files, brackets }: BodyPlan): ApiBody {
  return {
    mediaType,
    isRequired,
    ...(members === undefined
      ? { argument: 'body' }
      : { members: Object.fromEntries([...members.keys()].map((name) => [name, name])) }),
    ...(isBase64 && { isBase64 }),
    ...(files.length > 0 && { files }),
    ...(/^application\/x-www-form-urlencoded\b/i.test(mediaType) && { brackets }),
  };
}

function descriptionOf({ operation, method, path }: Site, body: BodyPlan | undefined): string {
  const summary = textOf(operation['summary']);
  const description = textOf(operation['description']);
  // FastAPI makes the summary of the name, which the description then says again.
  const isName = isSame(summary, textOf(operation['operationId']).slice(0, summary.length));
  const isRepeated = description !== '' && (isName || description.startsWith(summary));
  const said = [isRepeated ? '' : summary, description].filter((text) => text !== '').join('\n\n');
  const needed = body?.isRequired === false && body.members !== undefined ? [...body.required] : [];
  const notes = [
    said === '' ? '' : `${method.toUpperCase()} ${path}`,
    operation['deprecated'] === true ? 'Deprecated.' : '',
    needed.length > 0 ? `If it has a body, the body needs: ${needed.join(', ')}.` : '',
  ].filter((text) => text !== '');
  const note = shorten(notes.join('. ').replaceAll('.. ', '. '), 1_000);
  const text = shorten(said || `${method.toUpperCase()} ${path}`, MAX_DESCRIPTION_CHARS - note.length - 2);
  return note === '' ? text : `${text}\n\n${note}`;
}

function isSame(text: string, name: string): boolean {
  return text !== '' && text.toLowerCase().replaceAll(/\W/g, '_') === name.toLowerCase();
}

/** MCP, "ToolAnnotations". RFC 9110, section 9.2, says which methods are safe and which are idempotent. */
function annotationsOf(method: string, summary: string): JsonObject {
  const isSafe = ['get', 'head', 'options'].includes(method);
  return {
    ...(summary !== '' && { title: shorten(summary, MAX_TITLE_CHARS) }),
    readOnlyHint: isSafe,
    ...(!isSafe && { destructiveHint: true }),
    ...(['get', 'head', 'put', 'delete'].includes(method) && { idempotentHint: true }),
    openWorldHint: true,
  };
}

interface Answer {
  readonly schema?: JsonObject | undefined;
  readonly remarks: readonly string[];
}

/** The type of the first successful answer in JSON. */
function describeAnswer(document: ApiDocument, { responses }: RequestParts, lengths: SchemaLengths): Answer {
  const media = [...responses.keys()].toSorted().flatMap((status) => {
    return Object.entries(objectOf(responses.get(status)?.['content']));
  });
  const [, described] = media.find(([type]) => isJson(type)) ?? [];
  try {
    const found = isObject(described) ? outputSchema(document, described['schema'], lengths) : undefined;
    return { schema: found?.schema, remarks: [] };
  } catch (error) {
    if (error instanceof OperationFault) {
      return { remarks: [`the type of its answer is left out, because it ${error.message}`] };
    }
    throw error;
  }
}

function acceptedOf({ responses }: RequestParts): string[] {
  const types = [...responses.values()].flatMap((response) => Object.keys(objectOf(response['content'])));
  return [...new Set(types)].filter((type) => type.includes('/')).slice(0, MAX_ACCEPTED);
}
