/** Servers that are started before the first cell: those that this client has used lately in this folder, or named ones. */
export { examinePrestart } from './names.ts';
export { createServersAhead, type ServersAhead } from './servers-ahead.ts';
