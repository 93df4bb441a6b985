/** When the process must end, and how long shutdown may take. Only `cli.ts` exits the process. */
import { constants } from 'node:os';
import { ERROR_CODES } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import type { ConfiguredServers } from '../configured/configured-servers.ts';

/** A client kills the bridge a few seconds after closing its stdin. Sandboxes end within 0.2 to 0.8 s (measured). */
const SHUTDOWN_LIMIT_MS = 2_500;

const ENDING_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export interface Ending {
  readonly reason: string;
  readonly exitCode: number;
}

export interface Lifecycle {
  /** Resolves with the first cause. */
  readonly ended: Promise<Ending>;
  /** Ends the process for a reason; only the first call counts. */
  end(ending: Ending): void;
}

/** Watches for signals and uncaught errors. */
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
  // A client may close stderr; lost log lines must not end the sessions.
  process.stderr.on('error', () => undefined);
  return { ended: promise, end: resolve };
}

/** Reads the server files, runs `answer` until it finishes or a signal arrives, and stops every server that was started. */
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

/** Waits for a clean shutdown, but not longer than a client does. Logs failures and never rejects. */
export async function closeInTime(
  close: () => Promise<void>,
  logger: Logger,
  limitMs: number = SHUTDOWN_LIMIT_MS,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      logger.info(`shutdown took longer than ${limitMs} ms; exiting, and the sandboxes end by themselves`);
      resolve();
    }, limitMs);
  });
  const closed = close().catch((error: unknown) => logger.error(`shutdown failed: ${String(error)}`));
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
