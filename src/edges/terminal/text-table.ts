/** Tables for people: plain aligned columns without colors. Control characters are escaped, because names come from server files. */

import { escapeControls } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';

const MAX_COLUMN_CHARS = 60;

/** The rows with aligned columns; the last column is not padded. Without rows, the text `empty`. */
export function renderTable(rows: readonly (readonly string[])[], empty: string): string {
  if (rows.length === 0) {
    return `${empty}\n`;
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
  return counted(tools, 'tool');
}
