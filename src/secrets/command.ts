/** `secrets …`: stored secrets that server entries refer to. */
import { InvalidArgumentError, type Command as Program } from 'commander';
import type { Command } from '../terminal/command.ts';
import { addNotes, jsonOption, principalOption, type Settle } from '../terminal/define.ts';
import type { SecretsCommand } from './run.ts';
import { SECRET_NAME } from './secret-name.ts';

export const secretsCommand: Command<SecretsCommand> = {
  names: ['secrets'],
  defaultActions: { secrets: 'list' },
  define,
  async run(line, host) {
    const { manageSecrets } = await import('./run.ts');
    return manageSecrets(line, { ...host, ...(await host.loadContext()) });
  },
};

interface Flags {
  readonly for?: string;
  readonly json?: true;
}

function define(program: Program, settle: Settle<SecretsCommand>): void {
  const group = program
    .command('secrets')
    .summary('stored secrets that server entries refer to')
    .description(
      'Store secrets that entries of servers refer to as ${secret:NAME}. Without a subcommand: `secrets list`.',
    )
    .helpCommand(false);
  const settleWith = (action: SecretsCommand['action'], names: readonly string[], flags: Flags): void =>
    settle({ command: 'secrets', action, names, principal: flags.for, isJson: flags.json === true });
  const set = group
    .command('set')
    .description('Store a secret, or replace it. Its value is read from stdin; at a terminal, you are asked for it.')
    .argument('<name>', 'letters, digits, _, - and dots, such as GITHUB_TOKEN', readName)
    .addOption(principalOption('whose secret it is, for servers with "per": "user"'))
    .addOption(jsonOption())
    .action((name: string, flags: Flags) => settleWith('set', [name], flags));
  addNotes(set, 'Servers that run and refer to it are started again with the next cell.');
  group
    .command('list')
    .description('List the names of the stored secrets, without their values.')
    .addOption(principalOption('whose secrets'))
    .addOption(jsonOption())
    .action((flags: Flags) => settleWith('list', [], flags));
  group
    .command('remove')
    .description('Remove secrets.')
    .argument('<name...>', 'names of secrets')
    .addOption(principalOption('whose secrets'))
    .addOption(jsonOption())
    .action((names: readonly string[], flags: Flags) => settleWith('remove', names, flags));
}

function readName(text: string): string {
  if (!SECRET_NAME.test(text)) {
    throw new InvalidArgumentError(
      "It must be 1 to 64 letters, digits and '_', '-', '.', and begin with a letter or '_'.",
    );
  }
  return text;
}
