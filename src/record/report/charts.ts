/** Charts as inline SVG: bars with a legend, a text for screen readers, and a tooltip for each bar. Colors are classes of the page. */
import { html, type Markup } from './escape.ts';
import { shownCount } from './words.ts';

export interface Series {
  readonly name: string;
  /** Number of its color, from 1. */
  readonly color: number;
  readonly values: readonly number[];
}

export interface Chart {
  readonly title: string;
  readonly labels: readonly string[];
  readonly series: readonly Series[];
  /** Whether the series of a label stand on each other or next to each other. */
  readonly isStacked: boolean;
}

const [WIDTH, HEIGHT] = [720, 220];
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 8, 10, 26];
const MAX_LABELS = 8;
const TICKS = 4;

/** The same id for the same title, so that the page is the same for the same report. */
const idOf = (title: string): string => title.toLowerCase().replaceAll(/[^a-z]+/g, '-');

/** Bars, with the table of their values next to them. */
export function renderChart(chart: Chart): Markup {
  const { labels, series, title } = chart;
  const id = idOf(title);
  const totals = series.map(
    ({ name, values }) => `${name} ${shownCount(values.reduce((sum, value) => sum + value, 0))}`,
  );
  const description = `${title}, ${labels.at(0) ?? ''} to ${labels.at(-1) ?? ''}: ${totals.join(', ')} in all. The table below has every value.`;
  return html`<figure><figcaption>${title}</figcaption>
<ul class="legend">${series.map(({ color, name }) => html`<li class="c${color}">${name}</li>`)}</ul>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-title ${id}-text"><title id="${id}-title">${title}</title><desc id="${id}-text">${description}</desc>
${axis(chart)}${labels.flatMap((_, index) => bars(chart, index))}</svg></figure>`;
}

/** A round number that is at least as large as every bar. */
function topOf({ isStacked, labels, series }: Chart): number {
  const heights = labels.map((_, index) => {
    const values = series.map(({ values: all }) => Math.max(0, all[index] ?? 0));
    return isStacked ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
  });
  const most = Math.max(1, ...heights);
  const step = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 4, 5, 10].find((factor) => factor * step >= most) ?? 10) * step;
}

function axis(chart: Chart): Markup[] {
  const top = topOf(chart);
  // Small counts would have the same number twice.
  const steps = Math.min(TICKS, top);
  const ticks = Array.from({ length: steps + 1 }, (_, index) => (top * index) / steps);
  const every = Math.ceil(chart.labels.length / MAX_LABELS);
  return [
    ...ticks.map((value) => {
      const y = TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
      return html`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${round(y)}" y2="${round(y)}"/><text class="y" x="${LEFT - 6}" y="${round(y + 4)}">${short(value)}</text>`;
    }),
    ...chart.labels.flatMap((label, index) => {
      const { x, width } = slot(chart, index);
      return index % every === 0
        ? [html`<text class="x" x="${round(x + width / 2)}" y="${HEIGHT - 8}">${label.slice(5)}</text>`]
        : [];
    }),
  ];
}

function bars(chart: Chart, index: number): Markup[] {
  const { isStacked, labels, series } = chart;
  const top = topOf(chart);
  const { x, width } = slot(chart, index);
  const each = isStacked ? width * 0.8 : (width * 0.8) / series.length;
  let stacked = 0;
  return series.flatMap(({ color, name, values }, number) => {
    const value = values[index] ?? 0;
    const height = (Math.max(0, value) / top) * (HEIGHT - TOP - BOTTOM);
    const left = x + width * 0.1 + (isStacked ? 0 : number * each);
    const y = HEIGHT - BOTTOM - height - (isStacked ? stacked : 0);
    stacked += height;
    const text = `${labels[index] ?? ''}, ${name}: ${shownCount(value)}`;
    return height === 0
      ? []
      : [
          html`<rect class="c${color}" x="${round(left)}" y="${round(y)}" width="${round(each)}" height="${round(height)}"><title>${text}</title></rect>
`,
        ];
  });
}

function slot({ labels }: Chart, index: number): { x: number; width: number } {
  const width = (WIDTH - LEFT - RIGHT) / labels.length;
  return { x: LEFT + index * width, width };
}

const round = (value: number): number => Math.round(value * 100) / 100;

function short(value: number): string {
  return value >= 1e6 ? `${round(value / 1e6)}M` : value >= 1e4 ? `${round(value / 1e3)}k` : String(round(value));
}
