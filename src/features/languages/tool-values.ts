/** What a JavaScript program gets from a call: the plain value of a `CallToolResult`, and the tool that it means by a name. */
import { BridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import type { Named } from '../../core/catalog/names.ts';
import { isFailure, ResultBytes } from '../../core/protocol/result-bytes.ts';

const MAX_SHOWN_CHARS = 2_000;
const KEYS: ReadonlySet<string> = new Set(['content', 'isError', '_meta', 'resultType']);

/** What a program gets from a call. */
export type ToolValue =
  | { readonly value: unknown }
  /** The value of this text as JSON, if it is an object or a list; otherwise the text. The sandbox parses it. */
  | { readonly text: string }
  /** One of the two as JSON. */
  | { readonly member: 'value' | 'text'; readonly json: readonly Buffer[] };

/**
 * Structured content, or the text; other content, also of a shape that MCP does not know, as it is. The text is not parsed here: a
 * server could choose one that takes long. Throws `TOOL_FAILED`.
 */
export function valueOfResult(result: unknown, label: string): ToolValue {
  if (result instanceof ResultBytes) {
    const bytes = result.hasFailed ? undefined : result.valueBytes();
    return bytes ?? valueOfResult(result.toObject(), label);
  }
  if (!isObject(result)) {
    return { value: result };
  }
  const given = result['content'] ?? [];
  const content = Array.isArray(given) ? (given as unknown[]) : [given];
  const texts = content.flatMap((block) =>
    isObject(block) && block['type'] === 'text' && typeof block['text'] === 'string'
      ? [block['text']]
      : typeof block === 'string'
        ? [block]
        : [],
  );
  const text = texts.join('\n');
  if (isFailure(result)) {
    throw new BridgeError('TOOL_FAILED', text.slice(0, MAX_SHOWN_CHARS) || `${label} reported an error without a text`);
  }
  if (result['structuredContent'] !== undefined) {
    return { value: result['structuredContent'] };
  }
  if (texts.length < content.length) {
    return { value: given };
  }
  return content.length === 0 && Object.keys(result).some((key) => !KEYS.has(key)) ? { value: result } : { text };
}

/** The name among `known` that a program means: exact, by alias, or in another spelling such as `createIssue` for `create_issue`. */
export function meantName(known: readonly Named[], written: string): string {
  const exact = known.find(({ name }) => name === written) ?? known.find(({ alias }) => alias === written);
  if (exact !== undefined) {
    return exact.name;
  }
  const alike = known.filter(({ name }) => plain(name) === plain(written));
  return alike.length === 1 ? (alike[0]?.name ?? written) : written;
}

function plain(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}]/gu, '').toLowerCase();
}
