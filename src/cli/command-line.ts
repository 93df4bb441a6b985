/**
 * What the user typed, as data; every mistake is `USAGE_INVALID`. Serving, which happens hundreds of times as often as anything
 * else, is recognised without the library that reads the rest.
 */
import type { CommanderError } from 'commander';
import type { AuditCommand } from '../audit/command-line.ts';
import { BridgeError } from '../base/errors.ts';
import type { DoctorCommand } from '../doctor/command-line.ts';
import type { ExecCommand } from '../exec/command-line.ts';
import type { ImageCommand } from '../images/command-line.ts';
import type { InstallCommand } from '../install/command-line.ts';
import type { ServersCommand } from '../manage-servers/command-line.ts';
import type { EditServersCommand } from '../manage-servers/edit-command-line.ts';
import type { PolicyCommand } from '../policy/command-line.ts';
import type { SessionsCommand } from '../session-list/command-line.ts';
import type { CompleteCommand, CompletionCommand } from './completion.ts';
import type { TopicCommand } from './help/define.ts';

export type CommandLine =
  | { readonly command: 'run' }
  | { readonly command: 'version' }
  /** The help of a command, asked for as `--help` or `help`. */
  | { readonly command: 'help'; readonly text: string }
  | TopicCommand
  | ExecCommand
  | ServersCommand
  | EditServersCommand
  | PolicyCommand
  | InstallCommand
  | DoctorCommand
  | SessionsCommand
  | ImageCommand
  | AuditCommand
  | CompletionCommand
  | CompleteCommand;

/** What a group does without a subcommand. */
const DEFAULT_ACTIONS: Readonly<Record<string, string>> = {
  servers: 'list',
  audit: 'show',
  policy: 'show',
  sessions: 'list',
  image: 'list',
};

/** The command line after `node cli.js`. Rejects with `USAGE_INVALID`. */
export async function parseCommandLine(argv: readonly string[]): Promise<CommandLine> {
  if (argv.length === 0 || (argv.length === 1 && argv[0] === 'run')) {
    return { command: 'run' };
  }
  const { createProgram } = await import('./program.ts');
  const understood: CommandLine[] = [];
  const shown: string[] = [];
  const program = createProgram({ settle: (line) => understood.push(line), show: (text) => shown.push(text) });
  try {
    await program.parseAsync(withDefaultAction(argv), { from: 'user' });
  } catch (error) {
    return outcomeOf(error as CommanderError, shown.join(''));
  }
  return understood[0] ?? { command: 'help', text: program.helpInformation() };
}

function withDefaultAction([first = '', ...rest]: readonly string[]): string[] {
  const action = Object.hasOwn(DEFAULT_ACTIONS, first) ? DEFAULT_ACTIONS[first] : undefined;
  const isBare = rest[0] === undefined || (rest[0].startsWith('-') && rest[0] !== '--help' && rest[0] !== '-h');
  return action !== undefined && isBare ? [first, action, ...rest] : [first, ...rest];
}

/** The library ends by throwing, also after it has shown help. */
function outcomeOf(error: CommanderError, shown: string): CommandLine {
  switch (error.code) {
    case 'commander.version':
      return { command: 'version' };
    case 'commander.help':
    case 'commander.helpDisplayed':
      return { command: 'help', text: shown };
    default:
      if (!error.code?.startsWith('commander.')) {
        throw error;
      }
      // `error: unknown command 'exce'`, and on a line of its own `(Did you mean exec?)`.
      throw new BridgeError('USAGE_INVALID', error.message.replace(/^error: /, '').replaceAll('\n', ' '), {
        hint: 'Add --help to see what there is.',
      });
  }
}
