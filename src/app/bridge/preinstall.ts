/** Fetches the packages of `MCP_BRIDGE_PREINSTALL` soon after the bridge has begun to serve: sessions then need not wait for them. */
import { toBridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import type { LazyBridge } from '../../core/session/lazy-bridge.ts';
import { problemOf, renderLine } from '../../edges/terminal/finding.ts';

/** By then, `initialize` and `tools/list` are usually answered: loading the bridge would delay them. Chosen. */
const DELAY_MS = 1_000;

/** Logs a failure; the first import that needs the packages reports it, too. Returns a function that ends this. */
export function startPreinstall(bridge: LazyBridge, preinstall: readonly string[], logger: Logger): () => void {
  let isStopped = false;
  const fetch = async (): Promise<void> => {
    try {
      await (await bridge.get()).preinstall();
      logger.info('The packages of MCP_BRIDGE_PREINSTALL are ready.');
    } catch (error) {
      if (!isStopped) {
        const { text, ...finding } = problemOf('engines', toBridgeError(error));
        const what = `the packages of MCP_BRIDGE_PREINSTALL (${preinstall.join(', ')}) could not be fetched: ${text}`;
        logger.error(renderLine({ ...finding, text: what }));
      }
    }
  };
  const timer = setTimeout(() => void fetch(), DELAY_MS);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
