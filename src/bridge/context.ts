/** What every command that runs cells starts from: settings, a logger, and the way to a bridge. */

import { createLogger, type Logger } from '../base/log.ts';
import { refuseNestedBridge } from '../servers/self.ts';
import { describeUnknownVariables, loadSettings, type Settings } from '../settings/settings.ts';
import type { CreateBridge } from './bridge.ts';

export interface CommandContext {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly createBridge: CreateBridge;
}

/**
 * The context of an environment. Rejects with `CONFIG_INVALID`, also when this process is a server of another bridge;
 * misspelled settings are only warned about.
 */
export async function loadContext(env: NodeJS.ProcessEnv): Promise<CommandContext> {
  const context = createContext(env);
  for (const sentence of await describeUnknownVariables(env)) {
    context.logger.warning(sentence);
  }
  return context;
}

/** The same without a word. Throws `CONFIG_INVALID`. */
export function createContext(env: NodeJS.ProcessEnv): CommandContext {
  const settings = loadSettings(env);
  refuseNestedBridge(env, settings.allowSelfServer);
  return { settings, logger: createLogger(settings.logLevel), createBridge: loadBridge };
}

/** Loaded on demand: engines, upstreams and sessions are not needed to answer `tools/list`. */
const loadBridge: CreateBridge = async (settings, logger) => {
  const { createBridge } = await import('./bridge.ts');
  return createBridge(settings, logger);
};
