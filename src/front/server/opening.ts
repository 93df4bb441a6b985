/**
 * Answers the messages with which a client connects, for both protocol eras: `initialize`, `server/discover`, `ping` and
 * `tools/list`. Clients start a bridge for every conversation and wait for these; the MCP SDK, which serves everything else,
 * takes longer to load than the answers take. The answers are those of the SDK, byte for byte, and a message that is not
 * certain to be valid is left to it. No I/O.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { isObject } from '../../core/base/is-object.ts';
import { type ClientFacts, readClient } from './client-facts.ts';
import {
  type Introduction,
  instructionsOf,
  LASTING,
  LEGACY_CAPABILITIES,
  MODERN_CAPABILITIES,
  serverInfo,
  toolList,
} from './introduction.ts';
import { isCapabilities, isId, isImplementation, isObjectWith, type Members } from './opening-checks.ts';

/** The versions that `initialize` can negotiate. A client that wants any other gets its answer from the SDK. */
export const OPENING_VERSIONS: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
];
/** The version without a handshake. */
export const OPENING_REVISION = '2026-07-28';

const RESERVED = 'io.modelcontextprotocol/';
const VERSION_KEY = `${RESERVED}protocolVersion`;
const INFO_KEY = `${RESERVED}clientInfo`;
const CAPABILITIES_KEY = `${RESERVED}clientCapabilities`;
const SERVER_INFO_KEY = `${RESERVED}serverInfo`;

/** What the opening made of a message. */
export interface OpeningStep {
  /** Undefined for a notification. */
  readonly answer: JSONRPCMessage | undefined;
  /** The client that was told the tools; undefined for every other message. */
  readonly listedTo?: ClientFacts | undefined;
}

type Id = string | number;
type Result = Record<string, unknown>;
const NOTHING: OpeningStep = { answer: undefined };

/** The opening of one connection. */
export class Opening {
  readonly #introduction: Introduction;
  readonly #seen: JSONRPCMessage[] = [];
  #era: 'unknown' | 'legacy' | 'modern' = 'unknown';
  /** Of a client of the older era. */
  #client: ClientFacts = readClient(undefined, undefined);
  #isPinned = false;

  constructor(introduction: Introduction) {
    this.#introduction = introduction;
  }

  /** The messages so far that another server must see to be in the same state. */
  get seen(): readonly JSONRPCMessage[] {
    return this.#seen;
  }

  /** Undefined if the message is left to the SDK. From then on, so is every other. */
  take(message: JSONRPCMessage): OpeningStep | undefined {
    const { id, method, params, ...rest } = message as unknown as Members;
    const given: unknown = params === undefined ? {} : params;
    if (Object.keys(rest).join() !== 'jsonrpc' || !isObject(given)) {
      return undefined;
    }
    if (method === 'notifications/initialized') {
      return 'id' in message ? undefined : this.#takeInitialized(message, given);
    }
    if (!isId(id) || !isObjectWith(given, { _meta: isRequestMeta })) {
      return undefined;
    }
    switch (method) {
      case 'initialize':
        return this.#takeInitialize(message, id, given);
      case 'server/discover':
        return this.#takeDiscover(message, id, given);
      case 'ping':
        return this.#era === 'legacy' && hasOnly(given, ['_meta']) && !isModern(given) ? answer(id, {}) : undefined;
      case 'tools/list':
        return this.#takeList(message, id, given);
      default:
        return undefined;
    }
  }

  #takeInitialize(message: JSONRPCMessage, id: Id, params: Members): OpeningStep | undefined {
    const { protocolVersion, capabilities, clientInfo } = params;
    const isKnown = typeof protocolVersion === 'string' && OPENING_VERSIONS.includes(protocolVersion);
    if (this.#era !== 'unknown' || !isKnown || isModern(params)) {
      return undefined;
    }
    if (!isCapabilities(capabilities) || !isImplementation(clientInfo)) {
      return undefined;
    }
    this.#era = 'legacy';
    this.#client = readClient(clientInfo, capabilities);
    this.#seen.push(message);
    const { tools } = this.#introduction;
    return answer(id, {
      protocolVersion,
      capabilities: LEGACY_CAPABILITIES,
      serverInfo: serverInfo(this.#introduction),
      instructions: instructionsOf(tools),
    });
  }

