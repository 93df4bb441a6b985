/** Draws a task of the comparison: the cell, its calls, its answer, and the cost of both ways. */
import type { ComparedRun, ComparisonRun, Effort } from '../comparison/run.ts';
import { ENCODING } from '../comparison/tokens.ts';
import { colorPython } from './python-colors.ts';
import { coloredText, element, MONOSPACE, svgFile, text, type Wording } from './svg.ts';
import type { Theme } from './themes.ts';

const WIDTH = 760;
const MARGIN = 28;
const RIGHT = WIDTH - MARGIN;
/** Left edge of the content next to a label. */
const INDENT = 116;
const HEADER_HEIGHT = 54;
const CODE_LINE = 26;
/** For the widest of the fonts, whose characters are 0.602 times the font size wide. */
const MAX_CODE_CHARS = 64;
const ROW = 32;
const MARKS_LEFT = 374;
const MARKS_WIDTH = 312;
const MARK_PITCH = 8;
/** Right edges of the columns of figures. */
const COLUMNS = { definitions: 372, written: 486, read: 602, total: RIGHT };
const MONO = { 'font-family': MONOSPACE };

export function drawRun(run: ComparisonRun, theme: Theme): string {
  const { compared, code } = picturedTask(run);
  const callsTop = HEADER_HEIGHT + code.length * CODE_LINE + 42;
  const rows = countCalls(compared.calls);
  const answerTop = callsTop + 16 + rows.length * ROW;
  const costTop = answerTop + ROW + 18;
  const height = costTop + 206;
  return svgFile({ width: WIDTH, height }, wordingOf(run), [
    frame(height, theme),
    ...header(compared, theme),
    ...code.map((line, index) =>
      coloredText(MARGIN, HEADER_HEIGHT + 40 + index * CODE_LINE, colorPython(line, theme), {
        ...MONO,
        'font-size': 18,
      }),
    ),
    rule(callsTop, theme),
    ...rows.flatMap((row, index) => callRow(row, callsTop + 32 + index * ROW, index === 0, theme)),
    label('Answer', answerTop + 24, theme),
    text(INDENT, answerTop + 24, compared.comparison.code.result, {
      ...MONO,
      'font-size': 18,
      'font-weight': 600,
      fill: theme.text,
    }),
    rule(costTop, theme),
    ...costs(run, compared, costTop, theme),
  ]);
}

/** The alternative text of the picture in README.md. */
export function wordingOf(run: ComparisonRun): Wording {
  const { compared, code } = picturedTask(run);
  const { comparison, calls, task } = compared;
  const totals = [comparison.code, comparison.direct].map((effort, index) =>
    format(total(effort, index === 0 ? run.definitions.code : run.definitions.direct)),
  );
  const description = [
    `Task: ${task.title}.`,
    `A cell of ${code.filter((line) => line !== '').length} lines makes ${calls.length} calls`,
    `to the ${task.servers.join(' and ')} server and answers ${comparison.code.result}.`,
    `Tokens: ${totals[0]}; with direct tool calls ${totals[1]}.`,
  ];
  return { title: 'One cell, its calls, its answer and its tokens', description: description.join(' ') };
}

function picturedTask({ tasks }: ComparisonRun): { readonly compared: ComparedRun; readonly code: readonly string[] } {
  const compared = tasks.find(({ task }) => task.isPictured);
  if (compared === undefined) {
    throw new Error('no task of the comparison has isPictured set');
  }
  const code = compared.task.cells.join('\n').split('\n');
  const tooLong = code.find(({ length }) => length > MAX_CODE_CHARS);
  if (tooLong !== undefined) {
    throw new Error(`a line of the pictured cell has more than ${MAX_CODE_CHARS} characters: ${tooLong}`);
  }
  return { compared, code };
}

function frame(height: number, theme: Theme): string {
  const box = { x: 0.5, y: 0.5, width: WIDTH - 1, height: height - 1, rx: 10 };
  return element('rect', { ...box, fill: theme.background, stroke: theme.border });
}

