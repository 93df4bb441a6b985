/** When the process has to end, and how long its end may take. Nothing here ends the process: `cli.ts` does. */
import { constants } from 'node:os';
import { ERROR_CODES } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';

/** A client kills us some seconds after it closed stdin; sandboxes end in 0.2 to 0.8 s (measured). */
const SHUTDOWN_LIMIT_MS = 2_500;

const ENDING_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export interface Ending {
  readonly reason: string;
  readonly exitCode: number;
}

export interface Lifecycle {
  /** Resolves with the first cause. */
  readonly ended: Promise<Ending>;
  /** States a cause; only the first counts. */
  end(ending: Ending): void;
}

/** Watches signals and faults that nobody caught. */
export function watchProcess(logger: Logger): Lifecycle {
  const { promise, resolve } = newPromise<Ending>();
  const fail = (kind: string) => (fault: unknown) => {
    logger.error(`${kind}: ${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}`);
    resolve({ reason: kind, exitCode: ERROR_CODES.INTERNAL.exitCode });
  };
  for (const signal of ENDING_SIGNALS) {
    process.on(signal, () => resolve({ reason: signal, exitCode: 128 + constants.signals[signal] }));
  }
  process.on('uncaughtException', fail('uncaught exception'));
  process.on('unhandledRejection', fail('unhandled rejection'));
  // A client may close our stderr; lost log lines must not end the sessions.
  process.stderr.on('error', () => undefined);
  return { ended: promise, end: resolve };
}

/** Reads the server files, runs `answer` until it is done or a signal comes, and ends every server that was started. */
export async function runWithServers(
  servers: Pick<ConfiguredServers, 'pool' | 'known' | 'refresh'>,
  logger: Logger,
  answer: () => Promise<number>,
): Promise<number> {
  servers.refresh();
  await servers.known.ready();
  const lifecycle = watchProcess(logger);
  try {
    return await Promise.race([answer(), lifecycle.ended.then(({ exitCode }) => exitCode)]);
  } finally {
    await closeInTime(async () => {
      await servers.pool.close();
      await servers.known.close();
    }, logger);
  }
}

/** Waits for an orderly end, but never longer than a client does. Reports what went wrong, rejects never. */
export async function closeInTime(close: () => Promise<void>, logger: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      logger.warning(`The orderly end took more than ${SHUTDOWN_LIMIT_MS} ms; leaving the rest to the sandboxes.`);
      resolve();
    }, SHUTDOWN_LIMIT_MS);
  });
  const closed = close().catch((error: unknown) => logger.error(`The orderly end failed: ${String(error)}`));
  await Promise.race([closed, limit]);
  clearTimeout(timer);
}

function newPromise<Value>() {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
