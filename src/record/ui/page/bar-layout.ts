/** Where the bars of a chart are, in the units of its `viewBox`. Pure. */

export interface ChartSeries {
  readonly name: string;
  readonly values: readonly number[];
}

export interface ChartSize {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly bottom: number;
  readonly top: number;
}

export interface ChartBar {
  /** Number of its label, and of its series. */
  readonly index: number;
  readonly series: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface ChartLayout {
  readonly bars: readonly ChartBar[];
  /** Of the axis. */
  readonly ticks: readonly { readonly value: number; readonly y: number }[];
  /** The middle of each label that has room. */
  readonly labels: readonly { readonly index: number; readonly x: number }[];
}

const TICKS = 4;
const LABEL_WIDTH = 56;
const MAX_BAR_WIDTH = 36;

/** Bars next to each other, one group per label. */
export function layOutBars(count: number, series: readonly ChartSeries[], size: ChartSize): ChartLayout {
  const plotHeight = size.height - size.top - size.bottom;
  const slot = (size.width - size.left) / Math.max(1, count);
  const each = Math.min(MAX_BAR_WIDTH, (slot * 0.72) / series.length);
  const most = axisTop(Math.max(0, ...series.flatMap(({ values }) => values)));
  const yOf = (value: number): number => size.top + plotHeight * (1 - Math.max(0, value) / most);
  const every = Math.max(1, Math.ceil(LABEL_WIDTH / slot));
  const indexes = Array.from({ length: count }, (_, index) => index);
  const bars = indexes.flatMap((index) =>
    series.map(({ values }, number): ChartBar => {
      const y = yOf(values[index] ?? 0);
      const x = size.left + slot * (index + 0.5) + (number - series.length / 2) * each;
      return {
        index,
        series: number,
        x: round(x),
        y: round(y),
        width: round(Math.max(0.5, each - Math.min(1, each / 4))),
        height: round(size.top + plotHeight - y),
      };
    }),
  );
  const steps = Array.from({ length: TICKS + 1 }, (_, index) => (most * index) / TICKS);
  return {
    bars,
    ticks: steps.map((value) => ({ value, y: round(yOf(value)) })),
    labels: indexes
      .filter((index) => (count - 1 - index) % every === 0)
      .map((index) => ({ index, x: round(size.left + slot * (index + 0.5)) })),
  };
}

/** A round number that no bar exceeds, and that four steps divide into round ones. */
export function axisTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(4, most)));
  return ([0.4, 0.8, 1, 2, 4, 8, 10].find((factor) => factor * power >= most) ?? 10) * power;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