function header({ task }: ComparedRun, theme: Theme): string[] {
  const baseline = 35;
  return [
    text(MARGIN, baseline, 'run_python', { ...MONO, 'font-size': 18, 'font-weight': 600, fill: theme.text }),
    text(RIGHT, baseline, capitalize(task.title), { 'font-size': 17, fill: theme.muted, 'text-anchor': 'end' }),
    rule(HEADER_HEIGHT, theme),
  ];
}

function rule(y: number, theme: Theme): string {
  return element('line', { x1: 1, x2: WIDTH - 1, y1: y + 0.5, y2: y + 0.5, stroke: theme.border });
}

function label(content: string, y: number, theme: Theme): string {
  return text(MARGIN, y, content, { 'font-size': 17, fill: theme.muted });
}

/** Number of calls by tool, in the order of the first calls. */
function countCalls(calls: readonly string[]): (readonly [tool: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const call of calls) {
    counts.set(call, (counts.get(call) ?? 0) + 1);
  }
  return [...counts];
}

/** The name of a tool, a mark for each call, and the number of calls. */
function callRow([tool, count]: readonly [string, number], y: number, isFirst: boolean, theme: Theme): string[] {
  const pitch = Math.min(MARK_PITCH, MARKS_WIDTH / count);
  const marks = Array.from({ length: count }, (_, index) =>
    element('rect', {
      x: MARKS_LEFT + index * pitch,
      y: y - 12,
      width: pitch * 0.7,
      height: 12,
      rx: 1,
      fill: theme.call,
    }),
  );
  return [
    ...(isFirst ? [label('Calls', y, theme)] : []),
    text(INDENT, y, tool, { ...MONO, 'font-size': 16, fill: theme.text }),
    element('g', {}, marks.join('')),
    figure(RIGHT, y, count, theme.text),
  ];
}

function costs(
  { definitions, servers }: ComparisonRun,
  { comparison }: ComparedRun,
  top: number,
  theme: Theme,
): string[] {
  const headings = ['definitions', 'written', 'read', 'total'] as const;
  const ways = [
    { name: 'Direct tool calls', color: theme.high, definitions: definitions.direct, effort: comparison.direct },
    { name: 'With run_python', color: theme.low, definitions: definitions.code, effort: comparison.code },
  ];
  const most = Math.max(...ways.map((way) => total(way.effort, way.definitions)));
  const note = `Servers: ${servers.join(', ')}, with ${definitions.tools} tools. Tokenizer: ${ENCODING}.`;
  return [
    label('Tokens', top + 34, theme),
    ...headings.map((heading) =>
      text(COLUMNS[heading], top + 34, heading, { 'font-size': 16, fill: theme.muted, 'text-anchor': 'end' }),
    ),
    ...ways.flatMap((way, index) => {
      const y = top + 68 + index * 54;
      const figures = {
        definitions: way.definitions,
        written: way.effort.written,
        read: way.effort.read,
        total: total(way.effort, way.definitions),
      };
      const bar = { x: MARGIN, y: y + 11, height: 10, rx: 2 };
      return [
        text(MARGIN, y, way.name, { 'font-size': 17, fill: theme.text }),
        figure(COLUMNS.definitions, y, figures.definitions, theme.text),
        figure(COLUMNS.written, y, figures.written, theme.text),
        figure(COLUMNS.read, y, figures.read, theme.text),
        figure(COLUMNS.total, y, figures.total, way.color),
        element('rect', { ...bar, width: Math.max(2, ((RIGHT - MARGIN) * figures.total) / most), fill: way.color }),
      ];
    }),
    text(MARGIN, top + 184, note, { 'font-size': 15, fill: theme.muted }),
  ];
}

function total({ read, written }: Effort, definitions: number): number {
  return definitions + written + read;
}

function capitalize(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function figure(x: number, y: number, value: number, fill: string): string {
  return text(x, y, format(value), { ...MONO, 'font-size': 17, fill, 'text-anchor': 'end' });
}

function format(value: number): string {
  return value.toLocaleString('en-US');
}
