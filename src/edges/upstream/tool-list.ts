/**
 * Reads the tools of one server: all pages, within bounds, as the server described them. Pages are parsed tool by tool, so
 * that a long list does not block other work.
 */
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { createPause } from '../../core/base/slices.ts';
import { RequestError } from '../../core/protocol/server-requests.ts';
import { type CutMembers, fingerprintTool, hashOf } from './fingerprint.ts';
import { JsonCursor, type JsonRange, TooMuchError } from './json-cursor.ts';
import { PageCursors } from './page-cursors.ts';
import { checkResultType, errorOf } from './requests.ts';

/** Bounds of one list. Chosen: real servers have up to 235 tools in one page, and an endless list must not fill the memory. */
const MAX_TOOLS = 10_000;
const MAX_PAGES = 1_000;
const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** Values of all tools together. Chosen: 125 times those of the largest of 1,084 real tools. */
const MAX_LIST_VALUES = 1_000_000;
/** Parsing 1 MiB of small objects takes 23 ms (measured). The largest of 1,084 real tools has a tenth of that. */
const MAX_TOOL_BYTES = 1024 * 1024;
/** Values of the members of a larger tool together, as many as one of 1 MiB may have. */
const MAX_TOOL_VALUES = 250_000;
/** In a larger tool, this much of each text is read. The catalog keeps less. */
const MAX_TEXT_BYTES = 256 * 1024;
const METHOD_NOT_FOUND = -32_601;

/** A tool as its server described it. Other keys (`title`, `annotations`, `outputSchema` …) are unchecked. */
export interface UpstreamTool extends JsonObject {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
}

export interface ToolList {
  readonly tools: readonly UpstreamTool[];
  /** One clause for each reason why something is missing; empty if the list is complete. */
  readonly notices: readonly string[];
  /** By tool name. A fingerprint changes whenever the server changes the definition, including parts that were cut here. */
  readonly fingerprints: ReadonlyMap<string, string>;
}

/** Requests one page; resolves with the line of the JSON-RPC response. */
type RequestPage = (params: JsonObject) => Promise<Buffer>;

/** The first version in which an empty text is a cursor like any other (server/utilities/pagination). */
const EMPTY_IS_CURSOR = /^(?:202[6-9]|20[3-9]\d)-/;

/** The cursor that a page names; undefined for the last page. Before 2026-07-28, servers end their lists with an empty one, too. */
export function cursorOf(nextCursor: unknown, protocolVersion: string): string | undefined {
  const isCursor = typeof nextCursor === 'string' && (nextCursor !== '' || EMPTY_IS_CURSOR.test(protocolVersion));
  return isCursor ? nextCursor : undefined;
}

/** Follows the pages of `tools/list`. The list of a server without tools is empty. Rejects as `requestPage` does. */
export async function readToolList(requestPage: RequestPage, protocolVersion: string): Promise<ToolList> {
  const list = new ListReader(protocolVersion);
  const cursors = new PageCursors(MAX_PAGES, MAX_LIST_BYTES);
  let cursor: string | undefined;

  for (;;) {
    const line = await requestOrStop(requestPage, cursor, list);
    if (line === undefined) {
      break;
    }
    const next = await list.readPage(line);
    if (next === undefined) {
      break;
    }
    const stop = cursors.reasonToStop(next, line.length);
    if (stop !== undefined) {
      list.notices.add(stop);
      break;
    }
    cursor = next;
  }
  return { tools: [...list.tools.values()], notices: [...list.notices], fingerprints: list.fingerprints };
}

/** Resolves with the line of a page, or with undefined if the list ends here. */
async function requestOrStop(
  requestPage: RequestPage,
  cursor: string | undefined,
  list: ListReader,
): Promise<Buffer | undefined> {
  try {
    return await requestPage(cursor === undefined ? {} : { cursor });
  } catch (error) {
    if (error instanceof RequestError && error.code === METHOD_NOT_FOUND) {
      return undefined;
    }
    if (error instanceof RequestError && error.kind === 'timeout' && list.tools.size > 0) {
      list.notices.add('the list was cut where its next page did not come in time');
      return undefined;
    }
    throw error;
  }
}

/** Collects the pages of a list. */
class ListReader {
  readonly tools = new Map<string, UpstreamTool>();
  readonly notices = new Set<string>();
  readonly fingerprints = new Map<string, string>();
  readonly #protocolVersion: string;
  #bytes = 0;
  #values = 0;

  constructor(protocolVersion: string) {
    this.#protocolVersion = protocolVersion;
  }

  /** Reads the tools of a page; resolves with the cursor of the next. Rejects with a `RequestError`. */
  async readPage(line: Buffer): Promise<string | undefined> {
    try {
      return await this.#readResponse(new JsonCursor(line));
    } catch (cause) {
      if (cause instanceof TooMuchError) {
        this.notices.add(`the list was cut at a part that is ${cause.message}`);
        return undefined;
      }
      throw cause instanceof SyntaxError
        ? new RequestError('malformed', `the response is not valid JSON: ${cause.message}`, { cause })
        : cause;
    }
  }

