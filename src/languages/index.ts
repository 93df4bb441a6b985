/** Programs in other languages, each in a sandbox of its own. */
export { examineLanguages } from './doctor-check.ts';
export { readLanguages } from './languages-file.ts';
export { programMethods } from './methods.ts';
export { runProgram } from './run-program.ts';
