/** Functions that code keeps for later sessions with `runtime.save_tool`, shared ones, and the command `tools`. */
export { createSavedTools, type SavedTools, type SavedToolsOptions, savedToolMethods } from './saved-tools.ts';
