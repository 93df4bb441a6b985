/** Server-Sent Events of all bridges for one page. What happens in a short time goes out together, and one that reads too slowly is cut off. */
import type { ServerResponse } from 'node:http';
import { SAFE_HEADERS } from './access.ts';
import type { Bridges } from './bridges.ts';
import { UiRefusal } from './refusal.ts';
import type { UiEvent } from './schema.ts';

/** Bridges have collected events already. Chosen. */
const FLUSH_MS = 20;
const COMMENT_MS = 15_000;
/** What a page may leave unread. Chosen: it reads the overview again when it has connected again. */
const MAX_UNREAD_BYTES = 16 * 1024 ** 2;
/** Of all pages. Chosen: browsers allow six connections to a server. */
const MAX_STREAMS = 16;

export class EventPages {
  readonly #bridges: Bridges;
  readonly #open = new Set<ServerResponse>();

  constructor(bridges: Bridges) {
    this.#bridges = bridges;
  }

  /** Resolves when the stream has begun. Throws if there are too many. */
  async serve(response: ServerResponse): Promise<void> {
    if (this.#open.size >= MAX_STREAMS) {
      throw new UiRefusal(429, `${MAX_STREAMS} programs read events already.`, 'Close some of the pages.', 'HTTP_BUSY');
    }
    this.#open.add(response);
    let pending = '';
    let timer: NodeJS.Timeout | undefined;
    // What is written before that would begin the answer, without its headers.
    let hasBegun = false;
    const flush = (): void => {
      timer = undefined;
      if (!hasBegun || response.destroyed) {
        return;
      }
      if (response.writableLength > MAX_UNREAD_BYTES) {
        response.destroy();
      } else {
        response.write(pending);
      }
      pending = '';
    };
    const write = (text: string): void => {
      pending += text;
      timer ??= setTimeout(flush, FLUSH_MS);
    };
    const comments = setInterval(() => write(':\n\n'), COMMENT_MS);
    response.once('close', () => {
      this.#open.delete(response);
      clearTimeout(timer);
      clearInterval(comments);
    });
    const stop = await this.#bridges.read((event: UiEvent) => write(`data: ${JSON.stringify(event)}\n\n`));
    if (response.destroyed) {
      stop();
      return;
    }
    response.once('close', stop);
    response.writeHead(200, { ...SAFE_HEADERS, 'Content-Type': 'text/event-stream' });
    response.write(`: events of all bridges\n\n${pending}`);
    [pending, hasBegun] = ['', true];
  }
}
