/**
 * What the view shows of a result. Whatever the host passes on is read piece by piece: a piece of another type is left out, and none
 * is larger than a person could look at. Pure.
 */
import { pictureType } from '../picture-type.ts';
import { type HostMembers, isMembers } from './host.ts';

/** Where the bridge puts what only the view needs. */
export const CELL_KEY = 'mcp-server-code-execution-mode/cell';

const MAX_TEXT_CHARS = 1_000_000;
const MAX_ITEMS = 50;
const MAX_CALLS = 1_000;
const MAX_PICTURE_CHARS = 24 * 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export interface ViewCall {
  readonly server: string;
  readonly tool: string;
  readonly status: string;
  readonly errorCode: string | undefined;
  readonly startMs: number;
  readonly durationMs: number;
}

export interface ShownCell {
  readonly code: string;
  /** Undefined if the code is complete. */
  readonly codeChars: number | undefined;
  readonly durationMs: number;
  readonly calls: readonly ViewCall[];
  readonly callsLeftOut: number;
}

export interface ShownText {
  readonly title: 'Notes' | 'Printed' | 'Value' | 'Standard error' | 'Error' | 'Answer';
  readonly text: string;
}

export interface ShownResult {
  /** `success`, or what else the bridge says. */
  readonly status: string;
  readonly errorCode: string | undefined;
  readonly session: string | undefined;
  readonly texts: readonly ShownText[];
  /** A `data:` address each. */
  readonly pictures: readonly string[];
  /** Other parts of the answer, which are only named. */
  readonly others: readonly string[];
  /** Undefined if the cell did not run, or the host keeps it back. */
  readonly cell: ShownCell | undefined;
}

export function readShownResult(result: HostMembers): ShownResult {
  const content = listOf(result['content'], MAX_ITEMS).filter(isMembers);
  const { structuredContent: given, _meta: meta } = result;
  const structured = isMembers(given) ? given : undefined;
  return {
    status: textOf(structured?.['status']) ?? (result['isError'] === true ? 'error' : 'success'),
    errorCode: textOf(structured?.['errorCode']),
    session: textOf(structured?.['session']),
    texts: structured === undefined ? plainTexts(content) : textsOf(structured),
    pictures: content.flatMap((block) => addressOf(block) ?? []),
    others: content.flatMap((block) => nameOf(block) ?? []),
    cell: readCell(isMembers(meta) ? meta[CELL_KEY] : undefined),
  };
}

/** The parts in the order in which the text answer has them. */
function textsOf({ error, notices, result, stderr, stdout }: HostMembers): ShownText[] {
  const parts: readonly (readonly [ShownText['title'], string | undefined])[] = [
    ['Printed', linesOf(stdout)],
    ['Value', textOf(result)],
    ['Standard error', linesOf(stderr)],
    ['Error', textOf(error)],
    ['Notes', linesOf(notices)],
  ];
  return parts.flatMap(([title, text]) => (text === undefined || text === '' ? [] : [{ title, text }]));
}

/** For hosts that pass on nothing else. */
function plainTexts(content: readonly HostMembers[]): ShownText[] {
  return content.flatMap(({ text, type }) => {
    const shown = type === 'text' ? textOf(text) : undefined;
    return shown === undefined || shown === '' ? [] : [{ title: 'Answer' as const, text: shown }];
  });
}

/** A policy of hosts allows pictures only from `data:` addresses. The type is one of our own list, so that it is only ever a picture. */
function addressOf({ data, mimeType, type }: HostMembers): string | undefined {
  const drawn = type === 'image' && typeof mimeType === 'string' ? pictureType(mimeType) : undefined;
  const isData = typeof data === 'string' && data.length <= MAX_PICTURE_CHARS && BASE64.test(data);
  return drawn !== undefined && isData ? `data:${drawn};base64,${data}` : undefined;
}

function nameOf(block: HostMembers): string | undefined {
  const { mimeType, name, resource, type } = block;
  switch (type) {
    case 'image':
      return addressOf(block) === undefined
        ? `A picture that is not shown (${textOf(mimeType) ?? 'unknown type'})`
        : undefined;
    case 'audio':
      return `A sound (${textOf(mimeType) ?? 'unknown type'})`;
    case 'resource':
      return `A document (${(isMembers(resource) ? textOf(resource['mimeType']) : undefined) ?? 'unknown type'})`;
    case 'resource_link':
      return `A saved file: ${textOf(name) ?? 'without a name'}`;
    default:
      return undefined;
  }
}

function readCell(given: unknown): ShownCell | undefined {
  const code = isMembers(given) ? textOf(given['code']) : undefined;
  if (!isMembers(given) || code === undefined) {
    return undefined;
  }
  return {
    code,
    codeChars: numberOf(given['code_chars']),
    durationMs: numberOf(given['duration_ms']) ?? 0,
    calls: listOf(given['calls'], MAX_CALLS).flatMap((call) => readCall(call) ?? []),
    callsLeftOut: numberOf(given['calls_left_out']) ?? 0,
  };
}

function readCall(call: unknown): ViewCall | undefined {
  if (!isMembers(call)) {
    return undefined;
  }
  const [server, tool, startMs] = [textOf(call['server']), textOf(call['tool']), numberOf(call['start_ms'])];
  if (server === undefined || tool === undefined || startMs === undefined) {
    return undefined;
  }
  const { duration_ms: duration, error_code: code, status } = call;
  return {
    server,
    tool,
    startMs,
    durationMs: numberOf(duration) ?? 0,
    // It becomes a class.
    status: status === 'ok' || status === 'cancelled' ? status : 'error',
    errorCode: textOf(code),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT_CHARS) : undefined;
}

function linesOf(value: unknown): string | undefined {
  return Array.isArray(value) ? textOf(value.filter((line) => typeof line === 'string').join('\n')) : textOf(value);
}

function listOf(value: unknown, most: number): unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : [];
}

/** Times and counts. */
function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
