/**
 * Keeps the start and the end of one output stream of a cell, each within a budget. The kernel cuts in the same way before it
 * sends; this second limit holds even if a sandbox does not.
 */
import type { OutputText } from '../base/cell.ts';
import { KEPT_OUTPUT_BYTES } from '../base/limits.ts';

export interface OutputBuffer {
  /** Appends text, after what the sandbox left out before it. */
  add(text: string, droppedBytes?: number, droppedLines?: number): void;
  take(): OutputText;
}

/** `budgetChars` limits head and tail each. The kernel's budget is in bytes, which are at least as many. */
export function createOutputBuffer(budgetChars: number = KEPT_OUTPUT_BYTES): OutputBuffer {
  let head = '';
  let tail = '';
  let droppedBytes = 0;
  let droppedLines = 0;

  function keepEnd(text: string): void {
    tail += text;
    // Cut rarely: cutting at each line would copy the tail every time.
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
      return { head, droppedBytes: counted(droppedBytes), droppedLines: counted(droppedLines), tail };
    },
  };
}

/** The sandbox may claim any numbers. Sums of them must stay exact integers, or the record of the cell could not be read. */
const MAX_COUNT = 2 ** 50;

function counted(count: number): number {
  return Math.min(count, MAX_COUNT);
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    count += 1;
  }
  return count;
}
