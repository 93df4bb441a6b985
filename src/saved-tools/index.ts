/** Functions that code keeps for later sessions with `runtime.save_tool`. */
export { savedToolMethods } from './calls.ts';
export { createSavedTools } from './saved-tools.ts';
