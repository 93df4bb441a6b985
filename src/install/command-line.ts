/** `install` and `uninstall`: registering the bridge in MCP clients. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { BridgeError } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import { didYouMean } from '../base/suggest.ts';
import { CLIENT_IDS, type ClientId } from '../clients/table.ts';
import { addNotes, collect, jsonOption, type Settle } from '../terminal/define.ts';

const SCOPES = ['user', 'project'] as const;

export interface InstallCommand {
  readonly command: 'install' | 'uninstall';
  /** At least one, without duplicates. */
  readonly clients: readonly ClientId[];
  readonly scope: (typeof SCOPES)[number];
  readonly isDryRun: boolean;
  /** Whether to move the client's other servers to the bridge; if undefined, a person at the terminal is asked. */
  readonly isImport: boolean | undefined;
  /** The command that the client runs, as typed; if undefined, the one that started this program. */
  readonly startCommand: string | undefined;
  /** Variables for the entry. */
  readonly variables: Readonly<Record<string, string>>;
  /** Whether to install this package globally with npm first. */
  readonly isGlobal: boolean;
  readonly isPrint: boolean;
  readonly isJson: boolean;
}

interface Given {
  readonly scope: InstallCommand['scope'];
  readonly dryRun?: true;
  readonly import?: boolean;
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly global?: true;
  readonly print?: true;
  readonly json?: true;
}

export function defineInstall(program: Command, settle: Settle<InstallCommand>): void {
  const take =
    (command: InstallCommand['command']) =>
    async (names: readonly string[], given: Given): Promise<void> => {
      if (given.command !== undefined && given.global === true) {
        throw new BridgeError('USAGE_INVALID', '--command and --global cannot be used together', {
          hint: 'Leave one of them out: --global already chooses the command.',
        });
      }
      settle({
        command,
        clients: await readClients(names),
        scope: given.scope,
        isDryRun: given.dryRun === true,
        isImport: given.import,
        startCommand: given.command,
        variables: given.env ?? {},
        isGlobal: given.global === true,
        isPrint: given.print === true,
        isJson: given.json === true,
      });
    };

  const install = defineOne(program, 'install')
    .summary('register the bridge in MCP clients')
    .description('Register the bridge in the configuration of MCP clients.')
    .option('--import', "move the client's other servers to the bridge; uninstall moves them back")
    .option('--no-import', 'leave them in the client, and do not ask')
    .option(
      '--global',
      'install this package globally with npm and register that copy, which needs no network to start',
    )
    .option('--command <words>', 'register this command instead')
    .option(
      '--env <NAME=VALUE>',
      'a setting or another variable for this client alone; can be repeated',
      collectVariable,
    )
    .option('--print', 'print the entry and change nothing')
    .action(take('install'));
  addNotes(install, 'Comments and the order of the file are preserved, and a backup is kept next to it.');
  defineOne(program, 'uninstall')
    .summary('remove the bridge from MCP clients')
    .description('Remove the bridge from the configuration of MCP clients, and move back what install --import moved.')
    .action(take('uninstall'));
}

function collectVariable(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('It must be NAME=VALUE, such as MCP_BRIDGE_TIMEOUT=60s.');
  }
  return { ...before, [name]: value };
}

function defineOne(program: Command, name: InstallCommand['command']): Command {
  const clients = new Argument('<client...>', 'the clients').choices(CLIENT_IDS).argParser(collect);
  return program
    .command(name)
    .addArgument(clients)
    .addOption(new Option('--scope <scope>', 'user, or project for the current folder').choices(SCOPES).default('user'))
    .option('--dry-run', 'show the changes without writing them')
    .addOption(jsonOption())
    .exitOverride((error) => {
      throw error.code === 'commander.missingArgument' ? noClient() : error;
    });
}

function noClient(): BridgeError {
  return new BridgeError('USAGE_INVALID', 'no client was given', {
    hint: `Give one or more of: ${CLIENT_IDS.join(', ')}.`,
  });
}

/** The client ids without duplicates, in any case: people capitalize names of programs. Rejects with `USAGE_INVALID`. */
async function readClients(names: readonly string[]): Promise<ClientId[]> {
  const ids = [...new Set(names.map((name) => name.toLowerCase()))];
  const unknown = ids.find((id) => !isClient(id));
  if (unknown !== undefined) {
    const guess = await didYouMean(unknown, CLIENT_IDS);
    throw new BridgeError(
      'USAGE_INVALID',
      `'${unknown}' is not a known client; known clients: ${CLIENT_IDS.join(', ')}.${guess}`,
      {
        hint: `For usage, run: ${COMMAND} install --help`,
      },
    );
  }
  return ids.filter(isClient);
}

function isClient(id: string): id is ClientId {
  return (CLIENT_IDS as readonly string[]).includes(id);
}
