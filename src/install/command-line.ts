/** `install` and `uninstall`: the registration in MCP clients. */
import { Argument, type Command, Option } from 'commander';
import { BridgeError } from '../base/errors.ts';
import { didYouMean } from '../base/suggest.ts';
import { CLIENT_IDS, type ClientId } from '../clients/table.ts';
import { addNotes, collect, jsonOption, type Settle } from '../terminal/define.ts';

const SCOPES = ['user', 'project'] as const;

export interface InstallCommand {
  readonly command: 'install' | 'uninstall';
  /** At least one, each once. */
  readonly clients: readonly ClientId[];
  readonly scope: (typeof SCOPES)[number];
  readonly isDryRun: boolean;
  /** Whether the client's own servers move to the bridge; undefined: a person at the terminal is asked. */
  readonly isImport: boolean | undefined;
  /** What the client runs, as it was typed; undefined: what started this program. */
  readonly startCommand: string | undefined;
  /** Whether npm installs this package globally first. */
  readonly isGlobal: boolean;
  readonly isPrint: boolean;
  readonly isJson: boolean;
}

interface Given {
  readonly scope: InstallCommand['scope'];
  readonly dryRun?: true;
  readonly import?: boolean;
  readonly command?: string;
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
          hint: 'Leave one of them out: --global registers the command that npm installs.',
        });
      }
      settle({
        command,
        clients: await readClients(names),
        scope: given.scope,
        isDryRun: given.dryRun === true,
        isImport: given.import,
        startCommand: given.command,
        isGlobal: given.global === true,
        isPrint: given.print === true,
        isJson: given.json === true,
      });
    };

  const install = defineOne(program, 'install')
    .summary('register this server in MCP clients')
    .description('Register this server in the configuration of MCP clients.')
    .option('--import', "move the client's own servers behind this one; uninstall puts them back")
    .option('--no-import', 'leave them, without asking')
    .option('--global', 'install this package globally with npm and register that copy, which starts without network')
    .option('--command <words>', 'register this command instead')
    .option('--print', 'print the entry and change nothing')
    .action(take('install'));
  addNotes(install, 'Comments and order in the file stay, and a copy of the old file is kept beside it.');
  defineOne(program, 'uninstall')
    .summary('remove it again')
    .description('Remove this server from the configuration of MCP clients, and put back what install --import moved.')
    .action(take('uninstall'));
}

function defineOne(program: Command, name: InstallCommand['command']): Command {
  const clients = new Argument('<client...>', 'which clients').choices(CLIENT_IDS).argParser(collect);
  return program
    .command(name)
    .addArgument(clients)
    .addOption(new Option('--scope <scope>', 'user, or project: the folder you are in').choices(SCOPES).default('user'))
    .option('--dry-run', 'show the change and write nothing')
    .addOption(jsonOption())
    .exitOverride((error) => {
      throw error.code === 'commander.missingArgument' ? noClient() : error;
    });
}

function noClient(): BridgeError {
  return new BridgeError('USAGE_INVALID', 'no client is named', {
    hint: `Name one or more of ${CLIENT_IDS.join(', ')}.`,
  });
}

/** The clients named, each once; people write names of programs with capitals. Rejects with `USAGE_INVALID`. */
async function readClients(names: readonly string[]): Promise<ClientId[]> {
  const ids = [...new Set(names.map((name) => name.toLowerCase()))];
  const unknown = ids.find((id) => !isClient(id));
  if (unknown !== undefined) {
    const guess = await didYouMean(unknown, CLIENT_IDS);
    throw new BridgeError(
      'USAGE_INVALID',
      `there is no client '${unknown}'; there are ${CLIENT_IDS.join(', ')}.${guess}`,
      {
        hint: 'Add --help to see what there is.',
      },
    );
  }
  return ids.filter(isClient);
}

function isClient(id: string): id is ClientId {
  return (CLIENT_IDS as readonly string[]).includes(id);
}
