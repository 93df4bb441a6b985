/**
 * Traces and metrics: spans of cells, calls, requests and starts, as OpenTelemetry defines them, and values measured for it and for
 * Prometheus. The SDK is loaded only if the usual variables ask for it.
 */
export { withTraceIds } from './log.ts';
export { PROMETHEUS_METRICS, toPrometheus } from './measures.ts';
export {
  type BridgeTelemetry,
  createBridgeTelemetry,
  openTelemetry,
  type Telemetry,
  watchServers,
  withMeasure,
} from './open.ts';
