/** Opens telemetry once for the process, and gives each bridge its part. */
import type { CellAnswer, CellRequest } from '../../core/base/cell.ts';
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import type { Measure } from '../../core/base/measure.ts';
import type { Watcher } from '../../core/calls/events.ts';
import type { TraceCall } from '../../core/calls/pipeline.ts';
import type { HandleCall } from '../../core/session/dispatch.ts';
import type { TraceStart } from '../../core/session/events.ts';
import type { ConfiguredServersOptions } from '../../edges/configured/configured-servers.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { ObserveCall } from '../../front/server/call-observer.ts';
import { CallTelemetry } from './calls.ts';
import { CellTelemetry, type TelemetryParts } from './cells.ts';
import { Later } from './later.ts';
import { measureBoth, type TypedMeasure } from './measures.ts';
import { ATTRIBUTES } from './names.ts';
import { createCallObserver } from './requests.ts';
import type { ReadTraceState } from './trace-fields.ts';
import { Tracing } from './tracing.ts';
import { createServerObserver } from './upstream.ts';
import { wantedSignals } from './wanted.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the process has. */
export interface Telemetry extends Omit<TelemetryParts, 'mask'> {
  readonly readState: ReadTraceState;
  /** Watches the calls of clients. */
  readonly observeCall: ObserveCall;
  /** Sends what has not been sent, but waits at most 500 ms. Never rejects. */
  flush(): Promise<void>;
}

/** A client kills a bridge that does not end in time, and a collector may be dead. */
const FLUSH_LIMIT_MS = 500;

let opened: Promise<Telemetry | undefined> | undefined;

/** Undefined if no variable asks for it. The same for the whole process. Never rejects. */
export function openTelemetry(
  env: Environment,
  { otelContent }: Pick<Settings, 'otelContent'>,
  logger: Logger,
): Promise<Telemetry | undefined> {
  opened ??= open(env, otelContent, logger);
  return opened;
}

async function open(env: Environment, showsContent: boolean, logger: Logger): Promise<Telemetry | undefined> {
  const wanted = wantedSignals(env);
  wanted?.unsupported.forEach((sentence) => logger.warning(sentence));
  if (wanted === undefined || !(wanted.traces || wanted.metrics)) {
    return undefined;
  }
  try {
    const { startSdk } = await import('./sdk.ts');
    const later = new Later((error) => logger.debug(`OpenTelemetry: ${messageOf(error)}`));
    const sdk = startSdk(env, wanted, { later, logger });
    return assemble({
      tracing: sdk.spans && new Tracing(sdk.spans, { later, showsContent }),
      measure: sdk.measure ?? noMeasure,
      defer: (work) => later.do(work),
      readState: sdk.readState,
      flush: () => withinLimit(sdk.flush()),
    });
  } catch (error) {
    logger.warning(`OpenTelemetry cannot be started, so there is no telemetry: ${String(error)}`);
    return undefined;
  }
}

function assemble(parts: Omit<Telemetry, 'observeCall'>): Telemetry {
  return { ...parts, observeCall: createCallObserver(parts) };
}

const noMeasure: TypedMeasure = () => undefined;
const NO_STATE = { set: () => NO_STATE, unset: () => NO_STATE, get: () => undefined, serialize: () => '' };
/** Only spans have a state. */
const NOTHING = {
  tracing: undefined,
  measure: noMeasure,
  // Values are measured at once, so that nothing has to be flushed.
  defer: (work: () => void) => work(),
  readState: () => NO_STATE,
  flush: async () => undefined,
};

/** The same telemetry with one more place for measured values; made if there is none. */
export function withMeasure(telemetry: Telemetry | undefined, more: Measure): Telemetry {
  const { measure, ...others } = telemetry ?? NOTHING;
  return assemble({ ...others, measure: measureBoth(measure, more) });
}

/** The part of one bridge. */
export interface BridgeTelemetry {
  readonly watches: readonly Watcher[];
  /** What a call, or the start of a sandbox, does belongs to its span. */
  readonly traceCall: TraceCall | undefined;
  readonly traceStart: TraceStart;
  /** Runs a cell with what it waits for. */
  runCell(request: CellRequest, run: () => Promise<CellAnswer>): Promise<CellAnswer>;
  /** Makes calls from sandboxes part of their cell. */
  within(handle: HandleCall): HandleCall;
}

/** What a bridge needs for the connections to its servers. */
export function watchServers(telemetry: Telemetry): Pick<ConfiguredServersOptions, 'observe' | 'onCacheLookup'> {
  return {
    observe: createServerObserver(telemetry),
    onCacheLookup: (isHit) =>
      telemetry.measure('mcp_bridge.cache.lookups', 1, {
        [ATTRIBUTES.cache]: 'tools',
        [ATTRIBUTES.found]: isHit ? 'hit' : 'miss',
      }),
  };
}

/** @param mask masks the secrets of servers in the texts of spans. */
export function createBridgeTelemetry(telemetry: Telemetry, mask: (text: string) => string): BridgeTelemetry {
  const parts = { ...telemetry, mask };
  const cells = new CellTelemetry(parts);
  const calls = new CallTelemetry(parts);
  return {
    watches: [cells.watch, calls.watch],
    traceCall: calls.traceCall,
    traceStart: (run, start) => cells.traceStart(run, start),
    runCell: (...given) => cells.runCell(...given),
    within: (handle) => cells.within(handle),
  };
}

async function withinLimit(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FLUSH_LIMIT_MS);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
