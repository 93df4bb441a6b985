/** Rows for people: plain columns, no colours. Control characters are escaped, because names come from server files. */
import { escapeControls } from '../base/log.ts';

const MAX_COLUMN_CHARS = 60;

/** Rows with their columns below each other; the last column ends where it ends. `nothing` when there is no row. */
export function renderTable(rows: readonly (readonly string[])[], nothing: string): string {
  if (rows.length === 0) {
    return `${nothing}\n`;
  }
  const widths = (rows[0] ?? []).map((_, column) => {
    return Math.min(MAX_COLUMN_CHARS, Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  });
  const renderRow = (row: readonly string[]): string => {
    const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)));
    return cells.join('  ').trimEnd();
  };
  return `${rows.map(renderRow).map(escapeControls).join('\n')}\n`;
}

/** `1 tool`, `1,200 tools`. */
export function countOf(tools: number): string {
  return tools === 1 ? '1 tool' : `${tools.toLocaleString('en-US')} tools`;
}
