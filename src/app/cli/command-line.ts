/**
 * Parses the command line; every mistake is `USAGE_INVALID`. Serving is by far the most common command, and it is recognized without
 * loading the parser library.
 */
import type { Command, CommanderError } from 'commander';
import { BridgeError } from '../../core/base/errors.ts';
import type { CommandLine } from './commands.ts';

/** The command line after `node cli.js`. Rejects with `USAGE_INVALID`. */
export async function parseCommandLine(argv: readonly string[]): Promise<CommandLine> {
  if (argv.length === 0 || (argv.length === 1 && (argv[0] === 'serve' || argv[0] === 'run'))) {
    return { command: 'run' };
  }
  const [{ createProgram }, { COMMANDS }, { defaultActions }] = await Promise.all([
    import('./program.ts'),
    import('./commands.ts'),
    import('../../edges/terminal/define.ts'),
  ]);
  const understood: CommandLine[] = [];
  const shown: string[] = [];
  const program = createProgram({ settle: (line) => understood.push(line), show: (text) => shown.push(text) });
  const words = withDefaultAction(argv, defaultActions(COMMANDS.map(({ table }) => table)));
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    return outcomeOf(error as CommanderError, shown.join(''), () => whereUsageIs(program, words));
  }
  return understood[0] ?? { command: 'help', text: program.helpInformation() };
}

/** Inserts the default subcommand of a group, such as `list` after `servers`. */
function withDefaultAction([first = '', ...rest]: readonly string[], actions: ReadonlyMap<string, string>): string[] {
  const action = actions.get(first);
  const isBare = rest[0] === undefined || (rest[0].startsWith('-') && rest[0] !== '--help' && rest[0] !== '-h');
  return action !== undefined && isBare ? [first, action, ...rest] : [first, ...rest];
}

/** The command that explains the one that was typed. */
async function whereUsageIs(program: Command, words: readonly string[]): Promise<string> {
  const { COMMAND } = await import('../../core/base/package.ts');
  const names: string[] = [];
  let known: Command | undefined = program;
  for (const word of words) {
    known = known.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (known === undefined) {
      break;
    }
    names.push(word);
  }
  return `For usage, run: ${[COMMAND, ...names, '--help'].join(' ')}`;
}

/** The library ends by throwing, even after it has printed help. */
async function outcomeOf(error: CommanderError, shown: string, hint: () => Promise<string>): Promise<CommandLine> {
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
      throw new BridgeError('USAGE_INVALID', inOurWords(error.message), { hint: await hint() });
  }
}

/**
 * The library's message in the form of all others, such as `error: unknown command 'exce'` with `(Did you mean exec?)` on a second
 * line, or `error: option '-t, --timeout <seconds>' argument 'soon' is invalid. It must be a number.`
 */
function inOurWords(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (?:one of )?(.*?)\?\)/, (_, names: string) => {
      return `. Did you mean ${names.replace(/[^\s,]+/g, "'$&'").replace(/, (?=\S+$)/, ' or ')}?`;
    })
    .replace(/^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*)' is invalid\. It must be/s, "$1 is '$2'; it must be")
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\. It must be/s, "<$2> is '$1'; it must be")
    .replaceAll('\n', ' ');
}
