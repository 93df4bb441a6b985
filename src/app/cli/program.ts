/** The definition of the whole command line, for commander. */
import { Command } from 'commander';
import { addNotes, COMMAND_NAME, define, duration, type Settle } from '../../edges/terminal/define.ts';
import { DEFAULT_ADDRESS, parseListenAddress } from '../../front/server/http/listen-address.ts';
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
  defineServe(program, settle);
  COMMANDS.forEach(({ table }) => define(program, table, settle as Settle<{ readonly command: string }>));
  defineCompletion(program, settle);
  defineHelp(program, settle);
  addNotes(
    program,
    `Settings such as MCP_BRIDGE_TIMEOUT are kept by \`config set\` or come from the environment; \`help settings\` lists them.

Topics: ${TOPIC_NAMES.join(', ')}.
\`help TOPIC\` prints a topic, \`help IMAGE_MISSING\` explains an error code, \`help MCP_BRIDGE_TIMEOUT\` a setting.`,
  );
  return program;
}

interface ServeFlags {
  readonly http?: true | string;
  readonly allowHost?: readonly string[];
  readonly drain?: number;
}

/** A proxy or a supervisor gives up after 30 s or more. Chosen. */
const DEFAULT_DRAIN_MS = 20_000;
const MAX_DRAIN_MS = 3_600_000;

function defineServe(program: Command, settle: Settle<CommandLine>): void {
  const { host, port } = DEFAULT_ADDRESS;
  const serve = program
    .command('serve')
    .alias('run')
    .summary('serve MCP over stdin and stdout (the default), or over HTTP')
    .description(
      'Serve MCP over stdin and stdout, which is what MCP clients start and the default, or over HTTP for several clients.',
    )
    .option('--http [address:port]', `listen for HTTP, by default on ${host}:${port}`)
    .option(
      '--allow-host <name>',
      'another host name under which clients reach it; may be repeated',
      (name, before?: readonly string[]) => [...(before ?? []), name],
    )
    .option(
      '--drain <duration>',
      'how long cells that run may take when the server is asked to end (default: 20s)',
      duration('a duration of at most 1h, such as 20s', 0, MAX_DRAIN_MS),
    )
    .action(({ http, allowHost = [], drain = DEFAULT_DRAIN_MS }: ServeFlags) => {
      if (http === undefined) {
        settle({ command: 'run' });
        return;
      }
      const address = http === true ? DEFAULT_ADDRESS : parseListenAddress(http);
      settle({ command: 'serve-http', address, hosts: allowHost, drainMs: drain });
    });
  addNotes(
    serve,
    'An address that other machines can reach, or --allow-host, requires a token: see `tokens add`. TLS is the task of a proxy; ' +
      '`help http` has an example. SIGTERM ends it when running cells are done.',
  );
}
