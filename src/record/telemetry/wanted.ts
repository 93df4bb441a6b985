/** Which signals the usual variables of OpenTelemetry ask for. Loads nothing of it. */

type Environment = Readonly<Record<string, string | undefined>>;

export interface WantedSignals {
  readonly traces: boolean;
  readonly metrics: boolean;
  /** Values that the bridge does not support, one sentence each. */
  readonly unsupported: readonly string[];
}

const SIGNALS = ['traces', 'metrics'] as const;

/**
 * A signal is sent if its exporter is `otlp`, or if there is an address to send to and its exporter is not `none`. The standard default,
 * sending to this machine without being asked, would surprise everyone who has no collector.
 */
export function wantedSignals(env: Environment): WantedSignals | undefined {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') {
    return undefined;
  }
  const unsupported: string[] = [];
  const [traces = false, metrics = false] = SIGNALS.map((signal) => isWanted(signal, env, unsupported));
  if (!traces && !metrics && unsupported.length === 0) {
    return undefined;
  }
  const protocol = valueOf(env, 'OTEL_EXPORTER_OTLP_PROTOCOL');
  if ((traces || metrics) && protocol !== undefined && protocol !== 'http/protobuf') {
    unsupported.push('OTEL_EXPORTER_OTLP_PROTOCOL: the bridge sends OTLP as http/protobuf only, and does so.');
  }
  return { traces, metrics, unsupported };
}

function isWanted(signal: (typeof SIGNALS)[number], env: Environment, unsupported: string[]): boolean {
  const name = signal.toUpperCase();
  const variable = `OTEL_${name}_EXPORTER`;
  const exporters = valueOf(env, variable)
    ?.split(',')
    .map((one) => one.trim());
  const isSent = ['OTEL_EXPORTER_OTLP_ENDPOINT', `OTEL_EXPORTER_OTLP_${name}_ENDPOINT`].some(
    (address) => valueOf(env, address) !== undefined,
  );
  if (exporters?.some((one) => one !== 'otlp' && one !== 'none') === true) {
    unsupported.push(`${variable}: the bridge supports only otlp and none.`);
  }
  return exporters === undefined ? isSent : exporters.includes('otlp');
}

/** Undefined if it is empty, which the specification treats as unset. */
function valueOf(env: Environment, variable: string): string | undefined {
  const value = env[variable]?.trim();
  return value === '' ? undefined : value;
}
