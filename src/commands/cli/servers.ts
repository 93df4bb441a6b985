/** `servers …`: what is configured, and which tools there are. */
import type { Command } from 'commander';
import { addNotes, jsonOption, type Settle, wholeNumber } from './define.ts';

export interface ServersCommand {
  readonly command: 'servers';
  readonly action: 'list' | 'show' | 'tools' | 'search' | 'refresh' | 'approve';
  /** Names of servers; the words of a search; a server and names of its tools. */
  readonly names: readonly string[];
  /** Hits of a search at most. */
  readonly limit: number;
  readonly isJson: boolean;
  /** Nothing is accepted. */
  readonly isDryRun: boolean;
}

interface Given {
  readonly limit?: number;
  readonly json?: true;
  readonly dryRun?: true;
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
    (names: readonly string[], { limit = DEFAULT_LIMIT, json, dryRun }: Given): void =>
      settle({ command: 'servers', action, names, limit, isJson: json === true, isDryRun: dryRun === true });
  const takeOne = (action: ServersCommand['action']) => {
    const takeNames = take(action);
    return (name: string, options: Given): void => takeNames([name], options);
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
  defineRefresh(group, take('refresh'));
  defineApprove(group, take('approve'));
}

type Take = (names: readonly string[], options: Given) => void;

function defineRefresh(group: Command, take: Take): void {
  const refresh = group
    .command('refresh')
    .description('Ask all servers, or those named, what they have now.')
    .argument('[server...]', 'their names')
    .addOption(jsonOption())
    .action(take);
  addNotes(refresh, 'Ends with 69 when a server did not start.');
}

function defineApprove(group: Command, take: Take): void {
  const approve = group
    .command('approve')
    .description('Show what changed in the tools of one server, and accept it; starts the server.')
    .argument('<server>', 'its name')
    .argument('[tool...]', 'the tools to accept; all that changed when left out')
    .option('--dry-run', 'show it, and accept nothing')
    .addOption(jsonOption())
    .action((server: string, tools: readonly string[], options: Given) => take([server, ...tools], options));
  addNotes(
    approve,
    'What a tool is compared with is what was first seen of it, or last accepted: see docs/security.md, Pins.',
  );
}
