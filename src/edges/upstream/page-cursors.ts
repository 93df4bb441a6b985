/** The pages of one list of a server (MCP: server/utilities/pagination): whether the next one is asked for. */
import { hashOf } from './fingerprint.ts';

/** Real cursors are offsets, keys or tokens. Chosen: a long one is sent back, and a server could keep the bridge busy with it. */
const MAX_CURSOR_CHARS = 64 * 1024;

export class PageCursors {
  readonly #maxPages: number;
  readonly #maxBytes: number;
  /** Hashes, because a server chooses how long the cursors are. */
  readonly #seen = new Set<string>();
  #bytes = 0;

  /** `maxBytes` is for all pages together, as they came. */
  constructor(maxPages: number, maxBytes: number) {
    this.#maxPages = maxPages;
    this.#maxBytes = maxBytes;
  }

  /** Takes note of a page of `bytes` that names the next one. Returns why that one is not asked for, as a notice. */
  reasonToStop(cursor: string, bytes: number): string | undefined {
    this.#bytes += bytes;
    if (cursor.length > MAX_CURSOR_CHARS) {
      return `the list was cut at a page whose cursor has more than ${formatCount(MAX_CURSOR_CHARS)} characters`;
    }
    const hash = hashOf(cursor);
    if (this.#seen.has(hash)) {
      return 'the list was cut where its pages began to repeat';
    }
    this.#seen.add(hash);
    if (this.#seen.size >= this.#maxPages) {
      return `only the first ${formatCount(this.#maxPages)} pages were read`;
    }
    return this.#bytes >= this.#maxBytes ? `only the first ${formatCount(this.#bytes)} bytes were read` : undefined;
  }
}

function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}
