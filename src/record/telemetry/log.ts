/** Log lines of a cell that runs have the ids of its trace, so that a person finds one by the other. */
import { LOG_LEVELS, type Logger, type LogLevel } from '../../core/base/log.ts';
import type { Tracing } from './tracing.ts';

/** @param level the lowest that `logger` writes; for others nothing is looked up. */
export function withTraceIds(logger: Logger, tracing: Tracing | undefined, level: LogLevel): Logger {
  if (tracing === undefined) {
    return logger;
  }
  const at = (name: keyof Logger): Logger[keyof Logger] => {
    const isWritten = LOG_LEVELS.findIndex((one) => one.toLowerCase() === name) >= LOG_LEVELS.indexOf(level);
    return isWritten ? (message) => logger[name](withIds(message, tracing)) : logger[name];
  };
  return { debug: at('debug'), info: at('info'), warning: at('warning'), error: at('error'), daily: logger.daily };
}

function withIds(message: string, { current }: Tracing): string {
  return current === undefined || current.isOver
    ? message
    : `${message} trace_id=${current.context.traceId} span_id=${current.context.spanId}`;
}
