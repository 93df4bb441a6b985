/** Which variables ask for telemetry. Without one, nothing of OpenTelemetry is loaded. */
import { describe, expect, it } from 'vitest';
import { wantedSignals } from '../../../src/record/telemetry/wanted.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

describe('what is sent', () => {
  it.each([
    ['both with an address', ENDPOINT, { traces: true, metrics: true }],
    [
      'traces with their address',
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://h/' },
      { traces: true, metrics: false },
    ],
    ['metrics with theirs', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://h/' }, { traces: false, metrics: true }],
    ['traces by their exporter', { OTEL_TRACES_EXPORTER: 'otlp' }, { traces: true, metrics: false }],
    ['all but what is turned off', { ...ENDPOINT, OTEL_METRICS_EXPORTER: 'none' }, { traces: true, metrics: false }],
    [
      'if an exporter is empty, as if it was unset',
      { ...ENDPOINT, OTEL_TRACES_EXPORTER: '' },
      { traces: true, metrics: true },
    ],
    ['if it is not disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'false' }, { traces: true, metrics: true }],
  ])('%s', (_name, env, wanted) => {
    expect(wantedSignals(env)).toEqual({ ...wanted, unsupported: [] });
  });

  it.each([
    ['without a variable', {}],
    ['with an empty address', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
    ['if it is disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
    ['if all is turned off', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }],
    ['with a name alone', { OTEL_SERVICE_NAME: 'bridge' }],
  ])('nothing %s', (_name, env) => {
    expect(wantedSignals(env)).toBeUndefined();
  });
});

it('what is not supported is reported', () => {
  expect(wantedSignals({ OTEL_TRACES_EXPORTER: 'console' })).toEqual({
    traces: false,
    metrics: false,
    unsupported: ['OTEL_TRACES_EXPORTER: the bridge supports only otlp and none.'],
  });
  expect(wantedSignals({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })?.unsupported).toEqual([
    'OTEL_EXPORTER_OTLP_PROTOCOL: the bridge sends OTLP as http/protobuf only, and does so.',
  ]);
  expect(wantedSignals({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' })?.unsupported).toEqual([]);
});