  async #readResponse(cursor: JsonCursor): Promise<string | undefined> {
    let next: Promise<string | undefined> | undefined;
    cursor.enterObject();
    for (let key = cursor.nextKey(); key !== undefined; key = cursor.nextKey()) {
      if (key === 'result' && cursor.enterObject()) {
        next = this.#readResult(cursor);
        await next;
      } else if (key === 'error') {
        throw errorOf(cursor.value());
      } else {
        cursor.skip();
      }
    }
    if (next === undefined) {
      throw errorOf(undefined);
    }
    return next;
  }

  async #readResult(cursor: JsonCursor): Promise<string | undefined> {
    let next: unknown;
    for (let key = cursor.nextKey(); key !== undefined; key = cursor.nextKey()) {
      if (key === 'tools' && cursor.enterArray()) {
        await this.#readTools(cursor);
      } else if (key === 'nextCursor') {
        next = cursor.value();
      } else if (key === 'resultType') {
        checkResultType(cursor.value());
      } else {
        cursor.skip();
      }
    }
    const found = cursorOf(next, this.#protocolVersion);
    return found !== undefined && !this.#isFull() ? found : undefined;
  }

  async #readTools(cursor: JsonCursor): Promise<void> {
    const pause = createPause();
    while (cursor.nextElement()) {
      if (this.#isFull()) {
        cursor.skip();
      } else {
        const before = cursor.parsedValues;
        this.#take(readTool(cursor, this.notices));
        this.#values += cursor.parsedValues - before;
      }
      await pause();
    }
  }

  #take(read: ReadTool): void {
    const { tool, bytes, cut } = read;
    this.#bytes += bytes;
    if (tool === undefined) {
      return;
    }
    if (this.tools.has(tool.name)) {
      this.notices.add('of tools with the same name only the first was kept');
    } else {
      this.tools.set(tool.name, tool);
      this.fingerprints.set(tool.name, fingerprintTool(tool, cut));
    }
  }

  /** Whether the list has reached a bound, which is noted. Called only if there is more to read. */
  #isFull(): boolean {
    const isFull = this.tools.size >= MAX_TOOLS || this.#bytes >= MAX_LIST_BYTES || this.#values >= MAX_LIST_VALUES;
    if (isFull) {
      this.notices.add(`only the first ${this.tools.size.toLocaleString('en-US')} tools were kept`);
    }
    return isFull;
  }
}

interface ReadTool {
  readonly tool: UpstreamTool | undefined;
  readonly bytes: number;
  readonly cut: CutMembers;
}

function readTool(cursor: JsonCursor, notices: Set<string>): ReadTool {
  const range = cursor.skip();
  const bytes = range.end - range.start;
  const cut: Record<string, string> = {};
  try {
    const entry = bytes <= MAX_TOOL_BYTES ? cursor.parse(range) : readLargeTool(cursor, range, { notices, cut });
    return { tool: toTool(entry, notices), bytes, cut };
  } catch (error) {
    if (error instanceof TooMuchError) {
      notices.add(`a tool was left out that is ${error.message}`);
      return { tool: undefined, bytes, cut };
    }
    throw error;
  }
}

interface LargeTool {
  readonly notices: Set<string>;
  /** Filled with the hashes of members that are not read whole. */
  readonly cut: Record<string, string>;
}

/** Reads the members of a large tool that can be parsed without blocking. */
function readLargeTool(cursor: JsonCursor, tool: JsonRange, { notices, cut }: LargeTool): JsonObject | undefined {
  const inside = cursor.at(tool.start);
  if (!inside.enterObject()) {
    return undefined;
  }
  const members: [string, unknown][] = [];
  const before = inside.parsedValues;
  for (let key = inside.nextKey(); key !== undefined; key = inside.nextKey()) {
    const range = inside.skip();
    const bytes = range.end - range.start;
    if (bytes > (inside.isText(range) ? MAX_TEXT_BYTES : MAX_TOOL_BYTES)) {
      cut[key] = hashOf(inside.bytes(range));
    }
    if (inside.isText(range)) {
      if (bytes > MAX_TEXT_BYTES) {
        notices.add('of texts longer than 256 KiB only the beginning was read');
      }
      members.push([key, inside.parseTextStart(range, MAX_TEXT_BYTES)]);
    } else if (bytes <= MAX_TOOL_BYTES) {
      members.push([key, inside.parse(range)]);
    } else {
      notices.add('members of tools larger than 1 MiB were left out');
    }
    if (inside.parsedValues - before > MAX_TOOL_VALUES) {
      throw new TooMuchError(`too large: more than ${MAX_TOOL_VALUES.toLocaleString('en-US')} values`);
    }
  }
  return Object.fromEntries(members);
}

/** Drops a description that is not a string, and replaces a schema that is not an object by one that allows everything. */
function toTool(entry: unknown, notices: Set<string>): UpstreamTool | undefined {
  if (!isObject(entry) || typeof entry['name'] !== 'string' || entry['name'] === '') {
    notices.add('entries without a name were left out');
    return undefined;
  }
  const { description, inputSchema, ...rest } = entry;
  return {
    ...rest,
    name: entry['name'],
    ...(typeof description === 'string' ? { description } : {}),
    inputSchema: isObject(inputSchema) ? inputSchema : { type: 'object' },
  };
}
