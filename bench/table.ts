/** Rows as a Markdown table, which reads well in a terminal too. */
import type { Quantity, Row } from './rows.ts';

const HEADINGS = ['figure', 'engine', 'measured', 'floor in the same run', 'ratio', 'goal', 'met?'];

/** The table, with aligned columns. */
export function renderTable(rows: readonly Row[]): string {
  const cells = [HEADINGS, ...rows.map(toCells)];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? '').length)));
  const lines = cells.map((line) => `| ${line.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}

function toCells({ figure, engine, measured, detail, floor, goals }: Row): string[] {
  const shown = measured === undefined ? '' : formatQuantity(measured);
  const isComparable = measured !== undefined && floor !== undefined && floor.value > 0;
  return [
    figure,
    engine ?? '–',
    [shown, detail ?? ''].filter((text) => text !== '').join(', '),
    floor === undefined ? '–' : `${formatQuantity(floor)} (${floor.what})`,
    isComparable ? formatNumber(measured.value / floor.value) : '–',
    goals.length === 0 ? '–' : goals.map(({ text }) => text).join(', '),
    goals.length === 0 ? '–' : goals.map(({ isMet }) => (isMet ? 'yes' : '**no**')).join(', '),
  ];
}

function formatQuantity({ value, unit }: Quantity): string {
  return `${formatNumber(value)} ${unit}`;
}

/** Three significant digits, or all digits of the integer part. */
export function formatNumber(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return Number.isInteger(value) ? value.toLocaleString('en-US') : value.toFixed(digits);
}
