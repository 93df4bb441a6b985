/**
 * Questions to the person at the client (MCP: client/elicitation): the request, and the check of its reply. How a question is sent depends on the era: see `legacyPerson` here and `suspended-calls.ts`.
 */
import { randomUUID } from 'node:crypto';
import type { ServerContext } from '@modelcontextprotocol/server';
import type { FieldValue, Person, Question, Reply } from '../../core/base/cell.ts';
import { isObject } from '../../core/base/is-object.ts';
import { readModes } from './client-facts.ts';

/** A question as an MCP request. */
export interface ElicitationRequest {
  readonly method: 'elicitation/create';
  readonly params: Record<string, unknown>;
}

/** Only limits the SDK: the question itself has a shorter limit. A day and an hour. */
const SDK_TIMEOUT_MS = 25 * 3_600_000;

/** The request for a question. Forms have no `mode`, because clients of 2025-06-18 know only forms. */
export function toRequest(question: Question): ElicitationRequest {
  const { mode, message } = question;
  const params =
    mode === 'url' ? { mode, message, url: question.url } : { message, requestedSchema: question.requestedSchema };
  return { method: 'elicitation/create', params };
}

/** The person at a client of 2025-11-25 or older, who is asked while the request waits; `meta` goes with questions. Undefined if the client has no forms. */
export function legacyPerson(
  capabilities: unknown,
  context: ServerContext,
  beforeAsking: () => void,
  meta?: Readonly<Record<string, unknown>>,
): Person | undefined {
  const { form, url } = readModes(capabilities);
  if (!form) {
    return undefined;
  }
  return {
    opensPages: url,
    async ask(question, signal) {
      beforeAsking();
      const { method, params } = toRequest(question);
      const sent = {
        ...params,
        ...(question.mode === 'url' && { elicitationId: randomUUID() }),
        ...(meta !== undefined && { _meta: meta }),
      };
      return readReply(await context.mcpReq.send({ method, params: sent }, { signal, timeout: SDK_TIMEOUT_MS }));
    },
  };
}

/** Reads a client's reply. Throws an `Error` that says what is wrong with it. */
export function readReply(given: unknown): Reply {
  const { action, content } = isObject(given) ? given : {};
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    throw new Error('its reply has none of the actions accept, decline and cancel');
  }
  if (action !== 'accept' || content === undefined || content === null) {
    return { action };
  }
  if (!isObject(content) || !Object.values(content).every(isFieldValue)) {
    throw new Error('its reply has content that is not valid for a form');
  }
  return { action, content: content as Record<string, FieldValue> };
}

function isFieldValue(value: unknown): value is FieldValue {
  return Array.isArray(value)
    ? value.every((item) => typeof item === 'string')
    : ['string', 'number', 'boolean'].includes(typeof value);
}
