/** Builds what commands start from: settings, a logger, and the ways to servers, cells and calls. */
import { createLogger, silentLogger } from '../base/log.ts';
import { refuseNestedBridge } from '../servers/self.ts';
import { describeUnknownVariables, loadSettings } from '../settings/settings.ts';
import type { CommandContext } from '../terminal/command.ts';

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

/** The same without warnings. Throws `CONFIG_INVALID`. Engines, servers and sessions are loaded when they are needed. */
export function createContext(env: NodeJS.ProcessEnv): CommandContext {
  const settings = loadSettings(env);
  refuseNestedBridge(env, settings.allowSelfServer);
  const logger = createLogger(settings.logLevel);
  return {
    settings,
    logger,
    createBridge: async () => (await import('./bridge.ts')).createBridge(settings, logger),
    openServers: async (options) =>
      (await import('./configured-servers.ts')).createConfiguredServers(
        settings,
        options?.isSilent === true ? silentLogger : logger,
        options,
      ),
    callByPerson: async (call, servers, io) =>
      (await import('./call-by-person.ts')).callByPerson(call, servers, { ...io, settings, logger }),
  };
}
