/**
 * Renders Markdown for a terminal: wraps lines between words, and turns tables that are too wide into one paragraph per row. Supports
 * what our pages use: headings, paragraphs, lists, tables and fenced code.
 */
import { stripVTControlCharacters, styleText } from 'node:util';

export interface TerminalLook {
  readonly columns: number;
  readonly hasColors: boolean;
}

/** Lines beyond this are hard to read. */
const MAX_COLUMNS = 100;
const MIN_COLUMNS = 40;
const COLUMN_GAP = '  ';
const BLOCK =
  /^```[\s\S]*?^```$|^#+ .+$|^\|.*(?:\n\|.*)*|^ *(?:[-*]|\d+\.) .*(?:\n(?! *(?:[-*]|\d+\.) ).+)*|^.+(?:\n(?![|#]|```|[-*] ).+)*/gm;
const LIST_ITEM = /^( *(?:[-*]|\d+\.) +)([\s\S]*)$/;

type Style = Parameters<typeof styleText>[0];

/** The text for the terminal, with a final line feed. */
export function renderForTerminal(markdown: string, { columns, hasColors }: TerminalLook): string {
  const width = Math.max(MIN_COLUMNS, Math.min(columns, MAX_COLUMNS));
  const paint = (style: Style, text: string): string =>
    hasColors ? styleText(style, text, { validateStream: false }) : text;
  const inline = (text: string): string => renderInline(text, paint, hasColors);

  const render = (block: string): string => {
    if (block.startsWith('```')) {
      return block
        .replaceAll(/^```.*\n?/gm, '')
        .trimEnd()
        .replaceAll(/^(?=.)/gm, '    ');
    }
    if (block.startsWith('#')) {
      const [, marks = '', title = ''] = /^(#+) (.+)$/.exec(block) ?? [];
      return hasColors ? paint(marks.length === 1 ? ['bold', 'underline'] : 'bold', inline(title)) : block;
    }
    if (block.startsWith('|')) {
      return renderTable(block, width, inline, (text) => paint('bold', text));
    }
    const [, bullet = '', text = block] = LIST_ITEM.exec(block) ?? [];
    return wrap(inline(text), width, bullet, ' '.repeat(bullet.length));
  };

  const blocks = markdown.match(BLOCK) ?? [];
  return blocks
    .map((block, index) => {
      const isTight = LIST_ITEM.test(block) && LIST_ITEM.test(blocks[index + 1] ?? '');
      return `${render(block)}\n${isTight || index === blocks.length - 1 ? '' : '\n'}`;
    })
    .join('');
}

function renderInline(text: string, paint: (style: Style, text: string) => string, hasColors: boolean): string {
  return text.replaceAll(
    /(?<code>`[^`]*`)|\*\*(?<strong>[^*]+)\*\*|\*(?<weak>[^\s*](?:[^*]*[^\s*])?)\*|\[(?<label>[^\]]*)\]\((?<url>[^)\s]+)\)|<(?<address>https?:[^>]*)>/g,
    (whole: string, ...rest: unknown[]) => {
      const { address, code, label, strong, url, weak } = rest.at(-1) as Readonly<Record<string, string | undefined>>;
      if (code !== undefined) {
        // Without colors the backticks stay, because they show what to type.
        return hasColors ? paint('cyan', code.slice(1, -1)) : code;
      }
      if (strong !== undefined) {
        return paint('bold', renderInline(strong, paint, hasColors));
      }
      if (weak !== undefined) {
        return renderInline(weak, paint, hasColors);
      }
      return label === undefined ? (address ?? whole) : `${label} (${url})`;
    },
  );
}

/** Aligned columns if every row fits on one line; otherwise each row as its first cell with the other cells below it. */
function renderTable(
  block: string,
  width: number,
  inline: (text: string) => string,
  bold: (text: string) => string,
): string {
  const [header = [], , ...rows] = block.split('\n').map((line) => cellsOf(line).map(inline));
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => widthOf(row[column] ?? ''))));
  const total = widths.reduce((sum, one) => sum + one, 0) + COLUMN_GAP.length * (widths.length - 1);
  if (total <= width) {
    const line = (row: readonly string[]): string =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
        .join(COLUMN_GAP)
        .trimEnd();
    return [bold(line(header)), ...rows.map(line)].join('\n');
  }
  const records = rows.map(([first = '', ...others]) => {
    const isAlone = others.length === 1;
    const lines = others.flatMap((cell, index) => {
      const text = isAlone ? cell : `${header[index + 1]}: ${cell}`;
      return cell === '' ? [] : [wrap(text, width, '  ', isAlone ? '  ' : '    ')];
    });
    return [wrap(bold(first), width, '', ''), ...lines].join('\n');
  });
  return [wrap(bold(header.join(' | ')), width, '', ''), ...records].join('\n\n');
}

function cellsOf(line: string): string[] {
  return line
    .replace(/^\| ?/, '')
    .replace(/ ?\|$/, '')
    .split(/ ?(?<!\\)\| ?/)
    .map((cell) => cell.trim().replaceAll('\\|', '|').replaceAll('<br>', '; '));
}

/** The text in lines of at most `width` columns. A longer word gets a line to itself. */
function wrap(text: string, width: number, first: string, others: string): string {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(/\s+/).filter((one) => one !== '')) {
    if (!isEmpty && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = others;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line].join('\n');
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}
