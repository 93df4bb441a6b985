/** `config …`: settings that are kept in a file of the state directory. */
export { configCommand } from './command.ts';
