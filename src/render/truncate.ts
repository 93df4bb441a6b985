/**
 * Cuts long text in its middle. Start and end are what a reader needs: the start says what it is, the end how it went.
 * Lengths are UTF-16 units; a cut falls on a line end where one is near, and never inside a surrogate pair.
 */

/** A line end is used for the cut only if it costs at most this share of what may be kept. */
const MAX_LOST_SHARE = 0.5;
const NEWLINE = '\n';

export interface CutText {
  readonly first: string;
  /** What is missing between `first` and `last`; undefined when nothing is. */
  readonly gap?: { readonly bytes: number; readonly lines: number };
  /** Empty when nothing is missing. */
  readonly last: string;
}

/** `head` and `tail` in at most `maxChars` characters; `dropped` is what is missing between them already. */
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

/** `text` in at most `maxChars` characters and, if it was longer, an ellipsis; no surrogate pair is parted. */
export function cutEnd(text: string, maxChars: number): string {
  if (text.length <= maxChars) {
    return text;
  }
  return `${text.slice(0, splitsPair(text, maxChars) ? maxChars - 1 : maxChars)}…`;
}

/**
 * How much of `total` each of several texts may take: what the short ones leave goes to the longer ones, in equal parts.
 * The shares are whole and never more than a text needs.
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

/** The sentence that stands in the place of what is missing; `whole` is the expression that gives all of it. */
export function describeGap(gap: { readonly bytes: number; readonly lines: number }, whole?: string): string {
  const lines = gap.lines === 0 ? '' : ` (${gap.lines.toLocaleString('en')} ${gap.lines === 1 ? 'line' : 'lines'})`;
  return `[${gap.bytes.toLocaleString('en')} bytes${lines} are left out here${whole === undefined ? '' : `; ${whole} has all`}.]`;
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

/** Whether a cut before `index` would part a surrogate pair. */
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
