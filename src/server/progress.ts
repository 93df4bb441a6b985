/** Progress of a cell as `notifications/progress` (MCP 2025-11-25 and 2026-07-28, basic/utilities/progress). */
import type { ServerContext } from '@modelcontextprotocol/server';
import type { CellProgress } from '../cell.ts';

/** Several clients give up after 60 s without a sign of life, and start anew at every notification. Chosen. */
const SILENCE_MS = 10_000;

export interface ProgressReporter {
  readonly report: (progress: CellProgress) => void;
  stop(): void;
}

/**
 * Passes progress to the client, and says how long the cell has taken when there was no news for 10 s. Undefined when the
 * client did not ask. `progress` only ever grows, as the specification demands; it is a percentage where one is known.
 */
export function createProgressReporter(context: ServerContext): ProgressReporter | undefined {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) {
    return undefined;
  }
  const begun = performance.now();
  let last: CellProgress = { message: 'working' };
  let value = 0;

  function send({ message, percent }: CellProgress): void {
    const isKnown = percent !== undefined && percent > value;
    value = isKnown ? percent : value + 0.001;
    const total = percent === undefined ? {} : { total: 100 };
    context.mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress: value, message, ...total } })
      // The connection has ended; its owner knows.
      .catch(() => undefined);
    silence.refresh();
  }

  const silence = setInterval(() => {
    const seconds = Math.round((performance.now() - begun) / 1000);
    send({ ...last, message: `${last.message} (${seconds} s)` });
  }, SILENCE_MS);
  silence.unref();

  return {
    report(progress) {
      last = progress;
      send(progress);
    },
    stop: () => clearInterval(silence),
  };
}
