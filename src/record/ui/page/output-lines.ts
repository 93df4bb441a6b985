/**
 * What a cell writes, as lines, in bounded memory: the oldest lines are dropped. A lone carriage return ends a line too, so that
 * nothing can be written over.
 */

export type OutputStream = 'stdout' | 'stderr';

export interface OutputLine {
  readonly stream: OutputStream;
  readonly text: string;
  /** Whether it continues the line before, which was too long for one row. */
  readonly isContinued: boolean;
}

const MAX_LINES = 50_000;
/** How many are dropped at once: one at a time would move the whole array for each line. */
const DROP_LINES = 5_000;
const MAX_CHARS = 8 * 1024 * 1024;
const MAX_LINE_CHARS = 1_000;

export class OutputLines {
  #lines: OutputLine[] = [];
  #chars = 0;
  #isOpen = false;
  #endsWithReturn = false;
  /** Lines that are no longer here. */
  droppedLines = 0;
  /** Characters that never arrived. */
  droppedChars = 0;

  get lines(): readonly OutputLine[] {
    return this.#lines;
  }

  append(stream: OutputStream, given: string): void {
    // `\r\n` may arrive in two pieces.
    const text = this.#endsWithReturn && given.startsWith('\n') ? given.slice(1) : given;
    this.#endsWithReturn = given === '' ? this.#endsWithReturn : given.endsWith('\r');
    if (text === '') {
      return;
    }
    const parts = text.split(/\r\n|\n|\r/);
    const last = parts.pop() ?? '';
    for (const part of parts) {
      this.#add(stream, part);
      this.#isOpen = false;
    }
    if (last !== '') {
      this.#add(stream, last);
    }
    this.#drop();
  }

  #add(stream: OutputStream, text: string): void {
    const open = this.#lines.at(-1);
    let rest = text;
    let isContinued = false;
    this.#chars += text.length;
    if (this.#isOpen && open?.stream === stream) {
      const room = MAX_LINE_CHARS - open.text.length;
      this.#lines[this.#lines.length - 1] = { ...open, text: open.text + cut(rest, room) };
      rest = rest.slice(cut(rest, room).length);
      isContinued = true;
      if (rest === '') {
        return;
      }
    }
    do {
      const part = cut(rest, MAX_LINE_CHARS);
      this.#lines.push({ stream, text: part, isContinued });
      rest = rest.slice(part.length);
      isContinued = true;
    } while (rest !== '');
    this.#isOpen = true;
  }

  #drop(): void {
    if (this.#lines.length <= MAX_LINES && this.#chars <= MAX_CHARS) {
      return;
    }
    const dropped = this.#lines.splice(0, Math.min(DROP_LINES, this.#lines.length - 1));
    this.droppedLines += dropped.length;
    this.#chars -= dropped.reduce((sum, { text }) => sum + text.length, 0);
    this.#drop();
  }
}

/** At most `max` characters, without half of a pair of surrogates. */
function cut(text: string, max: number): string {
  const part = text.slice(0, Math.max(0, max));
  return part.length < text.length && /[\ud800-\udbff]$/.test(part) ? part.slice(0, -1) : part;
}
