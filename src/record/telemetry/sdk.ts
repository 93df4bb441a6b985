/**
 * OpenTelemetry's SDK as the usual variables configure it. The exporters read `OTEL_EXPORTER_OTLP_*` themselves, and the resource reads
 * `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`; the rest is read here. Nothing is registered globally.
 */
import {
  type Attributes,
  type Context,
  createTraceState,
  DiagLogLevel,
  diag,
  INVALID_SPAN_CONTEXT,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  SamplingDecision,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../../core/base/log.ts';
import { VERSION } from '../../core/base/version.ts';
import type { Later } from './later.ts';
import type { TypedMeasure } from './measures.ts';
import { MEASURES, type MeasureName, SCOPE } from './names.ts';
import type { ReadTraceState } from './trace-fields.ts';
import type { SpanSource } from './tracing.ts';
import type { WantedSignals } from './wanted.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Sdk {
  /** Undefined if traces are not wanted. */
  readonly spans: SpanSource | undefined;
  /** Undefined if metrics are not wanted. */
  readonly measure: TypedMeasure | undefined;
  readonly readState: ReadTraceState;
  /** Sends what has not been sent. Never rejects; may take as long as the collector does. */
  flush(): Promise<void>;
}

interface SdkParts {
  readonly later: Later;
  readonly logger: Logger;
}

/** Does not connect: that happens in the background, and its failures are reported once. */
export function startSdk(env: Environment, wanted: WantedSignals, { later, logger }: SdkParts): Sdk {
  reportOnce(logger);
  const resource = createResource();
  const traces = wanted.traces ? createTraces(env, resource, logger) : undefined;
  const meters = wanted.metrics ? createMeters(env, resource) : undefined;
  return {
    spans: traces,
    measure: meters && measureWith(meters, later),
    readState: createTraceState,
    async flush() {
      later.finish();
      await Promise.allSettled([traces?.flush(), meters?.forceFlush()]);
    },
  };
}

/** A dead collector must not fill the log: the SDK reports every export that fails. */
function reportOnce(logger: Logger): void {
  let hasWarned = false;
  const report = (message: string): void => {
    const text = `OpenTelemetry: ${message.slice(0, MAX_REPORT_CHARS)}`;
    logger[hasWarned ? 'debug' : 'warning'](hasWarned ? text : `${text}${ONLY_ONCE}`);
    hasWarned = true;
  };
  const drop = (): void => undefined;
  const levels = { error: report, warn: report, info: drop, debug: drop, verbose: drop };
  diag.setLogger(levels, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** A message has the stack of its error. Chosen. */
const MAX_REPORT_CHARS = 300;
const ONLY_ONCE = ' (telemetry is lost meanwhile; further failures are logged at the level DEBUG only)';

function createResource(): Resource {
  const own = resourceFromAttributes({ 'service.name': SCOPE, 'service.version': VERSION });
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

function createTraces(env: Environment, resource: Resource, logger: Logger): SdkSpans {
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    ...numberOf(env, 'OTEL_BSP_MAX_QUEUE_SIZE', 'maxQueueSize'),
    ...numberOf(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'maxExportBatchSize'),
    ...numberOf(env, 'OTEL_BSP_SCHEDULE_DELAY', 'scheduledDelayMillis'),
    ...numberOf(env, 'OTEL_BSP_EXPORT_TIMEOUT', 'exportTimeoutMillis'),
  });
  return createSpanSource({ resource, sampler: samplerOf(env, logger), processor });
}

function createMeters(env: Environment, resource: Resource): MeterProvider {
  const interval = numberOf(env, 'OTEL_METRIC_EXPORT_INTERVAL', 'exportIntervalMillis');
  const reader = new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter(), ...interval });
  return new MeterProvider({ resource, readers: [reader] });
}

interface SpanParts {
  readonly resource?: Resource;
  readonly sampler: Sampler;
  readonly processor: SpanProcessor;
}

interface SdkSpans extends SpanSource {
  flush(): Promise<void>;
}

/**
 * The ids of a span and whether it is sampled are needed when the work begins. The SDK makes it when the work is over, because that takes
 * far longer; it then gets the same ids, and its sampler decides by the same values.
 */
