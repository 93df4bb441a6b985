/** The commands `snippets` and `import`. */
import type { Command } from '../terminal/command.ts';
import { defineLanguages, type ImportCommand, type SnippetsCommand } from './command-line.ts';

export const snippetsCommand: Command<SnippetsCommand | ImportCommand> = {
  names: ['snippets', 'import'],
  defaultActions: { snippets: 'list' },
  define: defineLanguages,
  async run(line, host) {
    const options = { ...host, ...(await host.loadContext()) };
    return line.command === 'snippets'
      ? (await import('./run.ts')).manageSnippets(line, options)
      : (await import('./run-import.ts')).runImport(line, options);
  },
};
