/**
 * The table in the text of a pandas DataFrame, as the sandbox writes it (`sandbox-runtime/bridge_kernel/tables.py`): a heading that
 * names the columns, then lines whose columns end at the same places. Text that is not certain to be such a table stays text. Pure.
 */

export interface FrameTable {
  /** `DataFrame, 3 rows × 2 columns (a int64, b object)`. */
  readonly heading: string;
  /** The first one is the index, whose name is usually empty. */
  readonly columns: readonly { readonly title: string; readonly isNumber: boolean }[];
  readonly rows: readonly (readonly string[])[];
}

const HEADING = /^DataFrame, [\d,]+ rows? × (?<count>\d+) columns? \((?<names>.*)\)$/;
const NUMBER_TYPE = /^(?:u?int\d+|float\d+|complex\d+)$/i;
/** The sandbox leaves out rows and columns beyond 20 and 16. */
const MAX_COLUMNS = 16;

/** Undefined if the text is something else. */
export function readFrame(text: string): FrameTable | undefined {
  const [heading = '', header = '', ...rows] = text.replace(/\n$/, '').split('\n');
  const found = HEADING.exec(heading)?.groups;
  const names = (found?.['names'] ?? '').split(', ');
  const named = names.map((column) => /^(?<title>.*) (?<type>\S+)$/.exec(column)?.groups);
  const isWhole = named.length === Number(found?.['count']) && named.length <= MAX_COLUMNS;
  if (!isWhole || rows.length === 0) {
    return undefined;
  }
  const ends = columnEnds(
    header,
    named.map((column) => column?.['title'] ?? ''),
  );
  const split = ends && indexEnd([header, ...rows], ends[0] ?? 0);
  const cells = ends === undefined || split === undefined ? undefined : rows.map((row) => cutAt(row, [split, ...ends]));
  if (cells === undefined || !cells.every((row) => row !== undefined)) {
    return undefined;
  }
  const isNamed = cells.length > 1 && cells[0]?.slice(1).every((cell) => cell === '') === true && cells[0][0] !== '';
  const index = { title: isNamed ? (cells[0]?.[0] ?? '') : '', isNumber: false };
  const columns = named.map((column) => ({
    title: column?.['title'] ?? '',
    isNumber: NUMBER_TYPE.test(column?.['type'] ?? ''),
  }));
  return { heading, columns: [index, ...columns], rows: isNamed ? cells.slice(1) : cells };
}

/** Where each column ends: pandas aligns names and values on the right. */
function columnEnds(header: string, titles: readonly string[]): number[] | undefined {
  const ends: number[] = [];
  for (const title of titles) {
    const from = ends.at(-1) ?? 0;
    const at = title === '' ? -1 : header.indexOf(title, from);
    if (at === -1 || header.slice(from, at).trim() !== '') {
      return undefined;
    }
    ends.push(at + title.length);
  }
  return header.slice(ends.at(-1)).trim() === '' ? ends : undefined;
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
