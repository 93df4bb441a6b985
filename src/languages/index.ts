/** Programs in other languages, and snippets: programs that people have stored. */
export { snippetsCommand } from './command.ts';
export { examineLanguages } from './doctor-check.ts';
export { readLanguages } from './languages-file.ts';
export { readLanguagesHere } from './languages-here.ts';
export { programMethods } from './methods.ts';
export { snippetResources } from './resources.ts';
export { runProgram } from './run-program.ts';
export { sharedSnippets } from './shared-snippets.ts';
export { Snippets } from './snippets.ts';