  #takeInitialized(message: JSONRPCMessage, params: Members): OpeningStep | undefined {
    if (this.#era !== 'legacy' || !hasOnly(params, [])) {
      return undefined;
    }
    this.#seen.push(message);
    return NOTHING;
  }

  #takeDiscover(message: JSONRPCMessage, id: Id, params: Members): OpeningStep | undefined {
    if (this.#era !== 'unknown' || !hasOnly(params, ['_meta']) || !hasEnvelope(params)) {
      return undefined;
    }
    this.#era = 'modern';
    this.#seen.push(message);
    const { tools } = this.#introduction;
    const result = {
      supportedVersions: [OPENING_REVISION],
      capabilities: MODERN_CAPABILITIES,
      instructions: instructionsOf(tools),
    };
    return this.#answerModern(id, result, { ttlMs: 0, cacheScope: 'private' });
  }

  #takeList(message: JSONRPCMessage, id: Id, params: Members): OpeningStep | undefined {
    if (!hasOnly(params, ['_meta', 'cursor'])) {
      return undefined;
    }
    const { tools } = this.#introduction;
    if (this.#era === 'legacy') {
      return isModern(params) ? undefined : this.#listed(this.#client, answer(id, toolList(tools, this.#client)));
    }
    if (!hasEnvelope(params)) {
      return undefined;
    }
    this.#era = 'modern';
    if (!this.#isPinned) {
      this.#isPinned = true;
      this.#seen.push(message);
    }
    const meta = params['_meta'] as Members;
    const client = readClient(meta[INFO_KEY], meta[CAPABILITIES_KEY]);
    return this.#listed(client, this.#answerModern(id, { ...toolList(tools, client), ...LASTING }));
  }

  #listed(client: ClientFacts, step: OpeningStep): OpeningStep {
    if (client.name !== undefined) {
      this.#introduction.onClient?.(client.name);
    }
    return { ...step, listedTo: client };
  }

  /** Since 2026-07-28, each result names its type and the server; `added` is what the SDK adds if the result lacks it. */
  #answerModern(id: Id, result: Result, added: Result = {}): OpeningStep {
    return answer(id, {
      ...result,
      resultType: 'complete',
      ...added,
      _meta: { [SERVER_INFO_KEY]: serverInfo(this.#introduction) },
    });
  }
}

function answer(id: Id, result: Result): OpeningStep {
  return { answer: { result, jsonrpc: '2.0', id } };
}

/** `_meta` of a request. `related-task` and the like are left to the SDK. */
function isRequestMeta(meta: unknown): boolean {
  return isObjectWith(meta, { progressToken: isId, [`${RESERVED}related-task`]: () => false });
}

/** Whether the request has anything of the envelope of 2026-07-28. */
function isModern(params: Members): boolean {
  const meta = params['_meta'];
  return isObject(meta) && Object.keys(meta).some((key) => key.startsWith(RESERVED));
}

/** Whether the request has the whole envelope of 2026-07-28, and nothing else that is reserved. */
function hasEnvelope({ _meta: meta }: Members): boolean {
  if (!isObject(meta) || meta[VERSION_KEY] !== OPENING_REVISION || !isCapabilities(meta[CAPABILITIES_KEY])) {
    return false;
  }
  const known = [VERSION_KEY, INFO_KEY, CAPABILITIES_KEY];
  return (
    (!(INFO_KEY in meta) || isImplementation(meta[INFO_KEY])) &&
    Object.keys(meta).every((key) => !key.startsWith(RESERVED) || known.includes(key))
  );
}

function hasOnly(given: object, names: readonly string[]): boolean {
  return Object.keys(given).every((name) => names.includes(name));
}
