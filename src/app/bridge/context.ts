/** Builds what every command starts with: settings, a logger, and functions that load servers, cells and calls. */
import { createLogger, silentLogger } from '../../core/base/log.ts';
import { refuseNestedBridge } from '../../edges/servers/self.ts';
import { hasUnknownVariables, loadSettings, stateDirOf } from '../../edges/settings/settings.ts';
import { readStoredSettings, type StoredSettings } from '../../edges/settings/stored-settings.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';

/**
 * The context of an environment, with the settings of the file in its state directory. Warns about misspelled ones. `isQuiet` is for
 * commands: a person at a terminal does not need log lines about servers starting. Rejects with `CONFIG_INVALID`, also if this process is a
 * server of another bridge.
 */
export async function loadContext(env: NodeJS.ProcessEnv, { isQuiet = false } = {}): Promise<CommandContext> {
  const stored = await readStoredSettings(stateDirOf(env));
  const quiet = { MCP_BRIDGE_LOG_LEVEL: 'WARNING' };
  const context = await createContextOrExplain(env, { ...stored, values: { ...(isQuiet && quiet), ...stored.values } });
  if (hasUnknownVariables(env, stored)) {
    const { describeUnknownVariables } = await import('../../edges/settings/inspect.ts');
    (await describeUnknownVariables(env, stored)).forEach((sentence) => context.logger.warning(sentence));
  }
  return context;
}

async function createContextOrExplain(env: NodeJS.ProcessEnv, stored: StoredSettings): Promise<CommandContext> {
  try {
    return createContext(env, stored);
  } catch (error) {
    // Not part of the start, because it looks for how this program was started.
    throw (await import('../../edges/settings/inspect.ts')).withCommandToCorrect(error);
  }
}

/** The same without warnings. Throws `CONFIG_INVALID`. Loads engines, servers and sessions only when they are needed. */
export function createContext(env: NodeJS.ProcessEnv, stored?: StoredSettings): CommandContext {
  const settings = loadSettings(env, stored);
  refuseNestedBridge(env, settings.allowSelfServer);
  const logger = createLogger(settings.logLevel, undefined, async (message) =>
    (await import('../../core/state/said-today.ts')).isDueToday(settings.stateDir, message),
  );
  return {
    settings,
    logger,
    createBridge: async (options) => (await import('./bridge.ts')).createBridge(settings, logger, options),
    openReplay: async (path) => (await import('./replay.ts')).openReplay(path, settings, logger),
    findFunction: async (name) => (await import('../../features/saved-tools/index.ts')).findFunction(name, settings),
    listFunctions: async () => (await import('../../features/saved-tools/index.ts')).listFunctionNames(settings),
    openQuestions: async () =>
      new (await import('../../features/waiting-questions/index.ts')).QuestionQueue(settings.stateDir, logger),
    openServers: async (options) =>
      (await import('./build-servers.ts')).createConfiguredServers(
        settings,
        options?.isSilent === true ? silentLogger : logger,
        options,
      ),
    callByPerson: async (call, servers, io) =>
      (await import('./call-by-person.ts')).callByPerson(call, servers, { ...io, settings, logger }),
    recordPackages: async (added) => (await import('./call-by-person.ts')).recordPackages(added, { settings, logger }),
    explainPackage: async (requirement, rules) => {
      const { packages: mode, preinstall = [] } = settings;
      return (await import('../../features/packages/index.ts')).explainPackage(requirement, {
        mode,
        preinstall,
        rules,
      });
    },
  };
}
