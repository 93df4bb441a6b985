/** Runs one cell from the shell, in the same way as a client's call. */
export { execCommand } from './command.ts';
