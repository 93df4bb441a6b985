/**
 * From an HTTP response to the result of a call (MCP 2025-11-25, `CallToolResult`). Pure. `values.py` of the kernel turns the result into
 * a Python value; the forms are chosen so that each value comes out as itself (docs/internals/decisions/002).
 */
import { isUtf8 } from 'node:buffer';
import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import { MAX_JSON_DEPTH } from '../../../core/base/limits.ts';
import { carriedAsText, stringifyExact } from '../../../core/protocol/exact-json.ts';
import { RequestError } from '../../../core/protocol/server-requests.ts';
import { JSON_BOUNDS, readUntrusted } from '../../../core/protocol/untrusted-json.ts';
import { explainRedirect } from '../http/redirects.ts';
import { mediaType } from '../http/response-reader.ts';
import { LINE_TOO_LONG } from '../message-intake.ts';
import type { HttpOperation } from './compiled-api.ts';
import { reasonIn, reasonInText } from './error-reason.ts';
import { nextPage } from './next-page.ts';
import { NEXT_PAGE_META } from './next-page-meta.ts';
import { isScalar } from './parameter-values.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Without a content coding. */
  readonly body: Buffer;
  readonly operation: HttpOperation;
  /** The arguments of the call. */
  readonly args: JsonObject;
  /** The address of the request. */
  readonly url: URL;
}

/** What a body is. */
type Content =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes' };

/** The key of `_meta` with the status and the headers that code may need. */
export const HTTP_META = 'bridge/http';
/** Chosen. */
const MAX_META_CHARS = 1_000;
const MAX_REASON_CHARS = 2_000;
const MAX_WHERE_CHARS = 300;
/** A file becomes a text in base64, in one turn of the loop: of this length within a second. Chosen. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** In JSON, with control characters as `\\u0001`. Chosen. */
const MAX_TEXT_CHARS = 96 * 1024 * 1024;
const SPACE = 0x20;
const ESCAPE_CHARS = 5;
const SHOWN_HEADER =
  /^(?:location|content-location|etag|last-modified|retry-after|(?:x-)?rate-?limit.*|x-total.*|deprecation|sunset|warning|content-disposition|(?:x-)?request-id|x-correlation-id)$/;
/** Of the headers that are the answer to HEAD, those of the connection say nothing about the resource, and cookies are secrets. */
const HIDDEN_HEADER = /^(?:connection|keep-alive|transfer-encoding|set-cookie|date|server|via|alt-svc|x-powered-by)$/;

const JSON_TYPE = /[/+]json$/;
const TEXT_TYPE =
  /^text\/|[/+](?:xml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|x-ndjson|ndjson|jsonl|x-jsonlines|jsonlines|json-seq|graphql|sql|x-www-form-urlencoded)$/;
/** The value is inside of the result, so the whole is nested two levels deeper. */
const BOUNDS = { ...JSON_BOUNDS.serverMessage, depth: MAX_JSON_DEPTH - 3 };

/** Throws a `RequestError` if the answer is JSON beyond the bounds of a result. */
export function resultOfAnswer(answer: HttpAnswer): JsonObject {
  const { status, headers, operation } = answer;
  const content = contentOf(answer);
  const isRedirect = status >= 300 && status < 400 && headers.location !== undefined;
  if (status >= 400 || isRedirect) {
    return failureOf(answer, content);
  }
  const isHead = operation.method === 'HEAD';
  const result = isHead ? formOf(headersToShow(headers)) : resultOf(answer, content);
  const next = nextPage({ ...answer, value: content.kind === 'json' ? content.value : undefined });
  return { ...result, _meta: { ...metaOf(answer), ...(next && { [NEXT_PAGE_META]: next }) } };
}

