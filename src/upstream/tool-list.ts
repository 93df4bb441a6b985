/** The tools of one server: all pages, within bounds, as the server described them. */
import { isJsonObject, type JsonObject } from './definition.ts';
import { RequestError } from './requests.ts';

/** Bounds of one list. Chosen: real servers have up to 235 tools in one page; a server without end must not fill the memory. */
const MAX_TOOLS = 50_000;
const MAX_PAGES = 1_000;
const MAX_LIST_BYTES = 64 * 1024 * 1024;
const METHOD_NOT_FOUND = -32_601;

/** A tool as its server described it. Further keys (`title`, `annotations`, `outputSchema` …) are unchecked. */
export interface UpstreamTool extends JsonObject {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
}

export interface ToolList {
  readonly tools: readonly UpstreamTool[];
  /** What was left out and why, one clause each; empty when the list is complete. */
  readonly notices: readonly string[];
}

type RequestPage = (params: JsonObject) => Promise<{ result: JsonObject; bytes: number }>;

/** Follows the pages of `tools/list`. A server without tools gives an empty list. Rejects as `requestPage` does. */
export async function readToolList(requestPage: RequestPage): Promise<ToolList> {
  const tools = new Map<string, UpstreamTool>();
  const notices = new Set<string>();
  const seenCursors = new Set<string>();
  let bytes = 0;
  let cursor: string | undefined;

  for (let page = 1; ; page += 1) {
    const answer = await readPage(requestPage, cursor);
    bytes += answer.bytes;
    takeTools(answer.result['tools'], tools, notices);
    const next = answer.result['nextCursor'];
    if (typeof next !== 'string' || next === '') {
      break;
    }
    const stop = reasonToStop({ tools: tools.size, page, bytes, isRepeated: seenCursors.has(next) });
    if (stop !== undefined) {
      notices.add(stop);
      break;
    }
    seenCursors.add(next);
    cursor = next;
  }
  return { tools: [...tools.values()].slice(0, MAX_TOOLS), notices: [...notices] };
}

async function readPage(
  requestPage: RequestPage,
  cursor: string | undefined,
): Promise<{ result: JsonObject; bytes: number }> {
  try {
    return await requestPage(cursor === undefined ? {} : { cursor });
  } catch (error) {
    if (error instanceof RequestError && error.code === METHOD_NOT_FOUND) {
      return { result: {}, bytes: 0 };
    }
    throw error;
  }
}

function takeTools(page: unknown, tools: Map<string, UpstreamTool>, notices: Set<string>): void {
  for (const entry of Array.isArray(page) ? (page as unknown[]) : []) {
    const tool = readTool(entry);
    if (tool === undefined) {
      notices.add('entries without a name were left out');
    } else if (tools.has(tool.name)) {
      notices.add('of tools with the same name only the first was kept');
    } else {
      tools.set(tool.name, tool);
    }
  }
  if (tools.size > MAX_TOOLS) {
    notices.add(`only the first ${MAX_TOOLS} tools were kept`);
  }
}

/** A description that is no text is dropped, and a schema that is no object becomes one that allows everything. */
function readTool(entry: unknown): UpstreamTool | undefined {
  if (!isJsonObject(entry) || typeof entry['name'] !== 'string' || entry['name'] === '') {
    return undefined;
  }
  const { description, inputSchema, ...rest } = entry;
  return {
    ...rest,
    name: entry['name'],
    ...(typeof description === 'string' ? { description } : {}),
    inputSchema: isJsonObject(inputSchema) ? inputSchema : { type: 'object' },
  };
}

interface Progress {
  readonly tools: number;
  readonly page: number;
  readonly bytes: number;
  readonly isRepeated: boolean;
}

function reasonToStop(progress: Progress): string | undefined {
  if (progress.isRepeated) {
    return 'the list was cut where its pages began to repeat';
  }
  if (progress.tools >= MAX_TOOLS) {
    return `only the first ${MAX_TOOLS} tools were kept`;
  }
  if (progress.page >= MAX_PAGES) {
    return `only the first ${MAX_PAGES} pages were read`;
  }
  return progress.bytes >= MAX_LIST_BYTES ? `only the first ${MAX_LIST_BYTES} bytes were read` : undefined;
}
