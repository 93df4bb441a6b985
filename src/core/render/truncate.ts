/**
 * Cuts long text in the middle, because a reader needs its start, which says what it is, and its end, which says how it went.
 * Lengths are in UTF-16 code units. A cut is made at a line end if one is near, and never inside a surrogate pair.
 */

import { MAX_VALUE_CHARS } from '../base/limits.ts';
import { counted } from '../base/units.ts';

/** The cut is made at a line end only if that loses at most this share of what may be kept. */
const MAX_LOST_SHARE = 0.5;
const NEWLINE = '\n';

export interface CutText {
  readonly first: string;
  /** What is missing between `first` and `last`; undefined if nothing is. */
  readonly gap?: { readonly bytes: number; readonly lines: number };
  /** Empty if nothing is missing. */
  readonly last: string;
}

/** Cuts `head` and `tail` to `maxChars` characters together. `dropped` is what is already missing between them. */
export function cutMiddle(
  head: string,
  tail: string,
  dropped: { readonly bytes: number; readonly lines: number },
  maxChars: number,
): CutText {
  if (dropped.bytes === 0) {
    return cutWhole(head + tail, maxChars);
  }
  const half = Math.floor(maxChars / 2);
  const first = keepStart(head, Math.max(half, maxChars - tail.length));
  const last = keepEnd(tail, Math.max(half, maxChars - head.length));
  const cutFromHead = head.slice(first.length);
  const cutFromTail = tail.slice(0, tail.length - last.length);
  return {
    first,
    gap: {
      bytes: dropped.bytes + Buffer.byteLength(cutFromHead) + Buffer.byteLength(cutFromTail),
      lines: dropped.lines + countLineEnds(cutFromHead) + countLineEnds(cutFromTail),
    },
    last,
  };
}

/** Cuts `text` to `maxChars` characters plus an ellipsis, if it is longer. Never splits a surrogate pair. */
export function cutEnd(text: string, maxChars: number): string {
  if (text.length <= maxChars) {
    return text;
  }
  return `${text.slice(0, splitsPair(text, maxChars) ? maxChars - 1 : maxChars)}…`;
}

/**
 * Shares `total` among texts of the given lengths. What short texts do not use goes to the longer ones in equal parts. Shares
 * are integers and never larger than the text needs.
 */
export function shareOut(total: number, needs: readonly number[]): number[] {
  const shares = needs.map(() => 0);
  let left = total;
  const byNeed = needs.map((need, index) => ({ need, index })).toSorted((a, b) => a.need - b.need);
  byNeed.forEach(({ need, index }, position) => {
    const share = Math.min(need, Math.floor(left / (byNeed.length - position)));
    shares[index] = share;
    left -= share;
  });
  return shares;
}

/** The line that replaces the missing part. `whole` is the Python expression for the complete text. */
export function describeGap(gap: { readonly bytes: number; readonly lines: number }, whole?: string): string {
  const lines = gap.lines === 0 ? '' : ` (${counted(gap.lines, 'line')})`;
  return `[${counted(gap.bytes, 'byte')}${lines} omitted here${whole === undefined ? '' : `; ${whole} has all of it`}.]`;
}

const GAP = /^\[([\d,]{1,15}) bytes?(?: \(([\d,]{1,15}) lines?\))? omitted here\.\]$/gm;

/**
 * The parts of a text that the sandbox has cut in its middle because it was longer than `MAX_VALUE_CHARS`, and what is missing
 * between them. Code could forge the line in between, and would only get a wrong count of its own output.
 */
export function splitAtGap(text: string): { head: string; dropped: { bytes: number; lines: number }; tail: string } {
  GAP.lastIndex = MAX_VALUE_CHARS / 2;
  const found = text.length > MAX_VALUE_CHARS ? GAP.exec(text) : null;
  if (found === null) {
    return { head: text, dropped: { bytes: 0, lines: 0 }, tail: '' };
  }
  const [line, bytes = '', lines = '0'] = found;
  return {
    head: text.slice(0, found.index - 1),
    dropped: { bytes: Number(bytes.replaceAll(',', '')), lines: Number(lines.replaceAll(',', '')) },
    tail: text.slice(found.index + line.length + 1),
  };
}

function cutWhole(text: string, maxChars: number): CutText {
  if (text.length <= maxChars) {
    return { first: text, last: '' };
  }
  const half = Math.floor(maxChars / 2);
  const first = keepStart(text, half);
  const last = keepEnd(text, half);
  const middle = text.slice(first.length, text.length - last.length);
  return { first, gap: { bytes: Buffer.byteLength(middle), lines: countLineEnds(middle) }, last };
}

function keepStart(text: string, maxChars: number): string {
  if (text.length <= maxChars) {
    return text;
  }
  const lineEnd = text.lastIndexOf(NEWLINE, maxChars - 1) + 1;
  if (lineEnd >= maxChars * (1 - MAX_LOST_SHARE)) {
    return text.slice(0, lineEnd);
  }
  return text.slice(0, splitsPair(text, maxChars) ? maxChars - 1 : maxChars);
}

function keepEnd(text: string, maxChars: number): string {
  if (text.length <= maxChars) {
    return text;
  }
  const start = text.length - maxChars;
  const lineStart = text.indexOf(NEWLINE, start - 1) + 1;
  if (lineStart > 0 && lineStart <= start + maxChars * MAX_LOST_SHARE) {
    return text.slice(lineStart);
  }
  return text.slice(splitsPair(text, start) ? start + 1 : start);
}

/** Whether a cut before `index` would split a surrogate pair. */
function splitsPair(text: string, index: number): boolean {
  const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
  const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
  return index > 0 && isHigh(text.charCodeAt(index - 1)) && isLow(text.charCodeAt(index));
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf(NEWLINE); at !== -1; at = text.indexOf(NEWLINE, at + 1)) {
    count += 1;
  }
  return count;
}
