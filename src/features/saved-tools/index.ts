/** Functions that code keeps for later sessions with `runtime.save_tool`, shared ones, and the command `tools`. */
import type { Command } from '../../edges/terminal/command.ts';
import { TOOLS } from './command.ts';

export { findFunction, listFunctionNames } from './find-function.ts';
export { createSavedTools, type SavedTools, type SavedToolsOptions, savedToolMethods } from './saved-tools.ts';
export { functionNamesIn, keepFunction, readStoredFunction, storedFunctions } from './stored.ts';

export const toolsCommand: Command<typeof TOOLS> = {
  table: TOOLS,
  async run(line, host) {
    if (line.action === 'list' || line.action === 'show' || line.action === 'diff') {
      host.endWhenUnread();
    }
    const { tools } = await import('./run.ts');
    return tools(line, { ...host, ...(await host.loadContext()) });
  },
};
