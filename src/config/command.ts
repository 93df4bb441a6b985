/** `config …`: settings that are kept in a file of the state directory. */
import type { Command as Program } from 'commander';
import { BridgeError } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import type { Command } from '../terminal/command.ts';
import { addNotes, jsonOption, type Settle } from '../terminal/define.ts';
import type { ConfigCommand, ListClients } from './run.ts';

/** @param listClients the clients in which the bridge is registered, whose variables win over the file. */
export function configCommand(listClients: ListClients): Command<ConfigCommand> {
  return {
    names: ['config'],
    defaultActions: { config: 'list' },
    define,
    async run(line, host) {
      const { manageSettings } = await import('./run.ts');
      return manageSettings(line, { ...host, listClients });
    },
  };
}

interface Flags {
  readonly all?: true;
  readonly json?: true;
}

function define(program: Program, settle: Settle<ConfigCommand>): void {
  const group = program
    .command('config')
    .summary('show and change settings')
    .description(
      'Show and change the settings that are kept in settings.json of the state directory. Without a subcommand: `config list`.',
    )
    .helpCommand(false);
  const settleWith = (line: Omit<ConfigCommand, 'command' | 'isJson'>, { json }: Flags): void =>
    settle({ command: 'config', isJson: json === true, ...line });
  const set = group
    .command('set')
    .description('Keep a setting.')
    .argument('<setting>', 'with or without MCP_BRIDGE_, such as timeout')
    .argument('<value>', 'its value, such as 60s')
    .addOption(jsonOption())
    .allowExcessArguments()
    .action((name: string, value: string, flags: Flags, { args }: Program) => {
      const [, ...words] = args;
      if (words.length > 1) {
        throw new BridgeError('USAGE_INVALID', `the value has ${words.length} words: ${words.join(' ')}`, {
          hint: `Write it as one word: ${COMMAND} config set ${name} ${words.join('')}; or quote it, if it has spaces.`,
        });
      }
      settleWith({ action: 'set', names: [name], value }, flags);
    });
  addNotes(
    set,
    'It applies in all clients, from the next start of the bridge. What the environment sets, such as "env" in the entry of a client, wins.',
  );
  group
    .command('get')
    .description('Print the value of a setting, as it is in this environment.')
    .argument('<setting>', 'with or without MCP_BRIDGE_')
    .addOption(jsonOption())
    .action((name: string, flags: Flags) => settleWith({ action: 'get', names: [name] }, flags));
  group
    .command('list')
    .description('List the settings that are set, and where.')
    .option('--all', 'also those that have their default value')
    .addOption(jsonOption())
    .action((flags: Flags) => settleWith({ action: 'list', names: [], isAll: flags.all === true }, flags));
  group
    .command('unset')
    .description('No longer keep settings, so that their defaults apply.')
    .argument('<setting...>', 'with or without MCP_BRIDGE_')
    .addOption(jsonOption())
    .action((names: readonly string[], flags: Flags) => settleWith({ action: 'unset', names }, flags));
}
