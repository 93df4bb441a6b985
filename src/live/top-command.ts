/** `sessions top`: what all bridges of the state directory do now. */
import type { Command as Program } from 'commander';
import type { Command } from '../terminal/command.ts';
import { addNotes, findGroup, jsonOption, type Settle } from '../terminal/define.ts';
import type { TopCommand } from './top.ts';

export const topCommand: Command<TopCommand> = {
  names: ['top'],
  define,
  async run(line, host) {
    host.endWhenUnread();
    const { top } = await import('./top.ts');
    return top(line, { ...host, ...(await host.loadContext()) });
  },
};

/** Also as a command of its own, as it was called before. */
function define(program: Program, settle: Settle<TopCommand>): void {
  defineTop(findGroup(program, 'sessions').command('top'), settle);
  defineTop(program.command('top', { hidden: true }), settle);
}

function defineTop(command: Program, settle: Settle<TopCommand>): void {
  command
    .summary('show what running bridges do')
    .description(
      'Show the sessions of all running bridges of this state directory, with the cells and calls that run now. In a terminal, the view is renewed every second.',
    )
    .option('--once', 'print it once')
    .addOption(jsonOption())
    .action(({ once, json }: { once?: true; json?: true }) =>
      settle({ command: 'top', isOnce: once === true, isJson: json === true }),
    );
  addNotes(
    command,
    'Keys: up and down choose a session, i interrupts its cell (variables are kept), e ends its sandbox, h saves it and ends its sandbox, q quits. ' +
      'Without a terminal, and with --json, it is printed once.',
  );
}
