/**
 * HTTP headers that repeat parts of a message since MCP 2026-07-28 ("Streamable HTTP"), so that intermediaries need not read
 * the body: the standard ones for every message, and `Mcp-Param-…` for parameters that a tool marks with `x-mcp-header`. A
 * tool whose marks break the rules must not be called. The SDK (2.4.0) has the same functions but does not export them.
 */
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import type { AdmittedTools } from '../connection.ts';
import type { UpstreamTool } from '../tool-list.ts';

/** Key of `_meta` with the protocol version. Only messages of 2026-07-28 and later have it. */
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** For each method, the parameter that names its object. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** The standard headers of a message; none for earlier protocol versions. */
export function modernHeaders({ method, params }: JsonObject): Record<string, string> {
  const meta = isObject(params) ? params['_meta'] : undefined;
  const version = isObject(meta) ? meta[VERSION_KEY] : undefined;
  if (typeof version !== 'string' || typeof method !== 'string') {
    return {};
  }
  const key = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = key !== undefined && isObject(params) ? params[key] : undefined;
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': encodeHeaderValue(name) } : {}),
  };
}

const MARK = 'x-mcp-header';
const PREFIX = 'mcp-param-';
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MARKED_TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** Marks of one tool. Chosen: servers take about 100 headers. */
const MAX_MARKS = 100;
/** Deeper schemas are ignored: real tools have no marks there, and a hostile schema may be extremely deep. */
const MAX_DEPTH = 32;

/** Tools that are left out and named individually, and how much of their names and parameters is shown. */
const MAX_NAMED = 5;
const SHOWN_CHARS = 80;

/** One parameter that is repeated in a header. */
interface HeaderParameter {
  /** Keys from the arguments to the parameter. */
  readonly path: readonly string[];
  /** Name of the header, in lower case. */
  readonly header: string;
}

/** By tool name. Tools without such parameters are left out. */
export type HeaderParameters = ReadonlyMap<string, readonly HeaderParameter[]>;

/** The tools that may be called over HTTP, what their calls repeat, and notices about those that are left out. */
export function sortByHeaders(
  tools: readonly UpstreamTool[],
): AdmittedTools & { readonly parameters: HeaderParameters } {
  const parameters = new Map<string, readonly HeaderParameter[]>();
  const faults: string[] = [];
  const callable = tools.filter((tool) => {
    const found = findHeaderParameters(tool.inputSchema);
    if ('fault' in found) {
      faults.push(`the tool '${tool.name.slice(0, SHOWN_CHARS)}' was left out, because ${found.fault}`);
      return false;
    }
    if (found.parameters.length > 0) {
      parameters.set(tool.name, found.parameters);
    }
    return true;
  });
  const more = faults.length - MAX_NAMED;
  const counted = more > 0 ? [`${more.toLocaleString('en-US')} more tools were left out for such reasons`] : [];
  return { tools: callable, parameters, notices: [...faults.slice(0, MAX_NAMED), ...counted] };
}

function pathOf(path: readonly string[]): string {
  return path.join('.').slice(0, SHOWN_CHARS);
}

/** The marked parameters of a schema, or the first rule that it breaks. */
function findHeaderParameters(
  schema: JsonObject,
): { readonly parameters: readonly HeaderParameter[] } | { readonly fault: string } {
  const parameters: HeaderParameter[] = [];
  const fault = look(schema, [], parameters);
  return fault === undefined ? { parameters } : { fault };
}

/** Follows `properties`. A mark anywhere else is a fault. */
function look(schema: JsonObject, path: readonly string[], found: HeaderParameter[]): string | undefined {
  if (Object.hasOwn(schema, MARK)) {
    const fault = takeMark(schema, path, found);
    if (fault !== undefined) {
      return fault;
    }
  }
  const { properties, ...others } = schema;
  if (path.length >= MAX_DEPTH) {
    return undefined;
  }
  if (Object.entries(others).some(([key, value]) => key !== MARK && !DATA_KEYS.has(key) && hasMark(value, 0))) {
    return `part of '${pathOf(path)}' is marked for a header and is not a plain parameter`;
  }
  for (const [name, child] of isObject(properties) ? Object.entries(properties) : []) {
    const fault = isObject(child) ? look(child, [...path, name], found) : undefined;
    if (fault !== undefined) {
      return fault;
    }
  }
  return undefined;
}

function takeMark(schema: JsonObject, path: readonly string[], found: HeaderParameter[]): string | undefined {
  const name = schema[MARK];
  const place = `the parameter '${pathOf(path)}'`;
  if (path.length === 0 || typeof name !== 'string' || !TOKEN.test(name)) {
    return `${place} names an invalid header`;
  }
  if (!MARKED_TYPES.has(schema['type'])) {
    return `${place} is marked for a header and is not a string, integer or boolean`;
  }
  if (found.length >= MAX_MARKS) {
    return `more than ${MAX_MARKS} parameters are marked for headers`;
  }
  const header = `${PREFIX}${name.toLowerCase()}`;
  if (found.some((other) => other.header === header)) {
    return `two parameters are marked for the header '${name.slice(0, SHOWN_CHARS)}'`;
  }
  found.push({ path, header });
  return undefined;
}

/** The values of these keys are data, in which a mark has no meaning. */
const DATA_KEYS: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

function hasMark(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) {
    return false;
  }
  return Object.entries(value).some(
    ([key, child]) => key === MARK || (!DATA_KEYS.has(key) && hasMark(child, depth + 1)),
  );
}

/** The parameter headers of one call. Arguments that are missing, null or not a single value are left out. */
export function parameterHeaders({ method, params }: JsonObject, parameters: HeaderParameters): Record<string, string> {
  if (method !== 'tools/call' || !isObject(params) || typeof params['name'] !== 'string') {
    return {};
  }
  const headers: Record<string, string> = {};
  for (const { header, path } of parameters.get(params['name']) ?? []) {
    const text = headerText(valueAt(params['arguments'], path));
    if (text !== undefined) {
      headers[header] = encodeHeaderValue(text);
    }
  }
  return headers;
}

function valueAt(given: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    given,
  );
}

function headerText(value: unknown): string | undefined {
  if (typeof value === 'string') {
    return value;
  }
  return typeof value === 'boolean' || Number.isSafeInteger(value) ? String(value) : undefined;
}

/** A header value: unchanged if it is plain ASCII, otherwise `=?base64?…?=`. */
function encodeHeaderValue(text: string): string {
  const isPlain = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim();
  const looksEncoded = text.startsWith('=?base64?') && text.endsWith('?=');
  return isPlain && !looksEncoded ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
