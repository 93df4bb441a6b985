/**
 * How servers ask the person questions (MCP: client/elicitation). Up to 2025-11-25, a server sends a request of its own.
 * Since 2026-07-28, the result of a call says what input is missing, and the call is sent again with that input
 * (basic/patterns/mrtr). The `Elicit` function of the caller checks the questions and shows them.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { type CancelSignal, CancelSource } from '../../core/base/cancel.ts';
import { messageOf } from '../../core/base/errors.ts';
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { ResultBytes } from '../../core/protocol/result-bytes.ts';
import { type Elicit, RequestError } from '../../core/protocol/server-requests.ts';
import type { Deadline } from './deadline.ts';
import type { Answer, Requests } from './requests.ts';

const INVALID_PARAMS = -32_602;
/** Open questions per server. A well-behaved server has one for each call. Chosen. */
const MAX_OPEN = 32;
/** The limit of the SDK's clients. */
const MAX_ROUNDS = 10;
/** Questions in one round; they are asked one after another. Chosen. */
const MAX_QUESTIONS = 10;

/** For calls that cannot be cancelled. */
const NEVER: CancelSignal = new CancelSource();

/** The questions that a server of 2025-11-25 or earlier sends on one connection. */
export class ServerQuestions {
  readonly #requests: Requests;
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #onUnasked: () => void;
  readonly #open = new Map<unknown, CancelSource>();

  /** @param onUnasked called for each question that comes while no call can ask the person. */
  constructor(requests: Requests, send: (message: JSONRPCMessage) => Promise<void>, onUnasked: () => void) {
    this.#requests = requests;
    this.#send = send;
    this.#onUnasked = onUnasked;
  }

  /** Accepts an `elicitation/create` request; the answer is sent when the person has replied. */
  accept({ id, params }: JsonObject): void {
    if (typeof id !== 'string' && typeof id !== 'number') {
      return;
    }
    void this.#answer(id, isObject(params) ? params : {});
  }

  /** Handles the `params` of `notifications/cancelled`; returns false if they name none of these questions. */
  cancel(params: unknown): boolean {
    const open = isObject(params) ? this.#open.get(params['requestId']) : undefined;
    open?.abort();
    return open !== undefined;
  }

  async #answer(id: string | number, params: JsonObject): Promise<void> {
    const outcome = await this.#ask(id, params).then(
      (result) => ({ result }),
      (error: unknown) => ({ error: { code: INVALID_PARAMS, message: messageOf(error) } }),
    );
    // If this cannot be written, the server is gone, and its calls fail with the reason.
    await this.#send({ jsonrpc: '2.0', id, ...outcome }).catch(() => undefined);
  }

  /**
   * The protocol does not say which call a question belongs to, so the newest call that can ask the person does. No call
   * times out meanwhile.
   */
  async #ask(id: string | number, params: JsonObject): Promise<JsonObject> {
    const asking = this.#requests.newestAsker();
    if (asking === undefined) {
      this.#onUnasked();
    }
    if (asking === undefined || this.#open.size >= MAX_OPEN || this.#open.has(id)) {
      return { action: 'cancel' };
    }
    const withdrawal = new CancelSource();
    const onEnd = (): void => withdrawal.abort();
    const release = this.#requests.holdClocks();
    asking.ended.addEventListener('abort', onEnd, { once: true });
    this.#open.set(id, withdrawal);
    try {
      return await asking.elicit(params, withdrawal);
    } finally {
      this.#open.delete(id);
      asking.ended.removeEventListener('abort', onEnd);
      release();
    }
  }
}

interface Asking {
  /** The parameters of the request. */
  readonly params: JsonObject;
  readonly send: (params: JsonObject) => Promise<Answer>;
  readonly elicit: Elicit;
  readonly deadline: Deadline;
}

/**
 * Answers a result that requests input by sending the request again with that input, until a result does not. The clock is paused while
 * the person is asked. Rejects as `send` does.
 */
export async function answerRequests(first: Answer, { params, send, elicit, deadline }: Asking): Promise<Answer> {
  let answer = first;
  for (let round = 1; ; round += 1) {
    const asked = inputAskedIn(answer);
    if (asked === undefined) {
      return answer;
    }
    if (round > MAX_ROUNDS) {
      throw malformed(`it requested input more than ${MAX_ROUNDS} times`);
    }
    const { inputRequests, requestState } = asked;
    const inputResponses = await collectInput(inputRequests, elicit, deadline);
    answer = await send({ ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) });
  }
}

/** The result, if it asks for input. One that came as bytes is complete. */
function inputAskedIn({ result }: Answer): JsonObject | undefined {
  return !(result instanceof ResultBytes) && result['resultType'] === 'input_required' ? result : undefined;
}

/** The replies to the questions of one result. The clock is paused meanwhile. */
export async function collectInput(inputRequests: unknown, elicit: Elicit, deadline: Deadline): Promise<JsonObject> {
  const requests = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  if (requests.length === 0 || requests.length > MAX_QUESTIONS) {
    throw malformed(`it requested ${requests.length} inputs at once; 1 to ${MAX_QUESTIONS} are allowed`);
  }
  const release = deadline.hold();
  try {
    const responses: [string, JsonObject][] = [];
    for (const [key, request] of requests) {
      responses.push([key, await elicit(readRequest(request), deadline.callerSignal ?? NEVER)]);
    }
    return Object.fromEntries(responses);
  } finally {
    release();
  }
}

/** The `params` of an embedded `elicitation/create`. */
function readRequest(request: unknown): JsonObject {
  const { method, params } = isObject(request) ? request : {};
  if (method !== 'elicitation/create') {
    throw malformed(`it requested ${JSON.stringify(method ?? null).slice(0, 100)}, which the bridge does not support`);
  }
  return isObject(params) ? params : {};
}

function malformed(message: string): RequestError {
  return new RequestError('malformed', message);
}
