/**
 * Resources and prompts of a server (MCP: server/resources, server/prompts): lists with all their pages, within bounds, and
 * single items as the server sent them.
 */
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import {
  RequestError,
  type SurfaceAnswer,
  type SurfaceCall,
  type SurfaceMethod,
} from '../../core/protocol/server-requests.ts';
import { PageCursors } from './page-cursors.ts';
import type { Answer } from './requests.ts';
import { cursorOf } from './tool-list.ts';

/** Bounds of one list. Chosen, lower than those of tool lists: 10,000 entries are more than anyone reads. */
const MAX_ITEMS = 10_000;
const MAX_PAGES = 200;
const MAX_LIST_BYTES = 16 * 1024 * 1024;
const METHOD_NOT_FOUND = -32_601;

/** For each method: the capability it needs, and the key of its list if it returns one. */
const METHODS = {
  'resources/list': { capability: 'resources', list: 'resources' },
  'resources/templates/list': { capability: 'resources', list: 'resourceTemplates' },
  'resources/read': { capability: 'resources', list: undefined },
  'prompts/list': { capability: 'prompts', list: 'prompts' },
  'prompts/get': { capability: 'prompts', list: undefined },
} as const satisfies Record<SurfaceMethod, unknown>;

/** The server did not declare the capability. */
export class MissingCapabilityError extends Error {
  readonly capability: string;
  /** The capabilities it declared. */
  readonly offered: readonly string[];

  constructor(capability: string, offered: readonly string[]) {
    super(`no capability ${capability}`);
    this.capability = capability;
    this.offered = offered;
  }
}

type Ask = (method: SurfaceMethod, params: JsonObject) => Promise<Answer<JsonObject>>;

/** Rejects with `MissingCapabilityError`, and as `ask` does. */
export async function askSurface(
  { method, params }: SurfaceCall,
  { capabilities, protocolVersion }: { readonly capabilities: JsonObject; readonly protocolVersion: string },
  ask: Ask,
): Promise<SurfaceAnswer> {
  const { capability, list } = METHODS[method];
  if (!isObject(capabilities[capability])) {
    throw new MissingCapabilityError(capability, Object.keys(capabilities).slice(0, 20));
  }
  return list === undefined
    ? { result: (await ask(method, params)).result }
    : readPages((page) => askPage(ask, method, page), list, protocolVersion);
}

/** A server with resources but no templates may not know the method for templates. */
async function askPage(ask: Ask, method: SurfaceMethod, page: JsonObject): Promise<Answer<JsonObject>> {
  try {
    return await ask(method, page);
  } catch (error) {
    if (error instanceof RequestError && error.code === METHOD_NOT_FOUND) {
      return { result: {}, bytes: 0 };
    }
    throw error;
  }
}

async function readPages(
  askNext: (page: JsonObject) => Promise<Answer<JsonObject>>,
  key: string,
  protocolVersion: string,
) {
  const items: JsonObject[] = [];
  const cursors = new PageCursors(MAX_PAGES, MAX_LIST_BYTES);
  let page: JsonObject = {};
  for (;;) {
    const answer = await askNext(page);
    const found: unknown = answer.result[key];
    // Not `push` of all: a page may have more than fit on the stack.
    for (const item of Array.isArray(found) ? found : []) {
      if (isObject(item) && items.length <= MAX_ITEMS) {
        items.push(item);
      }
    }
    const cursor = cursorOf(answer.result['nextCursor'], protocolVersion);
    if (cursor === undefined) {
      return { items: items.slice(0, MAX_ITEMS), notices: items.length > MAX_ITEMS ? [TOO_MANY] : [] };
    }
    const stop = items.length >= MAX_ITEMS ? TOO_MANY : cursors.reasonToStop(cursor, answer.bytes);
    if (stop !== undefined) {
      return { items: items.slice(0, MAX_ITEMS), notices: [stop] };
    }
    page = { cursor };
  }
}

const TOO_MANY = `only the first ${MAX_ITEMS} entries were kept`;
