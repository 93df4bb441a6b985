/** Where measured values go: to OpenTelemetry, to the endpoint for Prometheus, or both. */
import type { Measure } from '../../core/base/measure.ts';
import { type Metrics, type MoreMetric, OTHER_LABEL } from '../../front/server/http/metrics.ts';
import { ATTRIBUTES, isKnownErrorType, MEASURES, type MeasureName } from './names.ts';

/** Adds a value to a counter, or to the distribution of a histogram. */
export type TypedMeasure = (name: MeasureName, ...measured: Tail<Parameters<Measure>>) => void;
type Tail<List extends readonly unknown[]> = List extends [unknown, ...infer Rest] ? Rest : never;

export function measureBoth(first: TypedMeasure, second: TypedMeasure): TypedMeasure {
  return (...measured) => {
    first(...measured);
    second(...measured);
  };
}

const PROMETHEUS_UNITS: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes' };

/** The measures as Prometheus names them, to be passed to `Metrics`. */
export const PROMETHEUS_METRICS: readonly MoreMetric[] = Object.entries(MEASURES).map(([name, definition]) => {
  const { kind, help } = definition;
  const bounds = 'bounds' in definition ? definition.bounds : [];
  return { name: prometheusName(name as MeasureName), type: kind === 'updown' ? 'gauge' : kind, help, bounds };
});

/** Attributes that name servers, tools or sessions are left out: see `MEASURES`. */
export function toPrometheus(metrics: Pick<Metrics, 'record'>): Measure {
  return (name, value, attributes = {}) => {
    const measured = name as MeasureName;
    const labels = MEASURES[measured].labels.flatMap((label) => {
      const labelled = attributes[label];
      // A server can answer with any number.
      const isKnown = label !== ATTRIBUTES.errorType || isKnownErrorType(String(labelled));
      return labelled === undefined ? [] : [[label.replaceAll('.', '_'), isKnown ? String(labelled) : OTHER_LABEL]];
    });
    metrics.record(prometheusName(measured), Object.fromEntries(labels), value);
  };
}

/** Without the prefix that all metrics of the endpoint have. */
function prometheusName(name: MeasureName): string {
  const { kind, unit } = MEASURES[name];
  const base = name.replace(/^mcp_bridge\./, '').replaceAll('.', '_');
  return `${base}${PROMETHEUS_UNITS[unit] ?? ''}${kind === 'counter' ? '_total' : ''}`;
}
