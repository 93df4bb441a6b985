/**
 * Sends events to everyone who reads them, as Server-Sent Events. Whatever happens in a short time goes out together, and output of
 * a cell that follows other output of it is joined. Nothing grows: too many events are counted instead of kept, and a reader
 * that is too slow is sent away. Without readers, an event costs a comparison.
 */
import type { LiveEvent } from '../local-api/schema.ts';

/** Chosen: people do not notice it, and 10,000 lines become a few events. */
const FLUSH_MS = 50;
/** Of one flush. Chosen: a cell of a thousand calls has two thousand. */
const MAX_PENDING = 10_000;
const MAX_PENDING_CHARS = 4 * 1024 ** 2;
/** Of one event of output, as `schema.ts` says. */
const MAX_OUTPUT_CHARS = 65_536;
/** What a reader may leave unread. Chosen. */
const MAX_UNREAD_BYTES = 4 * 1024 ** 2;
/** Comments show whether the reader is still there. Chosen. */
const COMMENT_MS = 15_000;
/** Chosen: more than one person watches with. */
const MAX_READERS = 16;

/** Where the events of one reader go. */
export interface EventReader {
  write(text: string): void;
  /** What was written and not yet taken. */
  unreadBytes(): number;
  /** Writes this and ends the stream. Called once. */
  end(text: string): void;
}

type OutputEvent = Extract<LiveEvent, { readonly type: 'cell_output' }>;

export class EventStreams {
  readonly #readers = new Set<EventReader>();
  readonly #onWatched: (isWatched: boolean) => void;
  #pending: LiveEvent[] = [];
  #pendingChars = 0;
  #lost = 0;
  #number = 0;
  #timer: NodeJS.Timeout | undefined;
  #comments: NodeJS.Timeout | undefined;

  /** @param onWatched called when the first reader comes, and when the last one goes. */
  constructor(onWatched: (isWatched: boolean) => void = () => undefined) {
    this.#onWatched = onWatched;
  }

  /** Whether anyone reads. Without that, `add` need not be called. */
  get isWatched(): boolean {
    return this.#readers.size > 0;
  }

  /** Whether no one else may join. */
  get isFull(): boolean {
    return this.#readers.size >= MAX_READERS;
  }

  join(reader: EventReader): void {
    // It must not get what happened before.
    this.#flush();
    this.#readers.add(reader);
    reader.write(': events of the bridge\n\n');
    if (this.#readers.size === 1) {
      this.#comments = setInterval(() => this.#readers.forEach((each) => each.write(':\n\n')), COMMENT_MS).unref();
      this.#onWatched(true);
    }
  }

  leave(reader: EventReader): void {
    if (this.#readers.delete(reader) && this.#readers.size === 0) {
      clearInterval(this.#comments);
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#forget();
      this.#onWatched(false);
    }
  }

  add(event: LiveEvent): void {
    if (!this.isWatched) {
      return;
    }
    const chars = event.type === 'cell_started' ? event.code.length : 0;
    if (this.#pending.length >= MAX_PENDING || this.#pendingChars + chars > MAX_PENDING_CHARS) {
      this.#lost += 1;
      return;
    }
    this.#pendingChars += chars;
    this.#pending.push(event);
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
  }

  /** Joins it with the last event, if that is output of the same cell. */
  addOutput(event: OutputEvent): void {
    if (!this.isWatched) {
      return;
    }
    const last = this.#pending.at(-1);
    if (last?.type === 'cell_output' && last.cell === event.cell && last.stream === event.stream) {
      this.#pending[this.#pending.length - 1] = this.#joined(last, event.text);
      return;
    }
    const empty = { ...event, text: '' };
    this.add(empty);
    if (this.#pending.at(-1) === empty) {
      this.#pending[this.#pending.length - 1] = this.#joined(empty, event.text);
    }
  }

  /** Ends every stream. */
  close(reason: string): void {
    this.#flush();
    for (const reader of this.#readers) {
      this.#send(reader, reason);
    }
  }

  #joined(event: OutputEvent, text: string): OutputEvent {
    const room = Math.min(MAX_OUTPUT_CHARS - event.text.length, MAX_PENDING_CHARS - this.#pendingChars);
    const taken = text.slice(0, Math.max(0, room));
    const dropped = (event.dropped_chars ?? 0) + text.length - taken.length;
    this.#pendingChars += taken.length;
    return { ...event, text: event.text + taken, ...(dropped > 0 && { dropped_chars: dropped }) };
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lost: LiveEvent[] = this.#lost === 0 ? [] : [{ type: 'lost', at: now(), events: this.#lost }];
    const text = [...this.#pending, ...lost].map((event) => this.#render(event)).join('');
    this.#forget();
    if (text === '') {
      return;
    }
    for (const reader of this.#readers) {
      if (reader.unreadBytes() > MAX_UNREAD_BYTES) {
        this.#send(reader, 'the reader is too slow');
      } else {
        reader.write(text);
      }
    }
  }

  #send(reader: EventReader, reason: string): void {
    this.leave(reader);
    reader.end(this.#render({ type: 'end', at: now(), reason }));
  }

  #forget(): void {
    this.#pending = [];
    this.#pendingChars = 0;
    this.#lost = 0;
  }

  #render(event: LiveEvent): string {
    this.#number += 1;
    return `id: ${this.#number}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  }
}

function now(): string {
  return new Date().toISOString();
}