function resultOf({ body, headers, url }: HttpAnswer, content: Content): JsonObject {
  switch (content.kind) {
    case 'none':
      return { content: [] };
    case 'json':
      return formOf(content.value);
    case 'text':
      refuseLong(escapedChars(content.text), MAX_TEXT_CHARS);
      // The kernel would parse a text that looks like JSON if it were a block.
      return /^[ \t\r\n]*[{[]/.test(content.text)
        ? { content: [], structuredContent: { result: content.text } }
        : { content: [{ type: 'text', text: content.text }] };
    default:
      refuseLong(body.length, MAX_FILE_BYTES);
      return { content: [blockOf(body.toString('base64'), mediaType({ headers }) || 'application/octet-stream', url)] };
  }
}

function refuseLong(length: number, max: number): void {
  if (length > max) {
    const what = `a file or text of more than ${max.toLocaleString('en-US')} bytes`;
    throw new RequestError('rpc', what, { code: LINE_TOO_LONG });
  }
}

/** Its length in JSON, or a little more. */
function escapedChars(text: string): number {
  let controls = 0;
  for (let at = 0; at < text.length; at += 1) {
    controls += text.charCodeAt(at) < SPACE ? 1 : 0;
  }
  return text.length + controls * ESCAPE_CHARS;
}

/** The form of a JSON value. */
function formOf(value: unknown): JsonObject {
  if (Array.isArray(value) || (isObject(value) && Object.keys(value).join() === 'result')) {
    // The kernel parses the text of a list or an object, and would take the object for an envelope.
    return { content: [{ type: 'text', text: stringifyExact(value) }] };
  }
  return { content: [], structuredContent: isPlainObject(value) ? value : { result: value } };
}

function blockOf(data: string, mimeType: string, url: URL): JsonObject {
  const kind = /^(image|audio)\//.exec(mimeType)?.[1];
  // The query may hold credentials.
  return kind === undefined
    ? { type: 'resource', resource: { uri: `${url.origin}${url.pathname}`, mimeType, blob: data } }
    : { type: kind, data, mimeType };
}

function contentOf({ status, headers, body, operation }: HttpAnswer): Content {
  if (body.length === 0 || status === 204 || status === 205 || operation.method === 'HEAD') {
    return { kind: 'none' };
  }
  const [onlyType = '', ...otherTypes] = operation.accept;
  // An answer without a type is what the description says, if that is certain.
  const type = mediaType({ headers }) || (otherTypes.length === 0 ? onlyType : '');
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(headers['content-type'] ?? '')?.[1];
  if (JSON_TYPE.test(type)) {
    return jsonOf(body, charset);
  }
  if (TEXT_TYPE.test(type) || charset !== undefined || (type === '' && isUtf8(body) && !body.includes(0))) {
    return { kind: 'text', text: decode(body, charset) };
  }
  return { kind: 'bytes' };
}

function jsonOf(body: Buffer, charset: string | undefined): Content {
  // A long body is not copied if it need not be decoded: in UTF-8, only a mark is before the first character of JSON.
  const isPlain = /^utf-?8$/i.test(charset ?? 'utf-8') && (body[0] ?? 0) < 0x80 && isUtf8(body);
  const read = readUntrusted(isPlain ? body : decode(body, charset), BOUNDS);
  if (read.ok) {
    return { kind: 'json', value: read.value };
  }
  if (read.isTooMuch) {
    throw new RequestError('rpc', `a response that is ${read.reason}`, { code: LINE_TOO_LONG });
  }
  return { kind: 'text', text: decode(body, charset) };
}

/** A byte order mark wins, then the declared charset, then UTF-8. Bytes that are not UTF-8 were most often written as Windows-1252. */
function decode(body: Buffer, declared: string | undefined): string {
  const mark = body.readUIntBE(0, Math.min(2, body.length));
  const ofMark = { 0xfeff: 'utf-16be', 0xfffe: 'utf-16le' }[mark];
  const ofXml = /^<\?xml[^>]{0,100}encoding=["']([\w.-]{1,40})/.exec(body.toString('latin1', 0, 200))?.[1];
  try {
    return new TextDecoder(ofMark ?? declared ?? ofXml ?? (isUtf8(body) ? 'utf-8' : 'windows-1252')).decode(body);
  } catch {
    // A charset that does not exist: this one keeps every byte.
    return new TextDecoder(isUtf8(body) ? 'utf-8' : 'windows-1252').decode(body);
  }
}

function failureOf(answer: HttpAnswer, content: Content): JsonObject {
  const { status, headers } = answer;
  const heading = `${status} ${STATUS_CODES[status] ?? ''}`.trim();
  const reason = status < 400 ? redirectText(answer) : reasonOf(answer, content);
  const own = withoutStart(reason, STATUS_CODES[status] ?? '');
  const text = own === '' ? heading : `${heading}: ${own}`;
  const wait = status < 400 ? undefined : waitOf(headers);
  const shown = text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS - 60)}…` : text;
  const said = wait === undefined ? shown : `${shown.replace(/\.$/, '')}. Try again in ${wait} s.`;
  const where = `${answer.operation.method} ${answer.url.origin}${answer.url.pathname}`.slice(0, MAX_WHERE_CHARS);
  return {
    content: [{ type: 'text', text: `${said} (${where})` }],
    ...wholeOf(content),
    isError: true,
    _meta: metaOf(answer),
  };
}

/** Many reasons begin with what the status says. */
function withoutStart(reason: string, start: string): string {
  const isRepeated = reason.toLowerCase().startsWith(start.toLowerCase());
  const rest = isRepeated ? reason.slice(start.length).replace(/^[\s:.,-]+/, '') : reason;
  return isRepeated && /^\w/.test(reason.slice(start.length)) ? reason : rest;
}

/** Code can read all that the API said, of which the text is a part. */
function wholeOf(content: Content): JsonObject {
  if (content.kind !== 'json') {
    return content.kind === 'text' ? { structuredContent: { result: content.text } } : {};
  }
  return { structuredContent: isPlainObject(content.value) ? content.value : { result: content.value } };
}

function reasonOf({ headers }: HttpAnswer, content: Content): string {
  if (content.kind === 'json') {
    return reasonIn(carriedAsText(content.value)) || stringifyExact(content.value);
  }
  return content.kind === 'text' ? reasonInText(content.text, mediaType({ headers })) : '';
}

function redirectText({ url, status, headers }: HttpAnswer): string {
  const what = explainRedirect(url, { status, headers }) ?? 'redirects';
  return `the API ${what}. Redirects to other hosts, and those that would change the method, are never followed.`;
}

/** Seconds to wait (RFC 9110, section 10.2.3); undefined if the API does not say. */
function waitOf(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['retry-after'] ?? '';
  if (/^\d{1,9}$/.test(text)) {
    return Number(text);
  }
  const now = Date.parse(headers.date ?? '') || Date.now();
  const seconds = Math.ceil((Date.parse(text) - now) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

function metaOf({ status, headers }: HttpAnswer): JsonObject {
  const shown: JsonObject = {};
  for (const [name, value] of Object.entries(headers)) {
    if (SHOWN_HEADER.test(name) && JSON.stringify({ ...shown, [name]: value }).length <= MAX_META_CHARS) {
      shown[name] = value;
    }
  }
  return { [HTTP_META]: { status, headers: shown } };
}

function headersToShow(headers: IncomingHttpHeaders): JsonObject {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HIDDEN_HEADER.test(name)));
}

/** An object, but not a number that is carried as one. */
function isPlainObject(value: unknown): value is JsonObject {
  return isObject(value) && !isScalar(value);
}
