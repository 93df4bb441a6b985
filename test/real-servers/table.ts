/** The tables of test/real-servers/README.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(import.meta.dirname, 'README.md');

export interface TableRow {
  readonly spec: string;
  readonly runner: string;
  readonly with?: string | undefined;
  readonly tools?: number;
  readonly protocolVersion?: string;
  /** How many calls were made, or why none. */
  readonly calls?: number | string | undefined;
  readonly firstStartMs?: number | undefined;
  readonly oddities?: readonly string[];
  readonly result: string;
}

/** Replaces the rows of these packages in the table of servers from PyPI, and keeps the others. */
export function writeTable(rows: readonly TableRow[]): void {
  const lines = rows.map((row) => {
    const {
      spec,
      runner,
      with: extra,
      tools = '',
      protocolVersion = '',
      calls = '',
      firstStartMs,
      oddities = [],
      result,
    } = row;
    const first = firstStartMs === undefined ? '' : `${(firstStartMs / 1000).toFixed(1)} s`;
    const cells = [
      `\`${spec}\`${extra === undefined ? '' : `, \`--with "${extra}"\``}`,
      runner,
      tools,
      protocolVersion,
      calls,
      first,
      oddities.join(', '),
      result,
    ];
    return `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  });
  const isNew = (line: string): boolean => rows.some(({ spec }) => line.startsWith(`| \`${spec}\``));
  const kept = readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => /^\| `.*\| (?:uvx|pipx) \|/.test(line) && !isNew(line));
  replacePart('servers', [
    '| Package | Runner | Tools | MCP | Calls | First start | Unusual | Result |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...[...kept, ...lines].toSorted(),
  ]);
}

/** Replaces the part of the page between the markers of this name. */
export function replacePart(name: string, lines: readonly string[]): void {
  const text = readFileSync(PAGE, 'utf8');
  const part = new RegExp(`(<!-- measured: ${name} -->\n)[\\s\\S]*?(<!-- end of measured -->)`);
  if (!part.test(text)) {
    throw new Error(`${PAGE} has no part '${name}'`);
  }
  writeFileSync(
    PAGE,
    text.replace(part, (_, begin: string, end: string) => `${begin}\n${lines.join('\n')}\n\n${end}`),
  );
}
