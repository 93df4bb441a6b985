/** The parameters of an operation that are arguments, with the defaults of the specification filled in. */
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import type { ApiCredential, ApiParameter } from '../compiled-api.ts';
import { OperationFault, objectOf, textOf } from './api-document.ts';
import { isJson } from './media-types.ts';

export interface ParameterPlan extends Omit<ApiParameter, 'argument'> {
  readonly isRequired: boolean;
  readonly description: string;
  readonly isDeprecated: boolean;
  readonly schema: unknown;
}

const STYLES: ReadonlySet<string> = new Set([
  'simple',
  'label',
  'matrix',
  'form',
  'spaceDelimited',
  'pipeDelimited',
  'deepObject',
]);
/** OpenAPI 3.1, "Parameter Object": other parts of a description say these. */
const IGNORED_HEADERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization']);
/** Chosen: real ones are far shorter, and a name is repeated for each item of a list. */
const MAX_NAME_CHARS = 500;
/** Names of credentials that are described as plain parameters. The server's entry may hold them. */
const CREDENTIAL_NAME = /^(?:access_?token|api_?key|oauth_?token|token)$/i;

interface Surroundings {
  readonly path: string;
  readonly credentials: readonly ApiCredential[];
  /** Whether the operation needs a login. */
  readonly isSecured: boolean;
}

/** Throws an `OperationFault` if a required one cannot be sent. */
export function planParameters(parameters: readonly JsonObject[], around: Surroundings): ParameterPlan[] {
  const plans = parameters.flatMap((parameter) => planParameter(parameter, around) ?? []);
  const isPlanned = (name: string): boolean => plans.some((plan) => plan.in === 'path' && plan.name === name);
  // Described or not, the path needs them.
  const missing = namesInPath(around.path).filter((name) => !isPlanned(name));
  return [...plans, ...missing.map((name) => planPath(name))];
}

/** Names between braces, without repetitions. */
export function namesInPath(path: string): string[] {
  return [...new Set([...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name))];
}

function planParameter(
  parameter: JsonObject,
  { path, credentials, isSecured }: Surroundings,
): ParameterPlan | undefined {
  const name = textOf(parameter['name']);
  const place = textOf(parameter['in']);
  if (place !== 'path' && place !== 'query' && place !== 'header' && place !== 'cookie') {
    if (parameter['required'] === true && name !== '') {
      throw new OperationFault(`needs a parameter in "${place.slice(0, 40)}", which is not supported`);
    }
    return undefined;
  }
  const isLost = name === '' || (place === 'path' && !namesInPath(path).includes(name));
  if (
    isLost ||
    (place === 'header' && IGNORED_HEADERS.has(name.toLowerCase())) ||
    isCredential(name, place, credentials)
  ) {
    return undefined;
  }
  if (name.length > MAX_NAME_CHARS) {
    throw new OperationFault(`has a parameter whose name is longer than ${MAX_NAME_CHARS} characters`);
  }
  const isLogin = isSecured && place !== 'path' && CREDENTIAL_NAME.test(name);
  return {
    name,
    in: place,
    ...serialization(parameter, place),
    isRequired: place === 'path' || (parameter['required'] === true && !isLogin),
    description: textOf(parameter['description']),
    isDeprecated: parameter['deprecated'] === true,
    schema: parameter['schema'] ?? firstMedia(parameter)?.[1]['schema'] ?? {},
  };
}

function isCredential(name: string, place: string, credentials: readonly ApiCredential[]): boolean {
  return credentials.some(({ kind, field = '' }) => {
    return kind === place && (place === 'header' ? field.toLowerCase() === name.toLowerCase() : field === name);
  });
}

function serialization(
  parameter: JsonObject,
  place: string,
): Pick<ApiParameter, 'style' | 'explode' | 'allowReserved'> {
  const media = firstMedia(parameter);
  const allowReserved = parameter['allowReserved'] === true;
  if (media !== undefined && isJson(media[0])) {
    return { style: 'json', explode: false, allowReserved };
  }
  const usual = place === 'path' || place === 'header' ? 'simple' : 'form';
  const style = (STYLES.has(textOf(parameter['style'])) ? parameter['style'] : usual) as ApiParameter['style'];
  const explode =
    typeof parameter['explode'] === 'boolean' ? parameter['explode'] : style === 'form' || style === 'deepObject';
  return { style, explode, allowReserved };
}

function firstMedia(parameter: JsonObject): [string, JsonObject] | undefined {
  const [first] = Object.entries(objectOf(parameter['content']));
  return first && isObject(first[1]) ? [first[0], first[1]] : undefined;
}

function planPath(name: string): ParameterPlan {
  const common = { isRequired: true, description: '', isDeprecated: false, schema: { type: 'string' } };
  return { name, in: 'path', style: 'simple', explode: false, allowReserved: false, ...common };
}
