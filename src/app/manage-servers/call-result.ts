/** Prints the result of a tool (`CallToolResult` of MCP): its text on stdout, and binary content in files. */

import { writeFile } from 'node:fs/promises';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { escapeInLines } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { isFailure } from '../../core/protocol/result-bytes.ts';

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
  /** Whether the tool reported a failure. */
  readonly isError: boolean;
}

/** The text and the binary parts of a result. Without text, the structured content as JSON; what MCP does not know is JSON, too. */
export function readResult(result: unknown): ReadResult {
  const { content, structuredContent } = isObject(result) ? result : { content: result };
  const blocks: unknown[] = Array.isArray(content)
    ? content
    : [content].filter((given) => given !== undefined && given !== null);
  const texts = blocks.map(textOf).filter((text) => text !== undefined);
  const said = texts.length === 0 && structuredContent !== undefined ? [asJson(structuredContent)] : texts;
  return {
    text: said.map((text) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)).join(''),
    parts: blocks.map(partOf).filter((part) => part !== undefined),
    isError: isFailure(result),
  };
}

function textOf(block: unknown): string | undefined {
  if (typeof block === 'string') {
    return block;
  }
  const { type, text, resource, uri, name } = isObject(block) ? block : {};
  const said = type === 'resource' && isObject(resource) ? resource['text'] : type === 'text' ? text : undefined;
  if (typeof said === 'string') {
    return said;
  }
  if (type === 'resource_link') {
    return [uri, name].filter((word) => typeof word === 'string').join('  ');
  }
  return partOf(block) === undefined ? asJson(block) : undefined;
}

function partOf(block: unknown): BinaryPart | undefined {
  const { type, data, mimeType, resource } = isObject(block) ? block : {};
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

/** Indented JSON, unless the value contains numbers that only the compact form preserves. */
function asJson(value: unknown): string {
  const short = stringifyExact(value);
  return short === JSON.stringify(value) ? JSON.stringify(value, undefined, 2) : short;
}

/** The name of the file at `index`: `shot.png`, `shot-2.png`, `shot-3.png`. */
export function numberedFile(file: string, index: number): string {
  return index === 0 ? file : file.replace(/(\.[^./\\]*)?$/, (extension) => `-${index + 1}${extension}`);
}

export interface ShowOptions {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Whether stdout is a terminal, for which control characters must be escaped. */
  readonly isShown?: boolean | undefined;
  /** The file for binary parts, numbered if there are several; for the text if there are none. */
  readonly file: string | undefined;
  /** The complete result as JSON, printed instead of the text. */
  readonly json: string | undefined;
}

/** Prints text to stdout, or to stderr if the tool failed. Rejects with `USAGE_INVALID` if a file cannot be written. */
export async function showResult(
  tool: string,
  { text, parts, isError }: ReadResult,
  options: ShowOptions,
): Promise<void> {
  const { file, json, writeOut, writeError } = options;
  // stderr is always for people, even if stdout is redirected.
  const shown = options.isShown === true || isError ? escapeInLines(text) : text;
  const isForFile = file !== undefined && parts.length === 0 && !isError;
  if (json !== undefined) {
    writeOut(`${json}\n`);
  } else if (isError) {
    writeError(`TOOL_FAILED: ${tool}: ${shown === '' ? 'the tool gave no reason\n' : shown}`);
  } else if (!isForFile) {
    writeOut(shown);
  }
  if (isForFile) {
    await writeTo(file, text);
    writeError(`Wrote the text to ${file}.\n`);
  }
  for (const [index, part] of parts.entries()) {
    writeError(await showPart(part, file && numberedFile(file, index)));
  }
}

/** Writes one binary part, and returns one line about it. */
async function showPart({ kind, mimeType, bytes }: BinaryPart, file: string | undefined): Promise<string> {
  const what = escapeInLines(`${kind}, ${mimeType}, ${counted(bytes.length, 'byte')}`);
  if (file === undefined) {
    return `${what}: not shown; to save it, add --output FILE.\n`;
  }
  await writeTo(file, bytes);
  return `${what}: written to ${file}.\n`;
}

async function writeTo(file: string, content: string | Buffer): Promise<void> {
  try {
    await writeFile(file, content);
  } catch (cause) {
    throw new BridgeError(
      'USAGE_INVALID',
      `the call was made, but its result could not be written to ${file}: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
}
