/**
 * What is ready before the first cell, because this client has used it lately in this folder, or a setting names it: servers that
 * are started, modules that sandboxes import, and shapes of results.
 */
export { createKeptShapes, type KeptShapes } from './kept-shapes.ts';
export { createModulesAhead, type ModulesAhead } from './modules-ahead.ts';
export { examinePrestart } from './names.ts';
export { createServersAhead, type ServersAhead } from './servers-ahead.ts';
