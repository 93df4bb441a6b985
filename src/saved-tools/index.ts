/** Functions that code keeps for later sessions with `runtime.save_tool`. */
export { createSavedTools, type SavedTools, type SavedToolsOptions, savedToolMethods } from './saved-tools.ts';
