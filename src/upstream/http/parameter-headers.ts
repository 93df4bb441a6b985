/**
 * Headers that repeat arguments of a call (`Mcp-Param-…`), for parameters that a tool marks with `x-mcp-header`: MCP 2026-07-28,
 * Streamable HTTP, custom headers. A tool whose marks break the rules must not be called. The SDK (2.4.0) has the same and does not
 * export it.
 */
import { isObject, type JsonObject } from '../../base/is-object.ts';
import type { UpstreamTool } from '../tool-list.ts';
import { encodeHeaderValue } from './modern-headers.ts';

const MARK = 'x-mcp-header';
const PREFIX = 'mcp-param-';
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MARKED_TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** Deeper schemas are not looked at: nobody marks parameters there, and a hostile one has no end. */
const MAX_DEPTH = 32;

/** One parameter that is repeated in a header. */
export interface HeaderParameter {
  /** Keys from the arguments to it. */
  readonly path: readonly string[];
  /** Name of the header, in lower case. */
  readonly header: string;
}

/** By the name of the tool; tools without any are left out. */
export type HeaderParameters = ReadonlyMap<string, readonly HeaderParameter[]>;

/** The tools that may be called over HTTP, what their calls repeat, and a notice for each that is left out. */
export function sortByHeaders(tools: readonly UpstreamTool[]): {
  readonly tools: readonly UpstreamTool[];
  readonly parameters: HeaderParameters;
  readonly notices: readonly string[];
} {
  const parameters = new Map<string, readonly HeaderParameter[]>();
  const notices: string[] = [];
  const callable = tools.filter((tool) => {
    const found = findHeaderParameters(tool.inputSchema);
    if ('fault' in found) {
      notices.push(`the tool '${tool.name.slice(0, 80)}' was left out, because ${found.fault}`);
      return false;
    }
    if (found.parameters.length > 0) {
      parameters.set(tool.name, found.parameters);
    }
    return true;
  });
  return { tools: callable, parameters, notices };
}

/** What a schema marks, or the first rule that it breaks. */
function findHeaderParameters(
  schema: JsonObject,
): { readonly parameters: readonly HeaderParameter[] } | { readonly fault: string } {
  const parameters: HeaderParameter[] = [];
  const fault = look(schema, [], parameters);
  return fault === undefined ? { parameters } : { fault };
}

/** Follows `properties`; a mark anywhere else is a fault. */
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
    return `a header is wanted for a part of '${path.join('.')}' that is no plain parameter`;
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
  const place = `the parameter '${path.join('.')}'`;
  if (path.length === 0 || typeof name !== 'string' || !TOKEN.test(name)) {
    return `${place} names no valid header`;
  }
  if (!MARKED_TYPES.has(schema['type'])) {
    return `${place} is repeated in a header and is no string, integer or boolean`;
  }
  const header = `${PREFIX}${name.toLowerCase()}`;
  if (found.some((other) => other.header === header)) {
    return `two parameters are repeated in the header '${name}'`;
  }
  found.push({ path, header });
  return undefined;
}

/** Values of `default`, `const`, `enum` and `examples` are data of the tool, and a mark in them is none. */
const DATA_KEYS: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

function hasMark(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) {
    return false;
  }
  return Object.entries(value).some(
    ([key, child]) => key === MARK || (!DATA_KEYS.has(key) && hasMark(child, depth + 1)),
  );
}

/** The headers of one call; arguments that are missing, null or no single value are left out. */
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
