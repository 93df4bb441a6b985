/** `servers approve`: shows how tools differ from their accepted definitions, and accepts them. */

import type { Command } from '../terminal/command.ts';
import { addNotes, findGroup, jsonOption, principalOption } from '../terminal/define.ts';
import type { AcceptCommand } from './run.ts';

interface Given {
  readonly for?: string;
  readonly json?: true;
  readonly dryRun?: true;
}

export const acceptCommand: Command<AcceptCommand> = {
  names: ['accept-tools'],
  define(program, settle) {
    const approve = findGroup(program, 'servers')
      .command('approve')
      .description('Start a server, show what changed in its tools, and accept the changes.')
      .argument('<server>', 'name of the server')
      .argument('[tool...]', 'tools to accept; by default, all that changed')
      .option('--dry-run', 'show the changes and accept nothing')
      .addOption(principalOption('whose server it is, if it has "per": "user"'))
      .addOption(jsonOption())
      .action((server: string, tools: readonly string[], { for: principal, json, dryRun }: Given) =>
        settle({ command: 'accept-tools', server, tools, principal, isJson: json === true, isDryRun: dryRun === true }),
      );
    addNotes(approve, 'Tools are compared with the definitions first seen or last accepted. See `help pins`.');
  },
  async run(line, host) {
    const { acceptTools } = await import('./run.ts');
    return acceptTools(line, { ...host, ...(await host.loadContext()) });
  },
};
