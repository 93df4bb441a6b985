/**
 * The argument `session` as a header, `Mcp-Param-Session`, by which a proxy can route (MCP 2026-07-28, basic/transports, custom
 * headers from tool parameters). The SDK (2.4.0) compares header and argument only for tools of its own class `McpServer`.
 */
import { isObject } from '../../../core/base/is-object.ts';
import type { FrontTool, ToolDefinition } from '../front-tool.ts';
import type { HttpRefusal } from './refusal.ts';

const MARK = 'x-mcp-header';
const ARGUMENT = 'session';
const HEADER_SUFFIX = 'Session';
const HEADER = `mcp-param-${HEADER_SUFFIX.toLowerCase()}`;
/** HeaderMismatch. */
const MISMATCH = -32_020;
/** Values that are not plain ASCII are sent as `=?base64?…?=`. */
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;
const MAX_SHOWN_CHARS = 80;

/** The tool with its argument `session`, if it has one, marked for conforming clients. */
export function withSessionHeader(tool: FrontTool): FrontTool {
  const session = sessionOf(tool.definition);
  if (session === undefined) {
    return tool;
  }
  const { inputSchema } = tool.definition;
  // Without its default, which only says that the argument may be left out, the mark fits into the budget of tokens.
  const { default: _default, ...rest } = session;
  const properties = { ...inputSchema.properties, [ARGUMENT]: { ...rest, [MARK]: HEADER_SUFFIX } };
  return {
    purpose: tool.purpose,
    view: tool.view,
    call: (given) => tool.call(given),
    definition: { ...tool.definition, inputSchema: { ...inputSchema, properties } },
  };
}

function sessionOf({ inputSchema }: ToolDefinition): Record<string, unknown> | undefined {
  const property: unknown = inputSchema.properties?.[ARGUMENT];
  return isObject(property) ? property : undefined;
}

/** What is wrong with the header of a `tools/call`; undefined if nothing is. A header without the argument is ignored, as specified. */
export function sessionMismatch(
  message: Readonly<Record<string, unknown>>,
  header: string | undefined,
  tools: readonly FrontTool[],
): HttpRefusal | undefined {
  const params = isObject(message['params']) ? message['params'] : {};
  const tool = tools.find(({ definition }) => definition.name === params['name']);
  const session = isObject(params['arguments']) ? params['arguments'][ARGUMENT] : undefined;
  if (message['method'] !== 'tools/call' || tool === undefined || sessionOf(tool.definition) === undefined) {
    return undefined;
  }
  if (!(typeof session === 'string' || typeof session === 'number' || typeof session === 'boolean')) {
    return undefined;
  }
  const value = header === undefined ? undefined : decode(header);
  if (value === String(session)) {
    return undefined;
  }
  const sent = header === undefined ? 'is missing' : `is '${header.slice(0, MAX_SHOWN_CHARS)}'`;
  const { id } = message;
  return {
    status: 400,
    reason: 'mismatch',
    code: MISMATCH,
    message: `The header Mcp-Param-${HEADER_SUFFIX} ${sent}; the argument is '${String(session).slice(0, MAX_SHOWN_CHARS)}'.`,
    hint: 'Both must be equal.',
    id: typeof id === 'string' || typeof id === 'number' ? id : undefined,
  };
}

/** The header of a request, as `IncomingMessage` has it. */
export function sessionHeader(headers: NodeJS.Dict<string | string[]>): string | undefined {
  const value = headers[HEADER];
  return Array.isArray(value) ? value[0] : value;
}

/** Undefined for base64 that is damaged. */
function decode(header: string): string | undefined {
  const encoded = ENCODED.exec(header)?.[1];
  if (encoded === undefined) {
    return header;
  }
  const bytes = Buffer.from(encoded, 'base64');
  try {
    return bytes.toString('base64') === encoded ? new TextDecoder('utf-8', { fatal: true }).decode(bytes) : undefined;
  } catch {
    return undefined;
  }
}
