/** The table of the neighbours in Markdown. */
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
}

const COLUMNS: readonly (readonly [Figure, string])[] = [
  ['start', 'start'],
  ['first', 'first code'],
  ['warm', 'warm code'],
  ['firstCall', 'first call'],
  ['warmCall', 'warm call'],
  ['fifty', '50 calls'],
];

export function renderNeighbours(lines: readonly Line[], facts: readonly string[]): string {
  const headings = ['', 'Code', 'Runs in', 'Tokens', ...COLUMNS.map(([, title]) => `${title}, ms`), 'Found in 5'];
  const rows = lines.map(({ neighbour, reason, tokens, medians, recall }) => [
    `${neighbour.name}${versionOf(neighbour.packages)}, ${neighbour.licence}`,
    neighbour.language,
    neighbour.isolation,
    reason === undefined ? show(tokens) : `not measured: ${reason}`,
    ...COLUMNS.map(([figure]) => show(medians[figure])),
    recall === undefined ? '–' : `${Math.round(recall * 100)} %`,
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
