/** Log lines of a cell that runs have the ids of its trace, so that a person finds one by the other. */
import type { Logger } from '../base/log.ts';
import type { Tracing } from './tracing.ts';

export function withTraceIds(logger: Logger, tracing: Tracing | undefined): Logger {
  if (tracing === undefined) {
    return logger;
  }
  const at =
    (level: keyof Logger) =>
    (message: string): void => {
      const work = tracing.current;
      const ids = work === undefined || work.isOver ? undefined : work.span.spanContext();
      logger[level](ids === undefined ? message : `${message} trace_id=${ids.traceId} span_id=${ids.spanId}`);
    };
  return { debug: at('debug'), info: at('info'), warning: at('warning'), error: at('error') };
}
