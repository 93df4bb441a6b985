/** The sandboxes of every bridge on this machine, and how to end them. */
export { sessionsCommand } from './command.ts';
