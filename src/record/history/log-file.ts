/** A growing file of lines of JSON. Each further reading continues where the last one ended, and single lines can be read again. */
import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { openRegularFile } from '../../core/state/state-files.ts';

/** The longest record is the start of a cell, whose code may be 1 MiB and is escaped. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const [OPEN, CLOSE, COMMA, NEWLINE] = [0x5b, 0x5d, 0x2c, 0x0a];
/** The log of a day may be in files of many principals, which are read at the same time: 300 of them take 170 MB (measured). */
const READ_BYTES = 128 * 1024;
/** Lines that are closer than this are read together: one read costs about as much as copying it (chosen). */
const MAX_GAP_BYTES = 32 * 1024;
const MAX_SPAN_BYTES = 1024 * 1024;

/** Where a line is. */
export interface LinePlace {
  readonly offset: number;
  readonly bytes: number;
}

/** A line as it was read. */
export interface ReadLine extends LinePlace {
  /** Its JSON; undefined if it is none. */
  readonly value: unknown;
  /** The line itself, until the next part of the file is read. */
  text(): string;
}

export class LogFile {
  readonly path: string;
  /** Without the folder. */
  readonly name: string;
  readonly #onOversize: () => void;
  /** Where the first line begins that was not complete yet. */
  #next = 0;
  #size = 0;
  /** Whether the line at `#next` is too long and has been reported. */
  #isSkipping = false;
  /** Identity of the file; undefined before it is read. */
  #inode: number | undefined;

  constructor(path: string, onOversize: () => void) {
    this.path = path;
    this.name = basename(path);
    this.#onOversize = onOversize;
  }

  /** Whether what was read so far ends in the middle of a line that has not been reported. */
  get isInLine(): boolean {
    return this.#size > this.#next && !this.#isSkipping;
  }

  /** Whether this is still the file that was read, only longer. */
  isSame({ ino, size }: { readonly ino: number; readonly size: number }): boolean {
    return (this.#inode === undefined || this.#inode === ino) && size >= this.#size;
  }

  /** Yields the complete lines since the last call, without empty ones, part by part. */
  async *readOn(): AsyncGenerator<readonly ReadLine[]> {
    const handle = await openRegularFile(this.path);
    try {
      this.#inode ??= (await handle.stat()).ino;
      // The first byte is for the bracket that makes the lines an array.
      let buffer = Buffer.allocUnsafe(READ_BYTES);
      for (;;) {
        const filled = await fill(handle, buffer, this.#next);
        this.#size = this.#next + filled;
        const end = filled === 0 ? 0 : buffer.lastIndexOf(NEWLINE, filled);
        if (end > 0) {
          yield this.#takeLines(buffer.subarray(0, end + 1));
        } else if (filled < buffer.length - 1) {
          return;
        } else if (buffer.length < MAX_LINE_BYTES && !this.#isSkipping) {
          buffer = Buffer.allocUnsafe(buffer.length * 2);
        } else {
          this.#skip(filled);
        }
      }
    } finally {
      await handle.close();
    }
  }

  /** @param lines whole lines, after a byte that is free. Changes them. */
  #takeLines(lines: Buffer): ReadLine[] {
    let start = 1;
    if (this.#isSkipping) {
      start = lines.indexOf(NEWLINE, 1) + 1;
      this.#isSkipping = false;
    }
    const ends = newlinesIn(lines, start);
    const values = parseLines(lines, start, ends);
    const found: ReadLine[] = [];
    ends.forEach((end, index) => {
      const from = start;
      start = end + 1;
      if (end > from) {
        const text = () => lines.toString('utf8', from, end);
        found.push({ value: values[index], offset: this.#next + from - 1, bytes: end - from, text });
      }
    });
    this.#next += lines.length - 1;
    return found;
  }

  #skip(bytes: number): void {
    if (!this.#isSkipping) {
      this.#isSkipping = true;
      this.#onOversize();
    }
    this.#next += bytes;
  }

  /** The text of lines, in the order of `places`. Reads lines that are close to each other together. */
  async readLines(places: readonly LinePlace[]): Promise<string[]> {
    const handle = await openRegularFile(this.path);
    const found = new Map<LinePlace, string>();
    try {
      for (const span of spansOf(places)) {
        const bytes = Buffer.allocUnsafe(span.end - span.start);
        const { bytesRead } = await handle.read(bytes, 0, bytes.length, span.start);
        for (const place of span.places) {
          const from = place.offset - span.start;
          found.set(place, bytes.toString('utf8', from, Math.min(from + place.bytes, bytesRead)));
        }
      }
    } finally {
      await handle.close();
    }
    return places.map((place) => found.get(place) ?? '');
  }
}

function newlinesIn(lines: Buffer, start: number): number[] {
  const found: number[] = [];
  for (let end = lines.indexOf(NEWLINE, start); end !== -1; end = lines.indexOf(NEWLINE, end + 1)) {
    found.push(end);
  }
  return found;
}

/**
 * The values of lines; undefined for one that is no JSON. All together are parsed as an array, which
 * needs no string for each. If one is damaged, each is parsed by itself.
 */
function parseLines(lines: Buffer, start: number, ends: readonly number[]): unknown[] {
  if (ends.length === 0) {
    return [];
  }
  lines[start - 1] = OPEN;
  ends.forEach((end) => (lines[end] = COMMA));
  lines[lines.length - 1] = CLOSE;
  const values = jsonOfLine(lines.toString('utf8', start - 1)) as unknown[] | undefined;
  if (values?.length === ends.length) {
    return values;
  }
  return ends.map((end, index) =>
    jsonOfLine(lines.toString('utf8', index === 0 ? start : (ends[index - 1] ?? 0) + 1, end)),
  );
}

/** Undefined for what is no JSON. */
export function jsonOfLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller counts it.
    return undefined;
  }
}

/** Reads until the buffer is full or the file ends. The first byte stays free. Returns the number of bytes. */
async function fill(handle: FileHandle, buffer: Buffer, position: number): Promise<number> {
  let filled = 0;
  const wanted = buffer.length - 1;
  while (filled < wanted) {
    const { bytesRead } = await handle.read(buffer, 1 + filled, wanted - filled, position + filled);
    if (bytesRead === 0) {
      break;
    }
    filled += bytesRead;
  }
  return filled;
}

interface Span {
  readonly start: number;
  end: number;
  readonly places: LinePlace[];
}

function spansOf(places: readonly LinePlace[]): Span[] {
  const spans: Span[] = [];
  for (const place of places.toSorted((a, b) => a.offset - b.offset)) {
    const end = place.offset + place.bytes;
    const last = spans.at(-1);
    if (last !== undefined && place.offset - last.end <= MAX_GAP_BYTES && end - last.start <= MAX_SPAN_BYTES) {
      last.end = Math.max(last.end, end);
      last.places.push(place);
    } else {
      spans.push({ start: place.offset, end, places: [place] });
    }
  }
  return spans;
}
