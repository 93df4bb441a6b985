/** `console`, on top of the two output streams. */
import { format, type InspectOptions, inspect } from 'node-inspect-extracted';

type Write = (stream: number, text: string) => void;

const INDENT = 2;

export function createConsole(write: Write): object {
  const counts = new Map<string, number>();
  const started = new Map<string, number>();
  let indent = '';
  const print =
    (stream: number) =>
    (...values: unknown[]): void =>
      write(stream, `${indent}${format(...values).replaceAll('\n', `\n${indent}`)}\n`);
  const [log, error] = [print(1), print(2)];
  const elapsed = (label: string) => `${label}: ${(performance.now() - (started.get(label) ?? 0)).toFixed(3)}ms`;
  const group = (...values: unknown[]) => {
    if (values.length > 0) {
      log(...values);
    }
    indent += ' '.repeat(INDENT);
  };
  return {
    log,
    info: log,
    debug: log,
    error,
    warn: error,
    trace: (...values: unknown[]) => error(`Trace: ${format(...values)}`),
    dir: (value: unknown, options?: InspectOptions) => log(inspect(value, { customInspect: false, ...options })),
    table: (rows: unknown) => log(tableText(rows)),
    assert: (isTrue: unknown, ...values: unknown[]) => {
      if (!isTrue) {
        error(values.length === 0 ? 'Assertion failed' : `Assertion failed: ${format(...values)}`);
      }
    },
    count: (label = 'default') => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      log(`${label}: ${counts.get(label)}`);
    },
    countReset: (label = 'default') => counts.delete(label),
    time: (label = 'default') => started.set(label, performance.now()),
    timeLog: (label = 'default') => log(elapsed(label)),
    timeEnd: (label = 'default') => {
      log(elapsed(label));
      started.delete(label);
    },
    group,
    groupCollapsed: group,
    groupEnd: () => {
      indent = indent.slice(INDENT);
    },
  };
}

/** A table with the columns of Node's. */
function tableText(rows: unknown): string {
  if (typeof rows !== 'object' || rows === null) {
    return format(rows);
  }
  const entries = Object.entries(rows);
  const isRecord = (row: unknown): row is Record<string, unknown> => typeof row === 'object' && row !== null;
  const columns = [...new Set(entries.flatMap(([, row]) => (isRecord(row) ? Object.keys(row) : [])))];
  const hasValues = entries.some(([, row]) => !isRecord(row));
  const shown = (value: unknown) => inspect(value, { depth: 0 });
  const lines = entries.map(([key, row]) => [
    key,
    ...columns.map((column) => (isRecord(row) && column in row ? shown(row[column]) : '')),
    ...(hasValues ? [isRecord(row) ? '' : shown(row)] : []),
  ]);
  const head = ['(index)', ...columns, ...(hasValues ? ['Values'] : [])];
  const widths = head.map(
    (name, at) => Math.max(...[head, ...lines].map((line) => line[at]?.length ?? name.length)) + 2,
  );
  const rule = (left: string, middle: string, right: string) =>
    left + widths.map((width) => '─'.repeat(width)).join(middle) + right;
  const row = (cells: readonly string[]) =>
    `│${cells.map((cell, at) => ` ${cell.padEnd((widths[at] ?? 0) - 1)}`).join('│')}│`;
  return [rule('┌', '┬', '┐'), row(head), rule('├', '┼', '┤'), ...lines.map(row), rule('└', '┴', '┘')].join('\n');
}
