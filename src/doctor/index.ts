/** Checks everything that a cell needs, and reports what is wrong and how to fix it. */
export { doctorCommand } from './command.ts';
export { examineStateDirectory } from './machine.ts';
