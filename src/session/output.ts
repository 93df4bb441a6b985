/**
 * What is kept of one stream of a cell: its start and its end, each within a budget. The kernel cuts the same way
 * before it sends; this second bound holds against a sandbox that does not.
 */

import type { OutputText } from '../base/cell.ts';
import { KEPT_OUTPUT_BYTES } from '../base/limits.ts';

export interface OutputBuffer {
  /** Takes text that follows what was taken before, and what was left out in between. */
  add(text: string, droppedBytes?: number, droppedLines?: number): void;
  take(): OutputText;
}

/** An empty buffer. `budgetChars` bounds head and tail each; a character is at least one byte of the kernel's budget. */
export function createOutputBuffer(budgetChars: number = KEPT_OUTPUT_BYTES): OutputBuffer {
  let head = '';
  let tail = '';
  let droppedBytes = 0;
  let droppedLines = 0;

  function keepEnd(text: string): void {
    tail += text;
    // Cut rarely and at once: cutting at every line would copy the tail each time.
    if (tail.length > 2 * budgetChars) {
      cutTail();
    }
  }

  function cutTail(): void {
    const cut = tail.length - budgetChars;
    if (cut <= 0) {
      return;
    }
    const removed = tail.slice(0, cut);
    droppedBytes += Buffer.byteLength(removed);
    droppedLines += countLines(removed);
    tail = tail.slice(cut);
  }

  return {
    add(text, missingBytes = 0, missingLines = 0) {
      if (missingBytes > 0) {
        droppedBytes += Buffer.byteLength(tail) + missingBytes;
        droppedLines += countLines(tail) + missingLines;
        tail = '';
        keepEnd(text);
        return;
      }
      if (droppedBytes === 0 && tail === '' && head.length + text.length <= budgetChars) {
        head += text;
        return;
      }
      const room = tail === '' && droppedBytes === 0 ? budgetChars - head.length : 0;
      head += text.slice(0, room);
      keepEnd(text.slice(room));
    },
    take() {
      cutTail();
      if (droppedBytes === 0) {
        return { head: head + tail, droppedBytes: 0, droppedLines: 0, tail: '' };
      }
      return { head, droppedBytes, droppedLines, tail };
    },
  };
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    count += 1;
  }
  return count;
}
