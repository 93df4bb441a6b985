/**
 * From the arguments of a call to the HTTP request of an operation (OpenAPI 3.1, "Parameter Object"). Pure. Arguments can set what the
 * operation describes and nothing else: neither another path, host or header, nor the credentials of the entry.
 */
import type { JsonObject } from '../../../core/base/is-object.ts';
import { argumentError, invalidArguments } from './argument-error.ts';
import type { ApiParameter, HttpOperation } from './compiled-api.ts';
import {
  argumentOf,
  encodeUnreserved,
  isNothing,
  isScalar,
  pairsOf,
  percentEncode,
  Room,
  textOf,
  ValueFault,
} from './parameter-values.ts';
import { buildBody, naming } from './request-body.ts';

export interface BuiltRequest {
  readonly url: URL;
  readonly method: HttpOperation['method'];
  /** Names in lower case. */
  readonly headers: Record<string, string>;
  readonly body?: string | Buffer | undefined;
}

/** A segment that parsers of addresses remove, with the one before it. They decode `%2E` first, so encoding is no way around. */
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;
/** Headers that belong to the bridge, the entry or the connection. The specification ignores parameters for the first three. */
const OWN_HEADER =
  /^(?:accept|content-type|authorization|cookie|host|content-length|content-encoding|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer|proxy-.*)$/i;
/** Chosen: servers take addresses of 8 to 64 KiB. */
const MAX_QUERY_CHARS = 256 * 1024;
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 6265, section 4.1.1: `cookie-octet`. */
const COOKIE_TEXT = /^[!#-+\--:<-[\]-~]*$/;

/**
 * The request of one call. `base` is the address of the API, whose path and query are kept. `query` holds credentials of the entry: a
 * parameter of that name is left out. Throws a `RequestError` that names the argument at fault.
 */
export function buildRequest(
  operation: HttpOperation,
  args: JsonObject,
  base: URL,
  query: Readonly<Record<string, string>>,
): BuiltRequest {
  refuseUnknown(operation, args);
  const url = new URL(base);
  url.hash = '';
  // Some descriptions have a fixed query in the path: `/messages?type=unread`.
  const [ownPath = '', ownQuery = ''] = operation.path.split(/\?(.*)/s, 2);
  const path = `${base.pathname.replace(/\/$/, '')}${pathOf({ ...operation, path: ownPath }, args)}`;
  url.pathname = path;
  url.search = [queryOf(operation, args, base, query), ownQuery].filter((part) => part !== '').join('&');
  assertBelow(base, url, path);
  const body = operation.body && buildBody(operation.body, args);
  const headers = {
    ...headersOf(operation, args),
    accept: acceptOf(operation.accept),
    ...(body && { 'content-type': body.type }),
  };
  return { url, method: operation.method, headers, body: body?.content };
}

/** A misspelled argument that is silently left out would give another answer than the one that was asked for. */
function refuseUnknown({ parameters, body }: HttpOperation, args: JsonObject): void {
  const known = new Set(parameters.map(({ argument }) => argument));
  Object.keys(body?.members ?? {}).forEach((name) => known.add(name));
  if (body?.argument !== undefined) {
    known.add(body.argument);
  }
  const unknown = Object.keys(args).find((name) => !known.has(name));
  if (unknown !== undefined) {
    const taken = known.size === 0 ? 'it takes none' : `it takes ${[...known].slice(0, 30).join(', ')}`;
    throw argumentError(unknown, `is none of this operation; ${taken}`);
  }
}

function pathOf({ path, parameters }: HttpOperation, args: JsonObject): string {
  return path.replaceAll(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name);
    if (parameter === undefined) {
      throw invalidArguments(`the description of the API does not say what '${name}' in ${path} is`);
    }
    const value = argumentOf(args, parameter.argument);
    return naming(parameter.argument, () => {
      if (isNothing(value)) {
        throw new ValueFault('is missing; it is part of the path');
      }
      const text = textOf(parameter, value, encodeSegment);
      if (text === undefined || value === '' || /^[.;]?$/.test(text)) {
        throw new ValueFault("is empty or '.'; it is part of the path, which would be another one");
      }
      return text;
    });
  });
}

/** A value stays one segment, also for servers that decode slashes before they look at the path. */
function encodeSegment(text: string): string {
  if (text.split(/[/\\]/).some((part) => DOT_SEGMENT.test(part))) {
    throw new ValueFault(
      "is or holds the path segment '.' or '..', which leads to another path, even if it is encoded (%2E)",
    );
  }
  return percentEncode(text);
}

