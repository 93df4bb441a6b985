/** Programs in other languages, and snippets: programs that people have stored. */
export { snippetsCommand } from './command.ts';
export { readLanguages } from './languages-file.ts';
export { snippetResources } from './resources.ts';
export { Snippets } from './snippets.ts';
