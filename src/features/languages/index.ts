/** Programs in other languages, and snippets: programs that people have stored. */
import type { Command } from '../../edges/terminal/command.ts';
import { IMPORT, SNIPPETS } from './command.ts';

export { examineLanguages } from './doctor-check.ts';
export { readLanguages } from './languages-file.ts';
export { readLanguagesHere } from './languages-here.ts';
export { programMethods } from './methods.ts';
export { snippetResources } from './resources.ts';
export { runProgram } from './run-program.ts';
export { sharedSnippets } from './shared-snippets.ts';
export { Snippets } from './snippets.ts';

export const snippetsCommand: Command<typeof SNIPPETS> = {
  table: SNIPPETS,
  async run(line, host) {
    const { manageSnippets } = await import('./run.ts');
    return manageSnippets(line, { ...host, ...(await host.loadContext()) });
  },
};

export const importCommand: Command<typeof IMPORT> = {
  table: IMPORT,
  async run(line, host) {
    const { runImport } = await import('./run-import.ts');
    return runImport(line, { ...host, ...(await host.loadContext()) });
  },
};
