/** Functions that code keeps for later sessions with `runtime.save_tool`. */
export { createSavedTools, savedToolMethods } from './saved-tools.ts';
