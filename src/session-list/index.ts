/** Lists and ends the sandboxes of all bridges on this machine. */
export { sessionsCommand } from './command.ts';
export { storedCheckpoints } from './stored.ts';
