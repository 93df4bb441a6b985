/** Reads the response to one request: JSON, or an event stream that is resumed if it breaks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '../../base/is-object.ts';
import { MAX_RESULT_BYTES } from '../../base/limits.ts';
import type { MessageId, MessageIntake } from '../message-intake.ts';
import { readEvents, StreamPosition } from './event-stream.ts';
import { BodyTooLongError, type HttpAnswer, readBody } from './http-client.ts';
import { RemoteFailure, unreachable } from './remote-failure.ts';
import { EventTooLongError } from './sse-events.ts';

/** How often a broken stream is resumed without a new event. Chosen. */
const MAX_FRUITLESS_RESUMES = 5;
/** Servers end a stream after the response. If one does not, the stream is closed after this long. */
const AFTER_RESPONSE_MS = 1_000;
const OPENING_BRACKET = 0x5b;

/** Requests the rest of a stream after an event. Rejects if the server refuses. */
export type Resume = (lastEventId: string, signal: AbortSignal) => Promise<HttpAnswer>;

export class AnswerReader {
  readonly #intake: MessageIntake;
  readonly #resume: Resume;

  constructor(intake: MessageIntake, resume: Resume) {
    this.#intake = intake;
    this.#resume = resume;
  }

  /** Resolves when the response to request `id` has been delivered, or when `signal` aborts. Rejects with a `RemoteFailure`. */
  async read(answer: HttpAnswer, id: MessageId, signal: AbortSignal): Promise<void> {
    try {
      await this.#readAs(mediaType(answer), answer, id, signal);
    } catch (error) {
      answer.body.destroy();
      if (!(error instanceof BodyTooLongError || error instanceof EventTooLongError)) {
        throw error instanceof Error && error.name === 'AbortError' ? error : asFailure(error);
      }
      this.#intake.refuseDropped({ bytes: MAX_RESULT_BYTES + 1, id, isMessage: true, endsAsMessage: true });
    }
    if (this.#intake.isWaiting(id) && !signal.aborted) {
      throw noResponse(answer);
    }
  }

  async #readAs(type: string, answer: HttpAnswer, id: MessageId, signal: AbortSignal): Promise<void> {
    switch (type) {
      case 'text/event-stream':
        return this.#readStream(answer, id, signal);
      case 'application/json':
        return this.#takeJson(await readBody(answer, MAX_RESULT_BYTES));
      default:
        throw new RemoteFailure('protocol', `answered with content of type '${type.slice(0, 100)}'`, answer);
    }
  }

  async #readStream(first: HttpAnswer, id: MessageId, signal: AbortSignal): Promise<void> {
    const position = new StreamPosition();
    let answer = first;
    for (;;) {
      const broken = await this.#readUntilResponse(answer, id, position);
      if (!this.#intake.isWaiting(id) || signal.aborted) {
        return;
      }
      const isHopeless = position.lastEventId === undefined || position.fruitless >= MAX_FRUITLESS_RESUMES;
      if (isHopeless || broken instanceof EventTooLongError) {
        throw broken === undefined ? noResponse(answer) : asFailure(broken);
      }
      await sleep(position.nextWaitMs(), undefined, { signal });
      answer = await this.#resume(position.lastEventId ?? '', signal);
    }
  }

  /** Resolves with the error that broke the stream; undefined if the stream ended or the response arrived. */
  #readUntilResponse(answer: HttpAnswer, id: MessageId, position: StreamPosition): Promise<unknown> {
    const { body } = answer;
    return new Promise((resolve) => {
      const onEnd = readEvents(body, MAX_RESULT_BYTES, position, ({ name, data }) => {
        if (name === 'message' && data.length > 0) {
          this.#intake.takeLine(data);
        }
        if (!this.#intake.isWaiting(id)) {
          const timer = setTimeout(() => body.destroy(), AFTER_RESPONSE_MS).unref();
          body.once('close', () => clearTimeout(timer));
          resolve(undefined);
        }
      });
      onEnd.then(() => resolve(undefined), resolve);
    });
  }

  /** Up to 2025-03-26, a response could be an array of messages. */
  #takeJson(body: Buffer): void {
    if (body[0] !== OPENING_BRACKET) {
      this.#intake.takeLine(body);
      return;
    }
    const messages = JSON.parse(body.toString('utf8')) as unknown[];
    messages.filter(isObject).forEach((message) => this.#intake.takeMessage(message, body.length));
  }
}

/** The content type without parameters, in lower case; empty if there is none. */
export function mediaType({ headers }: HttpAnswer): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function noResponse(answer: HttpAnswer): RemoteFailure {
  return new RemoteFailure('protocol', 'ended the stream without a response to the request', answer);
}

function asFailure(error: unknown): Error {
  if (error instanceof EventTooLongError) {
    return error;
  }
  if (error instanceof SyntaxError) {
    return new RemoteFailure('protocol', 'answered with a body that is not valid JSON', { cause: error });
  }
  return error instanceof RemoteFailure ? error : unreachable(error);
}
