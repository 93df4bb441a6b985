import { parseCommandLine } from './app/cli/command-line.ts';
import type { CommandLine, FeatureLine } from './app/cli/commands.ts';
import type { TopicCommand } from './app/cli/help/command-line.ts';
import { whyNodeIsTooOld } from './app/cli/node-version.ts';
import type { Person } from './core/base/cell.ts';
import {
  BridgeError,
  ERROR_CODES,
  renderError,
  renderErrorReport,
  reportError,
  toBridgeError,
} from './core/base/errors.ts';
import { createLogger, escapeInLines } from './core/base/log.ts';
import { VERSION } from './core/base/version.ts';
import { wantsColors } from './edges/terminal/capabilities.ts';
import type { Command, CommandContext, CommandHost } from './edges/terminal/command.ts';
import type { Terminal } from './edges/terminal/terminal-person.ts';

/** The program: parses the command line, runs one command, and turns errors into exit codes. */

/**
 * Without a listener, Node opens its debugger on SIGUSR1. Any process of the same user could then control the bridge, including
 * code that has escaped from a sandbox. Windows has no such signal.
 */
function refuseDebugger(): void {
  if (process.platform !== 'win32') {
    process.on('SIGUSR1', () => undefined);
  }
}

async function main(): Promise<number> {
  const tooOld = whyNodeIsTooOld(process.versions.node);
  if (tooOld !== undefined) {
    throw tooOld;
  }
  const line = await parseCommandLine(argv);
  switch (line.command) {
    case 'help':
      process.stdout.write(line.text);
      return 0;
    case 'topic':
      process.stdout.write(await helpOn(line));
      return 0;
    case 'version':
      process.stdout.write(`${VERSION}\n`);
      return 0;
    case 'completion':
      process.stdout.write(line.script);
      return 0;
    default:
      return runCommand(line);
  }
}

async function helpOn(line: TopicCommand): Promise<string> {
  const { help } = await import('./app/cli/help/run.ts');
  const { columns, isTTY } = process.stdout;
  return help(line, isTTY ? { columns, hasColors: wantsColors(isTTY, process.env) } : undefined);
}

/** Loads a command's modules only when it runs, so `--version` does not load the MCP SDK. */
async function runCommand(
  line: Extract<CommandLine, { command: 'run' | 'serve-http' | 'complete' }> | FeatureLine,
): Promise<number> {
  if (line.command === 'run') {
    return run(await loadContext(process.env));
  }
  if (line.command === 'serve-http') {
    const { serveHttp } = await import('./app/bridge/serve-http.ts');
    return serveHttp(line, await loadContext(process.env));
  }
  if (line.command === 'complete') {
    const { complete } = await import('./app/cli/complete.ts');
    return complete(line, { ...(await loadContext(process.env, { isQuiet: true })), writeOut });
  }
  const { COMMANDS } = await import('./app/cli/commands.ts');
  const plugged = COMMANDS.find(({ table }) => table.command === line.command) as Command | undefined;
  if (plugged === undefined) {
    throw new BridgeError('INTERNAL', `no feature runs the command '${line.command}'`);
  }
  return plugged.run(line, commandHost());
}

async function loadContext(env: NodeJS.ProcessEnv, options?: { readonly isQuiet: boolean }): Promise<CommandContext> {
  return (await import('./app/bridge/context.ts')).loadContext(env, options);
}

function commandHost(): CommandHost {
  return {
    env: process.env,
    input: process.stdin,
    writeOut,
    writeError,
    hasColors: wantsColors(process.stdout.isTTY, process.env),
    isShown: process.stdout.isTTY,
    screenSize: () => process.stdout,
    isErrorShown: process.stderr.isTTY,
    terminal: findTerminal(),
    findPerson,
    endWhenUnread,
    loadContext: () => loadContext(process.env, { isQuiet: true }),
    createContext: async (env, stored) => (await import('./app/bridge/context.ts')).createContext(env, stored),
  };
}

/** For questions on stderr and answers on stdin. */
function findTerminal(): Terminal | undefined {
  const { stderr, stdin } = process;
  return stdin.isTTY && stderr.isTTY ? { input: stdin, output: stderr } : undefined;
}

/** The person who sees stdout and can answer on stdin. Pipes and scripts have none. */
async function findPerson(): Promise<Person | undefined> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) {
    return undefined;
  }
  const { createTerminalPerson } = await import('./edges/terminal/terminal-person.ts');
  return createTerminalPerson({ input: stdin, output: stdout });
}

/** Ends a command with endless output once the reader, such as `head`, closes stdout. */
function endWhenUnread(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') {
      process.exit(0);
    }
  });
}

/** For people who start the server by hand and would otherwise see it wait silently. */
async function terminalHint(): Promise<string> {
  const { COMMAND } = await import('./core/base/package.ts');
  return `This is an MCP server: it is waiting for a client on stdin. To register it in an MCP client, run:
  ${COMMAND} install CLIENT
For the other commands and the documentation, run: ${COMMAND} help
`;
}

async function run(context: CommandContext): Promise<number> {
  if (process.stdin.isTTY) {
    process.stderr.write(await terminalHint());
  }
  const { serve } = await import('./app/bridge/serve.ts');
  return serve({ ...context, input: process.stdin, output: process.stdout });
}

const writeOut = (text: string): boolean => process.stdout.write(text);
const writeError = (text: string): boolean => process.stderr.write(text);

/**
 * With `--json`, an error is printed as JSON on stdout. The raw arguments are searched for the flag, because parsing them may be what
 * failed. If serving fails, the same lines that `doctor` prints go to the client's log.
 */
async function report(thrown: unknown): Promise<number> {
  const error = toBridgeError(thrown);
  if (argv.includes('--json')) {
    process.stdout.write(renderErrorReport(reportError(error)));
  } else if (argv.length === 0 || ['run', 'serve'].includes(argv[0] ?? '')) {
    const { problemsOfSettings, renderLine } = await import('./edges/terminal/finding.ts');
    problemsOfSettings(error).forEach((finding) => createLogger('ERROR').error(renderLine(finding)));
  } else {
    // Part of the text may come from a server.
    process.stderr.write(`${escapeInLines(renderError(error))}\n`);
  }
  if (thrown instanceof Error && !(thrown instanceof BridgeError)) {
    process.stderr.write(`${thrown.stack}\n`);
  }
  return ERROR_CODES[error.code].exitCode;
}

/** EX_IOERR of sysexits.h. */
const OUTPUT_LOST = 74;

/** The exit code, unless the result could not be written. EPIPE is not an error: the reader closed stdout on purpose. */
function withLostOutput(exitCode: number): number {
  if (outputFault === undefined || outputFault.code === 'EPIPE') {
    return exitCode;
  }
  process.stderr.write(`could not write the result: ${outputFault.message}\n`);
  return exitCode === 0 ? OUTPUT_LOST : exitCode;
}

/** A client that reads gets all output; one that has stopped reading must not keep the process alive. */
const FLUSH_LIMIT_MS = 500;

const argv = process.argv.slice(2);
let outputFault: NodeJS.ErrnoException | undefined;

/** Runs the program, and ends the process with its exit code. */
export async function runCommandLine(): Promise<void> {
  process.stdout.on('error', (error) => {
    outputFault ??= error;
  });
  refuseDebugger();
  const exitCode = await main().catch(report);
  setTimeout(() => process.exit(exitCode), FLUSH_LIMIT_MS);
  process.stdout.write('', (error) => {
    outputFault ??= error ?? undefined;
    process.exit(withLostOutput(exitCode));
  });
}
