/** Programs in other languages, each in a sandbox of its own. */
export { readLanguages } from './languages-file.ts';
export { programMethods } from './methods.ts';
export { runProgram } from './run-program.ts';
