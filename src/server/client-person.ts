/**
 * Questions to the person, as a client is asked them (MCP: client/elicitation): what a client can show, the words on the
 * wire, and the check of its reply. Sending them is a matter of the era: `legacyPerson` here, `suspended-calls.ts`.
 */
import { randomUUID } from 'node:crypto';
import type { ServerContext } from '@modelcontextprotocol/server';
import type { FieldValue, Person, Question, Reply } from '../base/cell.ts';
import { isObject } from '../base/is-object.ts';

/** What a client says it can show. */
interface Modes {
  readonly form: boolean;
  readonly url: boolean;
}

/** What stands for a question on the wire. */
export interface ElicitationRequest {
  readonly method: 'elicitation/create';
  readonly params: Record<string, unknown>;
}

/** The question itself is taken back in time; this only bounds what the SDK waits by itself. A day and an hour. */
const SDK_TIMEOUT_MS = 25 * 3_600_000;

/** Reads the `elicitation` of a client's capabilities. An empty one means forms, as it did before there were pages. */
export function readModes(capabilities: unknown): Modes {
  const declared = isObject(capabilities) ? capabilities['elicitation'] : undefined;
  if (!isObject(declared)) {
    return { form: false, url: false };
  }
  const url = isObject(declared['url']);
  return { form: isObject(declared['form']) || !url, url };
}

/** The request that puts a question. `mode` is left out for forms: clients of 2025-06-18 know no other. */
export function toRequest(question: Question): ElicitationRequest {
  const { mode, message } = question;
  const params =
    mode === 'url' ? { mode, message, url: question.url } : { message, requestedSchema: question.requestedSchema };
  return { method: 'elicitation/create', params };
}

/** The person behind a connection of 2025-11-25 or older, asked while its request waits; undefined without forms. */
export function legacyPerson(
  capabilities: unknown,
  context: ServerContext,
  beforeAsking: () => void,
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
      const sent = question.mode === 'url' ? { ...params, elicitationId: randomUUID() } : params;
      return readReply(await context.mcpReq.send({ method, params: sent }, { signal, timeout: SDK_TIMEOUT_MS }));
    },
  };
}

/** A client's reply, as far as it is one. Throws an `Error` that says what is wrong with it. */
export function readReply(given: unknown): Reply {
  const { action, content } = isObject(given) ? given : {};
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    throw new Error('its reply names none of the actions accept, decline and cancel');
  }
  if (action !== 'accept' || content === undefined || content === null) {
    return { action };
  }
  if (!isObject(content) || !Object.values(content).every(isFieldValue)) {
    throw new Error('its reply has content that no form can hold');
  }
  return { action, content: content as Record<string, FieldValue> };
}

function isFieldValue(value: unknown): value is FieldValue {
  return Array.isArray(value)
    ? value.every((item) => typeof item === 'string')
    : ['string', 'number', 'boolean'].includes(typeof value);
}
