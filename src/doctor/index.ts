/** Looks at everything a cell needs, and says what is wrong and what to do about it. */
export { doctorCommand } from './command.ts';
export { examineStateDirectory } from './state-directory.ts';
