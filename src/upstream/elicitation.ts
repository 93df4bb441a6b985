/**
 * Questions of servers to the person (MCP: client/elicitation). Until 2025-11-25 a server sends a request of its own;
 * from 2026-07-28 on the result of a call says what is missing, and the call is sent again with it (basic/patterns/mrtr).
 * What is asked, and what the person sees of it, is not decided here.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import { messageOf } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/is-object.ts';
import type { ServerConnection } from './connection.ts';
import type { Deadline } from './deadline.ts';
import type { Elicit } from './elicit.ts';
import { type Answer, RequestError, type RequestLimits, type Requests } from './requests.ts';

const INVALID_PARAMS = -32_602;
/** Questions of one server that are open at once; a proper one has one for each call. Chosen. */
const MAX_OPEN = 32;
/** As the clients of the SDK do. */
const MAX_ROUNDS = 10;
/** Questions in one round, which are put one after the other. Chosen. */
const MAX_QUESTIONS = 10;

/** For calls that nobody can cancel. */
const NEVER: CancelSignal = new CancelSource();

/** The questions that a server of 2025-11-25 or older sends on one connection. */
export class ServerQuestions {
  readonly #requests: Requests;
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #open = new Map<unknown, CancelSource>();

  constructor(requests: Requests, send: (message: JSONRPCMessage) => Promise<void>) {
    this.#requests = requests;
    this.#send = send;
  }

  /** Takes an `elicitation/create` and answers it, later. */
  accept({ id, params }: JsonObject): void {
    if (typeof id !== 'string' && typeof id !== 'number') {
      return;
    }
    void this.#answer(id, isObject(params) ? params : {});
  }

  /** Takes the `params` of `notifications/cancelled`; false when it takes back none of these questions. */
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
    // When this cannot be written the server is gone, which its calls learn.
    await this.#send({ jsonrpc: '2.0', id, ...outcome }).catch(() => undefined);
  }

  /** Nothing says for which call a server asks, so the newest one that can ask does; meanwhile none runs out of time. */
  async #ask(id: string | number, params: JsonObject): Promise<JsonObject> {
    const asking = this.#requests.newestAsker();
    if (asking === undefined || this.#open.size >= MAX_OPEN || this.#open.has(id)) {
      return { action: 'cancel' };
    }
    const takeBack = new CancelSource();
    const onEnd = (): void => takeBack.abort();
    const release = this.#requests.holdClocks();
    asking.ended.addEventListener('abort', onEnd, { once: true });
    this.#open.set(id, takeBack);
    try {
      return await asking.elicit(params, takeBack);
    } finally {
      this.#open.delete(id);
      asking.ended.removeEventListener('abort', onEnd);
      release();
    }
  }
}

interface AskedRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/**
 * Sends a request within `deadline`; with an `elicit` as often as its result asks for input, each time with that. The clock
 * stands still while the person is asked. Rejects as `open.request` does.
 */
export function requestWithInput(
  open: Pick<ServerConnection, 'request'>,
  request: AskedRequest,
  { signal, onProgress, elicit }: Omit<RequestLimits, 'timeoutMs'>,
  deadline: Deadline,
): Promise<Answer> {
  const send = (given: JsonObject): Promise<Answer> =>
    open.request(request.method, given, { timeoutMs: deadline.leftMs(), signal, onProgress, elicit });
  return elicit === undefined ? send(request.params) : sendWithAnswers(request.params, { send, elicit, deadline });
}

interface Asking {
  readonly send: (params: JsonObject) => Promise<Answer>;
  readonly elicit: Elicit;
  readonly deadline: Deadline;
}

async function sendWithAnswers(params: JsonObject, { send, elicit, deadline }: Asking): Promise<Answer> {
  let answer = await send(params);
  for (let round = 1; asksForInput(answer); round += 1) {
    if (round > MAX_ROUNDS) {
      throw malformed(`it asked for input ${MAX_ROUNDS} times and wants more`);
    }
    const { inputRequests, requestState } = answer.result;
    const inputResponses = await collectInput(inputRequests, elicit, deadline);
    answer = await send({ ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) });
  }
  return answer;
}

function asksForInput({ result }: Answer): boolean {
  return result['resultType'] === 'input_required';
}

async function collectInput(inputRequests: unknown, elicit: Elicit, deadline: Deadline): Promise<JsonObject> {
  const requests = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  if (requests.length === 0 || requests.length > MAX_QUESTIONS) {
    throw malformed(`it asked for ${requests.length} inputs at once; 1 to ${MAX_QUESTIONS} can be given`);
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
    throw malformed(`it asked for ${JSON.stringify(method ?? null).slice(0, 100)}, which the bridge does not offer`);
  }
  return isObject(params) ? params : {};
}

function malformed(message: string): RequestError {
  return new RequestError('malformed', message);
}
