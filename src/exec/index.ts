/** One cell from the shell, on the same way as a client's call. */
export { execCommand } from './command.ts';
