/** `help`: of a command, or about an error. */
import type { Command } from 'commander';
import type { Settle } from './define.ts';

/** The page of an error is wanted. */
export interface ErrorCommand {
  readonly command: 'error';
  /** As typed. */
  readonly code: string;
}

/** In place of the library's own, which knows commands only. */
export function defineHelp(program: Command, settle: Settle<ErrorCommand>): void {
  program
    .helpCommand(false)
    .command('help')
    .summary('show help of a command, or of the code of an error')
    .description('Show help of a command, or what the code of an error means and what to do.')
    .argument('[topic...]', 'a command, or a code such as IMAGE_MISSING')
    .action((topic: readonly string[]) => {
      const command = find(program, topic);
      if (command !== undefined) {
        command.help();
      }
      if (topic.length > 1) {
        program.error(`error: unknown command '${topic.join(' ')}'`);
      }
      settle({ command: 'error', code: topic[0] ?? '' });
    });
}

function find(program: Command, topic: readonly string[]): Command | undefined {
  return topic.reduce<Command | undefined>(
    (command, word) => command?.commands.find((further) => further.name() === word),
    program,
  );
}
