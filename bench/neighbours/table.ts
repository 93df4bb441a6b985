/** The tables of the neighbours in Markdown. */
import { formatNumber } from '../table.ts';
import type { Figure } from './measure.ts';
import type { Neighbour } from './neighbour.ts';

export interface Line {
  readonly neighbour: Pick<Neighbour, 'name' | 'packages' | 'licence' | 'language' | 'isolation'>;
  /** Why nothing was measured. */
  readonly reason?: string;
  readonly tokens?: number;
  /** Medians in milliseconds. */
  readonly medians: Partial<Record<Figure, number>>;
  /** Share of wanted tools among the first five. */
  readonly recall?: number;
  /** Whether a name of one cell is there in the next. */
  readonly hasState?: boolean;
  /** Documented behaviours of Python that hold. */
  readonly held?: number;
}

const COLUMNS: readonly (readonly [Figure, string])[] = [
  ['start', 'start'],
  ['first', 'first code'],
  ['warm', 'warm code'],
  ['firstCall', 'first call'],
  ['warmCall', 'warm call'],
  ['fifty', '50 calls'],
];

/** Programs that run any language. */
export function renderNeighbours(lines: readonly Line[], facts: readonly string[]): string {
  return render(lines, facts, ['Found in 5'], ({ recall }) => [
    recall === undefined ? '–' : `${Math.round(recall * 100)} %`,
  ]);
}

/** Programs that run Python, with how many of its documented behaviours hold. */
export function renderPython(lines: readonly Line[], facts: readonly string[], behaviours: number): string {
  return render(lines, facts, ['State', `Of ${behaviours}`], ({ hasState, held }) => [
    hasState === undefined ? '–' : hasState ? 'stays' : 'none',
    show(held),
  ]);
}

function render(
  lines: readonly Line[],
  facts: readonly string[],
  lastHeadings: readonly string[],
  lastCells: (line: Line) => string[],
): string {
  const headings = ['', 'Code', 'Runs in', 'Tokens', ...COLUMNS.map(([, title]) => `${title}, ms`), ...lastHeadings];
  const rows = lines.map((line) => [
    `${line.neighbour.name}${versionOf(line.neighbour.packages)}, ${line.neighbour.licence}`,
    line.neighbour.language,
    line.neighbour.isolation,
    line.reason === undefined ? show(line.tokens) : `not measured: ${line.reason}`,
    ...COLUMNS.map(([figure]) => show(line.medians[figure])),
    ...lastCells(line),
  ]);
  const table = [headings, headings.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [facts.join('; '), '', ...table].join('\n');
}

function versionOf(packages: Neighbour['packages']): string {
  const [version] = Object.values(packages);
  return version === undefined ? '' : ` ${version}`;
}

function show(value: number | undefined): string {
  return value === undefined ? '–' : formatNumber(value);
}
