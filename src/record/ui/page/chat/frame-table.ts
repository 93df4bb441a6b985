/**
 * The table in the text of a pandas DataFrame, as the sandbox shows it (`sandbox-runtime/bridge_kernel/tables.py`): a heading with its
 * shape, then pandas' own lines, whose columns end at the same places. Text that is not certain to be such a table stays text. Pure.
 */

export interface FrameTable {
  /** `DataFrame, 3 rows × 2 columns (day: datetime64[ns])`. */
  readonly heading: string;
  /** The first one is the index, whose name is usually empty. */
  readonly columns: readonly { readonly title: string; readonly isNumber: boolean }[];
  readonly rows: readonly (readonly string[])[];
}

const HEADING = /^DataFrame, [\d,]+ rows? × (?<count>\d+) columns?(?: \(.*\))?$/;
/** Two spaces separate columns; a name can hold one. */
const NAMES = /\S+(?: \S+)*/g;
const NUMBER = /^(?:-?[\d.]+(?:e[+-]\d+)?|-?inf|NaN|<NA>|\.\.\.)$/;
/** The sandbox leaves out columns beyond 20. */
const MAX_COLUMNS = 20;

/** Undefined if the text is something else. */
export function readFrame(text: string): FrameTable | undefined {
  const [heading = '', header = '', ...rows] = text.replace(/\n$/, '').split('\n');
  const count = Number(HEADING.exec(heading)?.groups?.['count']);
  const names = count <= MAX_COLUMNS && rows.length > 0 ? [...header.matchAll(NAMES)] : [];
  if (names.length !== count || names.some(([name]) => name === '...')) {
    return undefined;
  }
  // pandas aligns names and values on the right.
  const ends = names.map(({ 0: name, index }) => index + name.length);
  const split = indexEnd([header, ...rows], ends[0] ?? 0);
  const cells = split === undefined ? undefined : rows.map((row) => cutAt(row, [split, ...ends]));
  if (cells === undefined || !cells.every((row) => row !== undefined)) {
    return undefined;
  }
  const isNamed = cells.length > 1 && cells[0]?.slice(1).every((cell) => cell === '') === true && cells[0][0] !== '';
  const shown = isNamed ? cells.slice(1) : cells;
  const columns = names.map(([title], at) => ({
    title,
    isNumber: shown.every((row) => NUMBER.test(row[at + 1] ?? '')),
  }));
  return {
    heading,
    columns: [{ title: isNamed ? (cells[0]?.[0] ?? '') : '', isNumber: false }, ...columns],
    rows: shown,
  };
}

/** Where the index ends, which pandas aligns on the left: at the only place before `end` that is blank in every line. */
function indexEnd(lines: readonly string[], end: number): number | undefined {
  const blank = Array.from({ length: end }, (_, at) => lines.every((line) => (line[at] ?? ' ') === ' '));
  const starts = blank.flatMap((isBlank, at) => (isBlank && blank[at - 1] !== true ? [at] : []));
  return starts.length === 1 && starts[0] !== 0 ? starts[0] : undefined;
}

/** The cells of a row; undefined if they do not end where the columns do. */
function cutAt(row: string, ends: readonly number[]): string[] | undefined {
  const isAligned = ends.every((end) => (row[end] ?? ' ') === ' ') && row.length <= (ends.at(-1) ?? 0);
  return isAligned ? ends.map((end, index) => row.slice(ends[index - 1] ?? 0, end).trim()) : undefined;
}
