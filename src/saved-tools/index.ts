/** Functions that code keeps for later sessions with `runtime.save_tool`, shared ones, and the command `tools`. */
export { toolsCommand } from './command.ts';
export { findFunction, listFunctionNames } from './find-function.ts';
export { createSavedTools, type SavedTools, type SavedToolsOptions, savedToolMethods } from './saved-tools.ts';
export { functionNamesIn, keepFunction, readStoredFunction, storedFunctions } from './stored.ts';
