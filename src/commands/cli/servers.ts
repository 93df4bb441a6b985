/** `servers …`: what is configured, and which tools there are. */
import type { Command } from 'commander';
import { addNotes, jsonOption, type Settle, wholeNumber } from './define.ts';

export interface ServersCommand {
  readonly command: 'servers';
  readonly action: 'list' | 'show' | 'tools' | 'search' | 'refresh';
  /** Names of servers; the words of a search. */
  readonly names: readonly string[];
  /** Hits of a search at most. */
  readonly limit: number;
  readonly isJson: boolean;
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1_000;

export function defineServers(program: Command, settle: Settle<ServersCommand>): void {
  const group = program
    .command('servers')
    .summary('show the configured servers and their tools')
    .description('Show the configured servers and their tools. Without a further word: `servers list`.')
    .helpCommand(false);

  const take =
    (action: ServersCommand['action']) =>
    (names: readonly string[], { limit = DEFAULT_LIMIT, json }: { limit?: number; json?: true }): void =>
      settle({ command: 'servers', action, names, limit, isJson: json === true });
  const takeOne = (action: ServersCommand['action']) => {
    const takeNames = take(action);
    return (name: string, options: { json?: true }): void => takeNames([name], options);
  };

  group
    .command('list')
    .description('List every configured server. Starts none.')
    .addOption(jsonOption())
    .action((options) => take('list')([], options));
  group
    .command('show')
    .description('Show all that is known of one server, secrets masked. Starts none.')
    .argument('<server>', 'its name')
    .addOption(jsonOption())
    .action(takeOne('show'));
  group
    .command('tools')
    .description('List the tools of one server; starts it when it was never asked.')
    .argument('<server>', 'its name')
    .addOption(jsonOption())
    .action(takeOne('tools'));
  group
    .command('search')
    .description('Find tools by words, over all servers; starts those that were never asked.')
    .argument('<words...>', 'what to look for')
    .option(
      '--limit <number>',
      `hits at most (default: ${DEFAULT_LIMIT})`,
      wholeNumber(`a whole number from 1 to ${MAX_LIMIT}`, 1, MAX_LIMIT),
    )
    .addOption(jsonOption())
    .action(take('search'));
  const refresh = group
    .command('refresh')
    .description('Ask all servers, or those named, what they have now.')
    .argument('[server...]', 'their names')
    .addOption(jsonOption())
    .action(take('refresh'));
  addNotes(refresh, 'Ends with 69 when a server did not start.');
}
