/** `install` and `uninstall`: registering the bridge in MCP clients. */
import { Argument, InvalidArgumentError, Option, type Command as Program } from 'commander';
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { CLIENT_IDS, type ClientId } from '../../edges/clients/client-ids.ts';
import {
  action,
  choice,
  type Field,
  flag,
  json,
  type LineOf,
  option,
  type Single,
} from '../../edges/terminal/define.ts';

const SCOPES = ['user', 'project'] as const;

const common = () => ({
  clients: clients(),
  scope: choice('--scope <scope>', 'user, or project for the current folder', SCOPES, 'user'),
  isDryRun: flag('--dry-run', 'show the changes without writing them'),
  isJson: json(),
});

export const INSTALL = {
  command: 'install',
  action: () =>
    action(
      'Register the bridge in the configuration of MCP clients.',
      {
        ...common(),
        isImport: imports(),
        isGlobal: flag(
          '--global',
          'install this package globally with npm and register that copy, which needs no network to start',
        ),
        startCommand: option('--command <words>', 'register this command instead'),
        variables: variables(),
        isPrint: flag('--print', 'print the entry and change nothing'),
      },
      {
        summary: 'register the bridge in MCP clients',
        notes: 'Comments and the order of the file are preserved, and a backup is kept next to it.',
        refine: explainMissingClient,
        check({ clients: ids, isGlobal, startCommand }) {
          if (startCommand !== undefined && isGlobal) {
            throw new BridgeError('USAGE_INVALID', '--command and --global cannot be used together', {
              hint: 'Leave one of them out: --global already chooses the command.',
            });
          }
          return refuseUnknown(ids);
        },
      },
    ),
} as const satisfies Single;

export const UNINSTALL = {
  command: 'uninstall',
  action: () =>
    action(
      'Remove the bridge from the configuration of MCP clients, and move back what install --import moved.',
      common(),
      {
        summary: 'remove the bridge from MCP clients',
        refine: explainMissingClient,
        check: ({ clients: ids }) => refuseUnknown(ids),
      },
    ),
} as const satisfies Single;

export type InstallLine = LineOf<typeof INSTALL>;
export type InstallCommand = InstallLine | LineOf<typeof UNINSTALL>;

/** Without duplicates, in any case: people capitalize names of programs. The check of the action refuses unknown ones. */
function clients(): Field<readonly ClientId[]> {
  const usage = new Argument('<client...>', 'the clients')
    .choices(CLIENT_IDS)
    .argParser((name, before?: readonly string[]) => [...new Set([...(before ?? []), name.toLowerCase()])]);
  return { usage, read: (given) => given as readonly ClientId[] };
}

async function refuseUnknown(ids: readonly ClientId[]): Promise<void> {
  const unknown = ids.find((id) => !CLIENT_IDS.includes(id));
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
}

/** Whether to move the client's other servers to the bridge; if undefined, a person at the terminal is asked. */
function imports(): Field<boolean | undefined> {
  return {
    usage: new Option('--import', "move the client's other servers to the bridge; uninstall moves them back"),
    opposite: new Option('--no-import', 'leave them in the client, and do not ask'),
    read: (given) => given as boolean | undefined,
  };
}

/** Variables for the entry. */
function variables(): Field<Readonly<Record<string, string>>> {
  const usage = new Option(
    '--env <NAME=VALUE>',
    'a setting or another variable for this client alone; can be repeated',
  ).argParser((text, before?: Readonly<Record<string, string>>) => {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw new InvalidArgumentError('It must be NAME=VALUE, such as MCP_BRIDGE_TIMEOUT=60s.');
    }
    return { ...before, [name]: value };
  });
  return { usage, read: (given = {}) => given as Readonly<Record<string, string>> };
}

function explainMissingClient(definition: Program): void {
  definition.exitOverride((error) => {
    throw error.code === 'commander.missingArgument'
      ? new BridgeError('USAGE_INVALID', 'no client was given', {
          hint: `Give one or more of: ${CLIENT_IDS.join(', ')}.`,
        })
      : error;
  });
}
