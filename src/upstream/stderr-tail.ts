/** The end of what a server wrote to stderr: kept in bounded memory, quoted when the server fails. */
import { stripVTControlCharacters } from 'node:util';

/** Enough for a stack trace after some pages of start-up messages. Chosen. */
const KEPT_BYTES = 64 * 1024;
const QUOTED_LINES = 12;
const QUOTED_CHARS = 2_000;

export interface StderrTail {
  push(chunk: Buffer): void;
  /** The last lines, without colors and blank lines; empty when nothing was written. */
  lastLines(): string;
}

/** `maskText` goes over the lines before they are cut: half a secret would not be recognised. */
export function createStderrTail(maskText: (text: string) => string = String): StderrTail {
  let chunks: Buffer[] = [];
  let keptBytes = 0;

  return {
    push(chunk) {
      // A copy, because a slice would keep the whole read buffer alive.
      chunks.push(Buffer.from(chunk.subarray(-KEPT_BYTES)));
      keptBytes += Math.min(chunk.length, KEPT_BYTES);
      // Compacted only when twice full, so that each byte is copied once on average.
      if (keptBytes > 2 * KEPT_BYTES) {
        const tail = Buffer.from(Buffer.concat(chunks).subarray(-KEPT_BYTES));
        chunks = [tail];
        keptBytes = tail.length;
      }
    },
    lastLines() {
      const text = maskText(stripVTControlCharacters(Buffer.concat(chunks).toString('utf8')));
      const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
      return lines.slice(-QUOTED_LINES).join('\n').slice(-QUOTED_CHARS);
    },
  };
}
