/** Reads the response to one request: JSON, or an event stream that is resumed if it breaks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LINE_TOO_LONG, type MessageId, type MessageIntake } from '../message-intake.ts';
import { Arriving, TooMuchAtOnceError } from './arriving.ts';
import { readEvents, StreamPosition } from './event-stream.ts';
import { BodyTooLongError, type HttpResponse } from './http-client.ts';
import { brokenOff, RemoteFailure } from './remote-failure.ts';
import { EventTooLongError } from './sse-events.ts';

/** How often a broken stream is resumed without a new event. Chosen. */
const MAX_FRUITLESS_RESUMES = 5;
/** Servers end a stream after the response. If one does not, the stream is closed after this long. */
const AFTER_RESPONSE_MS = 1_000;

/** Requests the rest of a stream after an event. Rejects if the server refuses. */
export type Resume = (lastEventId: string, signal: AbortSignal) => Promise<HttpResponse>;

export class ResponseReader {
  readonly #intake: MessageIntake;
  readonly #resume: Resume;
  readonly #arriving = new Arriving();

  constructor(intake: MessageIntake, resume: Resume) {
    this.#intake = intake;
    this.#resume = resume;
  }

  /** Resolves when the response to request `id` has been delivered, or when `signal` aborts. Rejects with a `RemoteFailure`. */
  async read(response: HttpResponse, id: MessageId, signal: AbortSignal): Promise<void> {
    try {
      await this.#readAs(mediaType(response), response, id, signal);
    } catch (error) {
      response.body.destroy();
      if (error instanceof TooMuchAtOnceError) {
        this.#intake.failRequest(id, LINE_TOO_LONG, error.message);
        return;
      }
      if (!(error instanceof BodyTooLongError || error instanceof EventTooLongError)) {
        throw error instanceof Error && error.name === 'AbortError' ? error : asFailure(error);
      }
      this.#intake.failDropped({ bytes: this.#intake.maxMessageBytes + 1, id, isMessage: true, endsAsMessage: true });
    }
    if (this.#intake.isWaiting(id) && !signal.aborted) {
      throw noResponse(response);
    }
  }

  async #readAs(type: string, response: HttpResponse, id: MessageId, signal: AbortSignal): Promise<void> {
    switch (type) {
      case 'text/event-stream':
        return this.#readStream(response, id, signal);
      case 'application/json':
        return this.#intake.handleLine(await this.#arriving.read(response, this.#intake.maxMessageBytes));
      default:
        throw new RemoteFailure('protocol', `answered with content of type '${type.slice(0, 100)}'`, response);
    }
  }

  async #readStream(first: HttpResponse, id: MessageId, signal: AbortSignal): Promise<void> {
    const position = new StreamPosition();
    let response = first;
    for (;;) {
      const broken = await this.#readUntilResponse(response, id, position);
      if (!this.#intake.isWaiting(id) || signal.aborted) {
        return;
      }
      const isHopeless = position.lastEventId === undefined || position.fruitless >= MAX_FRUITLESS_RESUMES;
      if (isHopeless || broken instanceof EventTooLongError || broken instanceof TooMuchAtOnceError) {
        throw broken === undefined ? endedEarly(response) : asFailure(broken);
      }
      await sleep(position.nextWaitMs(), undefined, { signal });
      response = await this.#resume(position.lastEventId ?? '', signal);
    }
  }

  /** Resolves with the error that broke the stream; undefined if the stream ended or the response arrived. */
  #readUntilResponse(response: HttpResponse, id: MessageId, position: StreamPosition): Promise<unknown> {
    const { body } = response;
    let isDone = false;
    return new Promise((resolve) => {
      const onEnd = readEvents(body, this.#intake.maxMessageBytes, position, {
        onEvent: ({ name, data }) => {
          if (name === 'message' && data.length > 0) {
            this.#intake.handleLine(data);
          }
          if (!isDone && !this.#intake.isWaiting(id)) {
            isDone = true;
            const timer = setTimeout(() => body.destroy(), AFTER_RESPONSE_MS).unref();
            body.once('close', () => clearTimeout(timer));
            resolve(undefined);
          }
        },
        onBytes: (bytes) => this.#arriving.count(response, bytes),
      });
      onEnd.finally(() => this.#arriving.count(response, 0)).then(() => resolve(undefined), resolve);
    });
  }
}

/** The content type without parameters, in lower case; empty if there is none. */
export function mediaType({ headers }: Pick<HttpResponse, 'headers'>): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function noResponse(response: HttpResponse): RemoteFailure {
  return new RemoteFailure('protocol', 'answered without a JSON-RPC response to the request', response);
}

function endedEarly({ status }: HttpResponse): RemoteFailure {
  return new RemoteFailure('protocol', 'ended its stream of events before it answered the request', {
    status,
    hint: 'Servers that restart, and proxies with a time limit, end streams like that. The call may have had an effect.',
  });
}

function asFailure(error: unknown): Error {
  if (error instanceof EventTooLongError || error instanceof TooMuchAtOnceError) {
    return error;
  }
  if (error instanceof SyntaxError) {
    return new RemoteFailure('protocol', 'answered with a body that is not valid JSON', { cause: error });
  }
  return error instanceof RemoteFailure ? error : brokenOff(error);
}
