/**
 * Writes one output stream of a cell as it arrives. The answer has the whole stream; what could not be written before comes from it.
 * Long output is cut in the middle, so only the start of it can be written while the cell runs.
 */
import type { OutputText } from '../../core/base/cell.ts';
import { KEPT_OUTPUT_BYTES } from '../../core/base/limits.ts';
import { outputAsShown } from '../../core/render/payload.ts';
import { asShown } from '../../core/render/terminal-text.ts';
import { describeGap } from '../../core/render/truncate.ts';

/** Other than colors: it may move to lines that are already written. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
const MOVEMENT = /\u001b(?!\[[\d;]*m)|\u009b/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const CONTROL = /[\r\b\u001b\u009b]/;

export class LiveOutput {
  readonly #write: (text: string) => void;
  readonly #isShown: boolean;
  /** What was written, as the cell wrote it: the start of the stream. */
  #written = '';
  /** At a terminal, the start of a line that redraws itself. */
  #waiting = '';
  #isOver = false;

  /** @param isShown whether it goes to a terminal, which gets what the stream looks like in the end. */
  constructor(write: (text: string) => void, isShown: boolean) {
    this.#write = write;
    this.#isShown = isShown;
  }

  add(text: string, droppedBytes: number): void {
    const length = this.#written.length + this.#waiting.length + text.length;
    this.#isOver ||= droppedBytes > 0 || length > KEPT_OUTPUT_BYTES;
    if (this.#isOver) {
      return;
    }
    if (!this.#isShown) {
      this.#pass(text, text);
      return;
    }
    const waiting = this.#waiting + text;
    const end = waiting.lastIndexOf('\n') + 1;
    // A part of a line can be written if nothing can change it later.
    const ready = CONTROL.test(waiting.slice(end)) ? waiting.slice(0, end) : waiting;
    if (MOVEMENT.test(ready)) {
      this.#isOver = true;
      return;
    }
    this.#waiting = waiting.slice(ready.length);
    this.#pass(ready, this.#lineFeed(ready) + asShown(ready));
  }

  /** What is left of the stream once the cell has ended. */
  rest(output: OutputText): string {
    // The bridge may have run the cell again in another sandbox.
    const isStart = output.head.startsWith(this.#written);
    const left = isStart ? { ...output, head: output.head.slice(this.#written.length) } : output;
    const before = left.head === '' && left.droppedBytes === 0 ? '' : this.#lineFeed(left.head);
    return before + wholeText(this.#isShown ? outputAsShown(left) : left, this.#written);
  }

  #pass(raw: string, shown: string): void {
    if (raw !== '') {
      this.#written += raw;
      this.#write(shown);
    }
  }

  /** A line that redraws itself cannot do so with what is already written. */
  #lineFeed(next: string): string {
    const isInLine = this.#written !== '' && !this.#written.endsWith('\n');
    const line = /^[^\n]*/.exec(next)?.[0].replace(/\r$/, '') ?? '';
    return this.#isShown && isInLine && CONTROL.test(line) ? '\n' : '';
  }
}

function wholeText({ head, droppedBytes, droppedLines, tail }: OutputText, before: string): string {
  if (droppedBytes === 0) {
    return head + tail;
  }
  const start = before + head;
  const feed = start === '' || start.endsWith('\n') ? '' : '\n';
  return `${head}${feed}${describeGap({ bytes: droppedBytes, lines: droppedLines })}\n${tail}`;
}
