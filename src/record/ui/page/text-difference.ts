/** What differs between two texts, word by word: a longest common subsequence of words and the space between them. */

export interface DifferencePart {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** The table has the square of this; longer texts are compared by lines, and then as a whole. Chosen. */
const MAX_PIECES = 1_000;

export function differenceOf(before: string, after: string): readonly DifferencePart[] {
  for (const split of [/(\s+|[^\p{L}\p{N}\s])/u, /(\n)/]) {
    const [left, right] = [before, after].map((text) => text.split(split).filter((piece) => piece !== ''));
    if (left !== undefined && right !== undefined && Math.max(left.length, right.length) <= MAX_PIECES) {
      return joined(compare(left, right));
    }
  }
  return joined([
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ]);
}

function compare(left: readonly string[], right: readonly string[]): DifferencePart[] {
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  const lengthAt = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        left[row] === right[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1));
    }
  }
  const parts: DifferencePart[] = [];
  let [row, column] = [0, 0];
  while (row < left.length || column < right.length) {
    const [old, now] = [left[row], right[column]];
    if (old !== undefined && old === now) {
      parts.push({ kind: 'same', text: old });
      row += 1;
      column += 1;
    } else if (old !== undefined && (now === undefined || lengthAt(row + 1, column) >= lengthAt(row, column + 1))) {
      parts.push({ kind: 'removed', text: old });
      row += 1;
    } else {
      parts.push({ kind: 'added', text: now ?? '' });
      column += 1;
    }
  }
  return parts;
}

function joined(parts: readonly DifferencePart[]): DifferencePart[] {
  const all: DifferencePart[] = [];
  for (const { kind, text } of parts) {
    const last = all.at(-1);
    if (last?.kind === kind) {
      all[all.length - 1] = { kind, text: last.text + text };
    } else if (text !== '') {
      all.push({ kind, text });
    }
  }
  return all;
}