function queryOf(
  { parameters }: HttpOperation,
  args: JsonObject,
  base: URL,
  query: Readonly<Record<string, string>>,
): string {
  const fixed = new Set([...base.searchParams.keys(), ...Object.keys(query)].map(comparable));
  const room = new Room(MAX_QUERY_CHARS);
  const pairs = parameters
    .filter((parameter) => parameter.in === 'query' && !fixed.has(comparable(parameter.name)))
    .flatMap((parameter) =>
      naming(parameter.argument, () => {
        const encode = parameter.allowReserved ? encodeUnreserved : percentEncode;
        const value = argumentOf(args, parameter.argument);
        room.take(parameter.name.length, value);
        const given = pairsOf(parameter, value, encode);
        const own = given.find(([name]) => fixed.has(comparable(name)))?.[0];
        if (own !== undefined) {
          throw new ValueFault(`has the member '${own}', a query parameter that the entry of this server sets`);
        }
        return given.map(([name, text]) => `${percentEncode(name)}=${text}`);
      }),
    );
  const credentials = Object.entries(query).map(([name, text]) => `${percentEncode(name)}=${percentEncode(text)}`);
  const kept = base.search.slice(1);
  return [...(kept === '' ? [] : [kept]), ...pairs, ...credentials].join('&');
}

/** Names that some server takes for the same: .NET ignores case, PHP writes `_` for other characters and drops what is in brackets. */
function comparable(name: string): string {
  return name
    .replaceAll(/[\0-\x1f\x7f]/g, '')
    .trim()
    .toLowerCase()
    .replace(/\[.*$/s, '')
    .replaceAll(/[ .]/g, '_');
}

function headersOf({ parameters }: HttpOperation, args: JsonObject): Record<string, string> {
  const headers: [string, string][] = [];
  const cookies: string[] = [];
  for (const parameter of parameters) {
    const value = argumentOf(args, parameter.argument);
    if (parameter.in === 'header' && TOKEN.test(parameter.name) && !OWN_HEADER.test(parameter.name)) {
      const text = naming(parameter.argument, () => headerText(parameter, value));
      if (text !== undefined) {
        headers.push([parameter.name.toLowerCase(), text]);
      }
    } else if (parameter.in === 'cookie' && TOKEN.test(parameter.name)) {
      cookies.push(...naming(parameter.argument, () => cookiesOf(parameter, value)));
    }
  }
  return Object.fromEntries([...headers, ...(cookies.length === 0 ? [] : [['cookie', cookies.join('; ')] as const])]);
}

/** Headers are no addresses, so nothing is percent-encoded (OpenAPI 3.1.1, "Percent-Encoding and Form Media Types"). */
function headerText(parameter: ApiParameter, value: unknown): string | undefined {
  if (parameter.style === 'json') {
    // JSON can be written without the characters that a header cannot hold.
    return textOf(parameter, value, (json) => json.replaceAll(/[^ -~]/g, escapeInJson));
  }
  const isSeveral = !isScalar(value);
  return textOf(parameter, value, (text) => {
    if (/[^\t -~]/.test(text)) {
      throw new ValueFault(
        'holds a line break, another control character or one beyond ASCII, which a header cannot hold',
      );
    }
    if (isSeveral && /[,=]/.test(text)) {
      throw new ValueFault("has an item with ',' or '=', which separate the items of this header");
    }
    return text;
  });
}

function escapeInJson(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The specification joins several with `&`, which no server reads; OpenAPI 3.2 has them like this (style `cookie`). */
function cookiesOf(parameter: ApiParameter, value: unknown): readonly string[] {
  const pairs = pairsOf(parameter, value, encodeCookie);
  if (pairs.some(([name]) => name !== parameter.name)) {
    throw new ValueFault('is an object, whose members would be other cookies, perhaps with credentials');
  }
  return pairs.map(([name, text]) => `${name}=${text}`);
}

/** Sent as it is if it can be, because most servers do not decode cookies; OpenAPI 3.1 would encode it always. */
function encodeCookie(text: string): string {
  if (/[\0-\x1f\x7f]/.test(text)) {
    throw new ValueFault('holds a line break or another control character, which a cookie cannot hold');
  }
  return COOKIE_TEXT.test(text) ? text : percentEncode(text);
}

/** JSON is preferred: it becomes values. */
function acceptOf(types: readonly string[]): string {
  const usable = types.filter((type) => /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:; *[\w.-]+=[\w.-]+)*$/.test(type));
  const json = usable.filter(isJson);
  const others = usable.filter((type) => !isJson(type)).map((type) => (json.length > 0 ? `${type};q=0.5` : type));
  return [...json, ...others].join(', ') || '*/*';
}

function isJson(type: string): boolean {
  return /[/+]json(?:;|$)/i.test(type);
}

/** The last line of defence. Parsing an address removes dot segments, so the number of segments would differ. */
function assertBelow(base: URL, url: URL, path: string): void {
  const root = base.pathname.replace(/\/?$/, '/');
  const isBelow = url.origin === base.origin && (url.pathname === base.pathname || url.pathname.startsWith(root));
  if (!isBelow || url.pathname.split('/').length !== path.split('/').length) {
    throw invalidArguments('the address of the call would be outside of that of the API');
  }
}
