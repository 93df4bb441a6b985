/** Tables and figures in plain code: another way to a true value than the data frames of an agent. */

export type Row = Readonly<Record<string, string>>;

/** Rows of a CSV file with a header (RFC 4180), as texts. */
export function parseCsv(text: string, delimiter = ','): Row[] {
  const lines: string[][] = [[]];
  let field = '';
  let isQuoted = false;
  for (const character of text.replaceAll('\r\n', '\n')) {
    if (character === '"') {
      isQuoted = !isQuoted;
    } else if (!isQuoted && (character === delimiter || character === '\n')) {
      lines.at(-1)?.push(field);
      field = '';
      if (character === '\n') {
        lines.push([]);
      }
    } else {
      field += character;
    }
  }
  lines.at(-1)?.push(field);
  const [header = [], ...rows] = lines.filter((line) => line.some((value) => value !== ''));
  return rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at] ?? ''])));
}

/** Rows of a JSON array of flat objects; null becomes empty. */
export function parseJsonRows(text: string): Row[] {
  const rows = JSON.parse(text) as Readonly<Record<string, number | string | null>>[];
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value ?? '')])));
}

export const isMissing = (text: string | undefined): boolean => text === undefined || text === '' || text === 'NA';

/** The numbers of a column, without missing ones. */
export const numbers = (rows: readonly Row[], name: string): number[] =>
  rows
    .map((row) => row[name])
    .filter((text) => !isMissing(text))
    .map(Number);

export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, [item]);
    } else {
      group.push(item);
    }
  }
  return groups;
}

export const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

export const mean = (values: readonly number[]): number => sum(values) / values.length;

/** With linear interpolation between the two nearest values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const [low = Number.NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at - Math.floor(at));
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export function covariance(x: readonly number[], y: readonly number[]): number {
  const [meanX, meanY] = [mean(x), mean(y)];
  return sum(x.map((value, at) => (value - meanX) * ((y[at] ?? Number.NaN) - meanY))) / (x.length - 1);
}

export const deviation = (values: readonly number[]): number => Math.sqrt(covariance(values, values));

export const correlation = (x: readonly number[], y: readonly number[]): number =>
  covariance(x, y) / deviation(x) / deviation(y);

/** Of the least squares line of y on x. */
export const slope = (x: readonly number[], y: readonly number[]): number => covariance(x, y) / covariance(x, x);

/** Coefficient of x in the least squares plane of y on x and z (Frisch, Waugh and Lovell). */
export function partialSlope(x: readonly number[], z: readonly number[], y: readonly number[]): number {
  const onZ = slope(z, x);
  return slope(
    x.map((value, at) => value - onZ * (z[at] ?? Number.NaN)),
    y,
  );
}

/** The items with the highest scores, best first. Throws if an equal score makes the choice open. */
export function best<T>(items: readonly T[], score: (item: T) => number, count = 1): T[] {
  const sorted = items.toSorted((a, b) => score(b) - score(a));
  const scores = sorted.slice(0, count + 1).map(score);
  if (scores.some((value, at) => at > 0 && !(value < (scores[at - 1] ?? Number.NaN)))) {
    throw new Error(`The question has no closed answer: scores are ${scores.join(', ')}.`);
  }
  return sorted.slice(0, count);
}
