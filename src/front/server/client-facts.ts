/** What a client says about itself: in `initialize`, or since MCP 2026-07-28 in the envelope of each request. Not verified. */
import type { AbsentPerson } from '../../core/base/cell.ts';
import { isObject } from '../../core/base/is-object.ts';
import { VIEW_EXTENSION, VIEW_TYPE } from './views.ts';

/** Longer names are cut. Chosen. */
const MAX_CLIENT_NAME_CHARS = 200;

/** A client that has introduced itself. */
export interface ClientFacts {
  /** Undefined if the client gives none. */
  readonly name: string | undefined;
  /** How its person can be asked. */
  readonly modes: Modes;
  /** Whether it shows views in the chat (MCP Apps). */
  readonly showsViews: boolean;
  /** Whether it has the tasks of MCP 2025-11-25. */
  readonly hasTasks: boolean;
}

/** What a client can show, according to its capabilities. */
interface Modes {
  readonly form: boolean;
  readonly url: boolean;
}

/** The facts from the `clientInfo` and the capabilities of a client. */
export function readClient(info: unknown, capabilities: unknown): ClientFacts {
  const name = isObject(info) ? info['name'] : undefined;
  return {
    name: typeof name === 'string' ? name.slice(0, MAX_CLIENT_NAME_CHARS) : undefined,
    modes: readModes(capabilities),
    showsViews: readsViews(capabilities),
    hasTasks: isObject(capabilities) && isObject(capabilities['tasks']),
  };
}

function readsViews(capabilities: unknown): boolean {
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  const declared = isObject(extensions) ? extensions[VIEW_EXTENSION] : undefined;
  const types: unknown = isObject(declared) ? declared['mimeTypes'] : undefined;
  return Array.isArray(types) && types.includes(VIEW_TYPE);
}

/** Reads the `elicitation` capability of a client. An empty one means forms, as it did before pages existed. */
export function readModes(capabilities: unknown): Modes {
  const declared = isObject(capabilities) ? capabilities['elicitation'] : undefined;
  if (!isObject(declared)) {
    return { form: false, url: false };
  }
  const url = isObject(declared['url']);
  return { form: isObject(declared['form']) || !url, url };
}

/** What a client can show to its person; undefined if it has no forms. */
export function personBehind({ form, url }: Modes): AbsentPerson | undefined {
  return form ? { opensPages: url } : undefined;
}
