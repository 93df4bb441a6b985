/** The definition of the whole command line, for commander. */
import { Command } from 'commander';
import { addNotes, COMMAND_NAME, type Settle } from '../terminal/define.ts';
import { COMMANDS, type CommandLine } from './commands.ts';
import { defineCompletion } from './completion.ts';
import { defineHelp } from './help/command-line.ts';
import { TOPIC_NAMES } from './help/topics.ts';

export interface ProgramEnds {
  readonly settle: Settle<CommandLine>;
  /** Receives help text. */
  readonly show: (text: string) => void;
}

export function createProgram({ settle, show }: ProgramEnds): Command {
  const program = new Command(COMMAND_NAME)
    .description('One MCP tool, run_python: a live, locked-down Python session that calls your MCP servers as code.')
    .version('', '-v, --version', 'show the version')
    // So that a subcommand can have an option of the same name.
    .enablePositionalOptions()
    .helpOption('-h, --help', 'show help')
    // The usage of each command shows its arguments; here they would leave no room for the descriptions.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({ writeOut: show, writeErr: () => undefined })
    .exitOverride();
  program
    .command('run')
    .summary('serve MCP over stdin and stdout (the default)')
    .description('Serve MCP over stdin and stdout. MCP clients start this command; it is the default.')
    .action(() => settle({ command: 'run' }));
  COMMANDS.forEach((command) => command.define(program, settle));
  defineCompletion(program, settle);
  defineHelp(program, settle);
  addNotes(
    program,
    `Settings are environment variables such as MCP_BRIDGE_TIMEOUT; \`help settings\` lists them.

Topics: ${TOPIC_NAMES.join(', ')}.
\`help TOPIC\` prints a topic, \`help IMAGE_MISSING\` explains an error code, \`help MCP_BRIDGE_TIMEOUT\` a setting.`,
  );
  return program;
}
