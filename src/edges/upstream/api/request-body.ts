/** The body of a request, in the one media type in which an operation takes it. */
import { randomUUID } from 'node:crypto';
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import { stringifyExact } from '../../../core/protocol/exact-json.ts';
import { argumentError, invalidArguments } from './argument-error.ts';
import type { ApiBody } from './compiled-api.ts';
import {
  argumentOf,
  bracketPairs,
  isNothing,
  isScalar,
  percentEncode,
  Room,
  scalarText,
  ValueFault,
} from './parameter-values.ts';

export interface BuiltBody {
  /** For the header `content-type`. */
  readonly type: string;
  readonly content: string | Buffer;
}

/** What is sent of a base64 text. `name` and `type` are those of a `data:` address. */
interface Bytes {
  readonly bytes: Buffer;
  readonly name?: string | undefined;
  readonly type?: string | undefined;
}

/** Chosen: arguments have at most 8 MiB, and the items of a form need some more. */
const MAX_FORM_CHARS = 16 * 1024 * 1024;
const JSON_TYPE = /[/+]json$/;
const FORM_TYPE = 'application/x-www-form-urlencoded';
/** `data:image/png;name=a.png;base64,…` (RFC 2397). Real ones are short. */
const DATA_ADDRESS = /^data:([^,;"\s]{0,100})((?:;[^,;\r\n]{1,200}){0,5});base64,/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Undefined if nothing is sent. Throws a `RequestError` that names the argument. */
export function buildBody(body: ApiBody, args: JsonObject): BuiltBody | undefined {
  const { argument, members = {}, isRequired } = body;
  if (argument !== undefined) {
    const value = argumentOf(args, argument);
    if (value === undefined && isRequired) {
      throw argumentError(argument, 'is missing');
    }
    return value === undefined ? undefined : naming(argument, () => write(body, value));
  }
  // `fromEntries`, not assignments: a member may be named `__proto__`.
  const given = Object.entries(members).filter(([name]) => argumentOf(args, name) !== undefined);
  if (given.length === 0 && !isRequired) {
    return undefined;
  }
  return naming(undefined, () => write(body, Object.fromEntries(given.map(([name, member]) => [member, args[name]]))));
}

function write(body: ApiBody, value: unknown): BuiltBody {
  const { mediaType, isBase64, files = [] } = body;
  const essence = mediaType.replace(/;.*$/s, '').trim().toLowerCase();
  if (isBase64 === true) {
    return { type: mediaType, content: bytesOf(value).bytes };
  }
  if (JSON_TYPE.test(essence)) {
    return { type: mediaType, content: stringifyExact(value) };
  }
  if (essence === FORM_TYPE) {
    return { type: mediaType, content: formOf(membersOf(value), body) };
  }
  if (essence.startsWith('multipart/')) {
    const boundary = randomUUID();
    return { type: `${essence}; boundary=${boundary}`, content: multipartOf(membersOf(value), files, boundary) };
  }
  if (!isScalar(value)) {
    throw new ValueFault(`must be a text, because the API takes it as ${essence}`);
  }
  const isPlain = essence.startsWith('text/') && essence === mediaType;
  return { type: isPlain ? `${mediaType}; charset=utf-8` : mediaType, content: wellFormed(scalarText(value)) };
}

function formOf(members: JsonObject, { brackets, files = [] }: ApiBody): string {
  checkForm(members);
  return Object.entries(members)
    .flatMap(([name, value]) =>
      naming(name, () => {
        // The specification repeats the name for each item of a list, unless it says `deepObject` for the member.
        const isRepeated = Array.isArray(value) && brackets !== undefined && !brackets.includes(name);
        const items: unknown[] = isRepeated && value.every(isScalar) ? value : [value];
        const sent = files.includes(name) ? items.map((item) => bytesOf(item).bytes.toString('base64')) : items;
        return sent.flatMap((item) => bracketPairs(name, item));
      }),
    )
    .map(([name, text]) => `${percentEncode(name)}=${percentEncode(text)}`)
    .join('&');
}

function checkForm(members: JsonObject): void {
  const room = new Room(MAX_FORM_CHARS);
  Object.entries(members).forEach(([name, value]) => naming(name, () => room.take(name.length, value)));
}

/** RFC 7578: a part for each member, and for each item of a list. */
function multipartOf(members: JsonObject, files: readonly string[], boundary: string): Buffer {
  checkForm(members);
  const parts = Object.entries(members).flatMap(([name, value]) => {
    const items: unknown[] = Array.isArray(value) ? value : [value];
    return items.filter((item) => !isNothing(item)).map((item) => naming(name, () => partOf(name, item, files)));
  });
  const written = parts.flatMap(([head, content]) => [
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...written, Buffer.from(`--${boundary}--\r\n`)]);
}

function partOf(name: string, item: unknown, files: readonly string[]): readonly [head: string, content: Buffer] {
  const head = `name="${quotable(name)}"`;
  if (files.includes(name)) {
    const { bytes, name: fileName = name, type = 'application/octet-stream' } = bytesOf(item);
    return [`${head}; filename="${quotable(fileName)}"\r\ncontent-type: ${type}`, bytes];
  }
  return isScalar(item)
    ? [head, Buffer.from(wellFormed(scalarText(item)))]
    : [`${head}\r\ncontent-type: application/json`, Buffer.from(stringifyExact(item))];
}

/** As browsers write names (WHATWG HTML, "Multipart form data"). */
function quotable(name: string): string {
  return wellFormed(name).replaceAll(/["\r\n]/g, (character) => encodeURIComponent(character));
}

/** Node would skip what is not base64 and send fewer bytes. */
function bytesOf(value: unknown): Bytes {
  if (typeof value !== 'string') {
    throw new ValueFault('must be bytes as a base64 text');
  }
  const [prefix = '', type = '', parameters = ''] = DATA_ADDRESS.exec(value) ?? [];
  const base64 = value.slice(prefix.length).replaceAll(/\s/g, '');
  if (!BASE64.test(base64) || base64.length % 4 !== 0) {
    throw new ValueFault('is not valid base64 (alphabet A–Z a–z 0–9 + /, padded with =)');
  }
  const name = unescaped(/;name=([^;]+)/.exec(parameters)?.[1]);
  return { bytes: Buffer.from(base64, 'base64'), name, type: type === '' ? undefined : type };
}

function unescaped(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return text;
  }
}

function membersOf(value: unknown): JsonObject {
  if (!isObject(value) || isScalar(value)) {
    throw new ValueFault('must be an object, because the API takes it as a form');
  }
  return value;
}

function wellFormed(text: string): string {
  if (!text.isWellFormed()) {
    throw new ValueFault('holds half of a character (a lone surrogate), which UTF-8 cannot express');
  }
  return text;
}

/** Runs `make` and turns a fault of the value into the error of a request. */
export function naming<Result>(argument: string | undefined, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ValueFault)) {
      throw error;
    }
    throw argument === undefined
      ? invalidArguments(`the body ${error.message}`)
      : argumentError(argument, error.message);
  }
}
