/**
 * Counters and gauges in the text format of Prometheus (exposition format 0.0.4). Written by hand: a page of code, where a client
 * library would add its own registry and defaults to the bundle. No metric names a principal, so that one cannot watch another.
 */

/** Values of the labels of one sample. */
type Labels = Readonly<Record<string, string>>;

interface Counter {
  readonly help: string;
  readonly samples: Map<string, number>;
}

/** One value that is read when the metrics are. */
export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly values: readonly { readonly labels?: Labels; readonly value: number }[];
}

/** A metric that a feature adds. */
export interface MoreMetric {
  /** Without the prefix. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Upper bounds of the buckets of a histogram, ascending. */
  readonly bounds: readonly number[];
}

/** The values of one metric for one set of labels. */
interface Distribution {
  sum: number;
  count: number;
  /** For each bound, how many values were at most that, but more than the bound before. */
  readonly buckets: number[];
}

const PREFIX = 'mcp_bridge_';
/** Sets of labels of one metric. Beyond this, the values of all further ones are `other`. Chosen: about ten times what is usual. */
const MAX_SAMPLES = 500;
/** The value of a label for all that are not shown by name. */
export const OTHER_LABEL = 'other';

const COUNTERS = {
  http_requests_total: 'Answered HTTP requests, by method and status.',
  http_refusals_total: 'Requests that were refused before MCP saw them, by reason.',
  cells_total: 'Cells that have ended, by status.',
  calls_total: 'Calls from code to servers that have ended, by outcome.',
} as const;
type CounterName = keyof typeof COUNTERS;

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export class Metrics {
  readonly #counters = new Map<CounterName, Counter>(
    Object.entries(COUNTERS).map(([name, help]) => [name as CounterName, { help, samples: new Map() }]),
  );

  readonly #more: ReadonlyMap<string, MoreMetric & { readonly samples: Map<string, Distribution> }>;

  constructor(more: readonly MoreMetric[] = []) {
    this.#more = new Map(more.map((metric) => [metric.name, { ...metric, samples: new Map() }]));
  }

  /** Adds a value to one of the metrics given to the constructor. */
  record(name: string, labels: Labels, value: number): void {
    const metric = this.#more.get(name);
    if (metric === undefined) {
      return;
    }
    const key = keyIn(metric.samples, labels);
    const sample = metric.samples.get(key) ?? { sum: 0, count: 0, buckets: metric.bounds.map(() => 0) };
    metric.samples.set(key, sample);
    sample.sum += value;
    sample.count += 1;
    const bucket = metric.bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) {
      sample.buckets[bucket] = (sample.buckets[bucket] ?? 0) + 1;
    }
  }

  count(name: CounterName, labels: Labels): void {
    const samples = this.#counters.get(name)?.samples;
    if (samples !== undefined) {
      const key = keyIn(samples, labels);
      samples.set(key, (samples.get(key) ?? 0) + 1);
    }
  }

  render(gauges: readonly Gauge[]): string {
    const counters = [...this.#counters].flatMap(([name, { help, samples }]) => [
      ...head(`${PREFIX}${name}`, help, 'counter'),
      ...[...samples].map(([labels, value]) => `${PREFIX}${name}${labels} ${value}`),
    ]);
    const read = gauges.flatMap(({ name, help, values }) => [
      ...head(`${PREFIX}${name}`, help, 'gauge'),
      ...values.map(({ labels = {}, value }) => `${PREFIX}${name}${renderLabels(labels)} ${value}`),
    ]);
    const more = [...this.#more.values()].flatMap(({ name, help, type, bounds, samples }) => [
      ...head(`${PREFIX}${name}`, help, type),
      ...[...samples].flatMap(([labels, sample]) =>
        type === 'histogram'
          ? renderHistogram(name, labels, bounds, sample)
          : `${PREFIX}${name}${labels} ${sample.sum}`,
      ),
    ]);
    return `${[...counters, ...read, ...more].join('\n')}\n`;
  }
}

/** Whoever chooses a value of a label must not be able to fill the memory, and what reads the metrics. */
function keyIn(samples: ReadonlyMap<string, unknown>, labels: Labels): string {
  const key = renderLabels(labels);
  const hasRoom = samples.has(key) || samples.size < MAX_SAMPLES;
  return hasRoom ? key : renderLabels(Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER_LABEL])));
}

/** Buckets are cumulative here. */
function renderHistogram(
  name: string,
  labels: string,
  bounds: readonly number[],
  { sum, count, buckets }: Distribution,
): string[] {
  const within = labels === '' ? '' : `${labels.slice(1, -1)},`;
  let total = 0;
  const lines = bounds.map((bound, index) => {
    total += buckets[index] ?? 0;
    return `${PREFIX}${name}_bucket{${within}le="${bound}"} ${total}`;
  });
  return [
    ...lines,
    `${PREFIX}${name}_bucket{${within}le="+Inf"} ${count}`,
    `${PREFIX}${name}_sum${labels} ${sum}`,
    `${PREFIX}${name}_count${labels} ${count}`,
  ];
}

function head(name: string, help: string, type: MoreMetric['type']): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function renderLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