export function createSpanSource({ processor, resource, sampler }: SpanParts): SdkSpans {
  const random = new RandomIdGenerator();
  let next: SpanContext = INVALID_SPAN_CONTEXT;
  const idGenerator = { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId };
  const tracers = new TracerProvider({
    ...(resource && { resource }),
    sampler,
    idGenerator,
    spanProcessors: [processor],
  });
  const tracer = tracers.getTracer(SCOPE, VERSION);
  const followsParent = sampler instanceof ParentBasedSampler;
  return {
    flush: () => tracers.forceFlush(),
    open(name, { kind, links, parent }) {
      const spanId = random.generateSpanId();
      if (followsParent && parent !== undefined) {
        // What the sampler would say. A call waits for this, because its server gets the ids.
        const { traceFlags, traceId, traceState } = parent;
        return withState({ traceId, spanId, traceFlags: traceFlags & TraceFlags.SAMPLED }, traceState);
      }
      const traceId = parent?.traceId ?? random.generateTraceId();
      const context = toContext(parent);
      const sampling = sampler.shouldSample(context, traceId, name, KINDS[kind], {}, toLinks(links));
      const isSampled = sampling.decision === SamplingDecision.RECORD_AND_SAMPLED;
      const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
      return withState({ traceId, spanId, traceFlags }, sampling.traceState ?? parent?.traceState);
    },
    record({ begun, context, kind, links, name, notes, parent }, { at, failure }) {
      next = context;
      const options = { kind: KINDS[kind], links: toLinks(links), startTime: begun };
      const span = tracer.startSpan(name, options, toContext(parent));
      notes.forEach((collect) => span.setAttributes(collect()));
      if (failure !== undefined) {
        const { attributes, message } = failure;
        span.setAttributes(attributes);
        span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
      }
      span.end(at);
    },
  };
}

function withState(context: SpanContext, traceState: SpanContext['traceState']): SpanContext {
  return traceState === undefined ? context : { ...context, traceState };
}

function toContext(parent: SpanContext | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
}

function toLinks(links: readonly SpanContext[]): Link[] {
  return links.length === 0 ? [] : links.map((context) => ({ context }));
}

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT };

type AddValue = (value: number, attributes: Attributes | undefined) => void;

function measureWith(meters: MeterProvider, later: Later): TypedMeasure {
  const meter = meters.getMeter(SCOPE, VERSION);
  const instruments = new Map<string, AddValue>(
    Object.entries(MEASURES).map(([name, definition]) => {
      const { help: description, kind, unit } = definition;
      const options = { description, unit };
      if (kind !== 'histogram') {
        const sum = kind === 'counter' ? meter.createCounter(name, options) : meter.createUpDownCounter(name, options);
        return [name, (value, attributes) => sum.add(value, attributes)];
      }
      const advice = { explicitBucketBoundaries: [...definition.bounds] };
      const histogram = meter.createHistogram(name, { ...options, advice });
      return [name, (value, attributes) => histogram.record(value, attributes)];
    }),
  );
  return (name: MeasureName, value, attributes) =>
    later.do(() => instruments.get(name)?.(value, attributes && defined(attributes)));
}

/** The SDK would send an attribute without a value. */
function defined(attributes: NonNullable<Parameters<TypedMeasure>[2]>): Attributes {
  if (!Object.values(attributes).includes(undefined)) {
    return attributes;
  }
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** The names of the specification. */
const SAMPLERS: Readonly<{ [name: string]: (ratio: number) => Sampler }> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
};
const USUAL_SAMPLER = 'parentbased_always_on';

function samplerOf(env: Environment, logger: Logger): Sampler {
  const name = env['OTEL_TRACES_SAMPLER']?.trim() || USUAL_SAMPLER;
  const make = Object.hasOwn(SAMPLERS, name) ? SAMPLERS[name] : undefined;
  const given = env['OTEL_TRACES_SAMPLER_ARG']?.trim() || '1';
  const ratio = Number(given);
  const isRatio = ratio >= 0 && ratio <= 1;
  if (make === undefined || !isRatio) {
    const [variable, used] =
      make === undefined ? ['OTEL_TRACES_SAMPLER', USUAL_SAMPLER] : ['OTEL_TRACES_SAMPLER_ARG', 'the ratio 1'];
    logger.warning(`${variable} has no valid value; ${used} is used.`);
  }
  return (make ?? (() => new ParentBasedSampler({ root: new AlwaysOnSampler() })))(isRatio ? ratio : 1);
}

/** An object with one key; empty unless the variable is a positive whole number. */
function numberOf<Key extends string>(
  env: Environment,
  variable: string,
  key: Key,
): Partial<{ [name in Key]: number }> {
  const text = env[variable]?.trim() ?? '';
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return value > 0 ? ({ [key]: value } as { [name in Key]: number }) : {};
}
