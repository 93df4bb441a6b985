/** What a tool answered (MCP, `CallToolResult`), as a person at a shell wants it: text, and what is no text by itself. Pure. */
import { isObject, type JsonObject } from '../base/is-object.ts';
import { stringifyExact } from '../protocol/exact-json.ts';

/** An image, a sound, or a file. */
export interface BinaryPart {
  /** `image`, `audio` or `file`. */
  readonly kind: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

export interface ReadResult {
  /** Ends with a line feed, or is empty. */
  readonly text: string;
  readonly parts: readonly BinaryPart[];
  /** Whether the tool itself reports that it failed. */
  readonly isError: boolean;
}

/** The text of a result; where there is none, its structured content as JSON. */
export function readResult(result: unknown): ReadResult {
  const { content, structuredContent, isError } = isObject(result) ? result : {};
  const blocks = (Array.isArray(content) ? content : []).filter(isObject);
  const texts = blocks.map(textOf).filter((text) => text !== undefined);
  const said = texts.length === 0 && structuredContent !== undefined ? [asJson(structuredContent)] : texts;
  return {
    text: said.map((text) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)).join(''),
    parts: blocks.map(partOf).filter((part) => part !== undefined),
    isError: isError === true,
  };
}

function textOf(block: JsonObject): string | undefined {
  const { type, text, resource, uri, name } = block;
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text : '';
    case 'resource':
      return isObject(resource) && typeof resource['text'] === 'string' ? resource['text'] : undefined;
    case 'resource_link':
      return [uri, name].filter((word) => typeof word === 'string').join('  ');
    case 'image':
    case 'audio':
      return undefined;
    default:
      return asJson(block); // A kind that came later.
  }
}

function partOf({ type, data, mimeType, resource }: JsonObject): BinaryPart | undefined {
  if ((type === 'image' || type === 'audio') && typeof data === 'string') {
    return toPart(type, mimeType, data);
  }
  const blob = type === 'resource' && isObject(resource) ? resource : {};
  return typeof blob['blob'] === 'string' ? toPart('file', blob['mimeType'], blob['blob']) : undefined;
}

function toPart(kind: string, mimeType: unknown, base64: string): BinaryPart {
  return {
    kind,
    mimeType: typeof mimeType === 'string' ? mimeType : 'application/octet-stream',
    bytes: Buffer.from(base64, 'base64'),
  };
}

/** Indented, unless it holds numbers that only the short form keeps. */
function asJson(value: unknown): string {
  const short = stringifyExact(value);
  return short === JSON.stringify(value) ? JSON.stringify(value, undefined, 2) : short;
}

/** Names for several files: `shot.png`, `shot-2.png`, `shot-3.png`. */
export function numberedFile(file: string, index: number): string {
  return index === 0 ? file : file.replace(/(\.[^./\\]*)?$/, (extension) => `-${index + 1}${extension}`);
}
