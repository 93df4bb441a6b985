#!/usr/bin/env node
import type { Person } from './base/cell.ts';
import { BridgeError, ERROR_CODES, renderError, renderErrorReport, reportError, toBridgeError } from './base/errors.ts';
import { createLogger, escapeInLines } from './base/log.ts';
import { VERSION } from './base/package.ts';
import { parseCommandLine } from './cli/command-line.ts';
import type { CommandLine, FeatureLine } from './cli/commands.ts';
import type { TopicCommand } from './cli/help/define.ts';
import { whyNodeIsTooOld } from './cli/node-version.ts';
import { TERMINAL_HINT } from './cli/terminal-hint.ts';
import { wantsColours } from './terminal/colours.ts';
import type { Command, CommandContext, CommandHost } from './terminal/command.ts';
import { problemsOfSettings, renderLine } from './terminal/finding.ts';
import type { Terminal } from './terminal/terminal-person.ts';

/** The command: reads the command line and the settings, calls one command, turns failures into exit codes. */

/**
 * Without a listener Node opens its debugger on SIGUSR1, which any process of the user could then drive: also code that
 * got out of a sandbox. Windows has no such signal.
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
  const { help } = await import('./cli/help/run.ts');
  const { columns, isTTY } = process.stdout;
  return help(line, isTTY ? { columns, hasColours: wantsColours(isTTY, process.env) } : undefined);
}

/** Commands are loaded when they are called: `--version` does not pay for the MCP SDK. */
async function runCommand(line: Extract<CommandLine, { command: 'run' | 'complete' }> | FeatureLine): Promise<number> {
  if (line.command === 'run') {
    return run(await loadContext(process.env));
  }
  if (line.command === 'complete') {
    const { complete } = await import('./cli/complete.ts');
    return complete(line, { ...(await loadContext(QUIET_ENV)), writeOut });
  }
  const { COMMANDS } = await import('./cli/commands.ts');
  const plugged = COMMANDS.find(({ names }: Command<FeatureLine>) => names.includes(line.command));
  if (plugged === undefined) {
    throw new BridgeError('INTERNAL', `no feature runs the command '${line.command}'`);
  }
  return (plugged as Command<FeatureLine>).run(line, commandHost());
}

/** Who reads an answer at a terminal need not be told that servers start for it. */
const QUIET_ENV = { MCP_BRIDGE_LOG_LEVEL: 'WARNING', ...process.env };

async function loadContext(env: NodeJS.ProcessEnv): Promise<CommandContext> {
  return (await import('./bridge/context.ts')).loadContext(env);
}

function commandHost(): CommandHost {
  return {
    env: process.env,
    input: process.stdin,
    writeOut,
    writeError,
    hasColours: wantsColours(process.stdout.isTTY, process.env),
    isShown: process.stdout.isTTY,
    terminal: findTerminal(),
    findPerson,
    endWhenUnread,
    loadContext: () => loadContext(QUIET_ENV),
    createContext: async (env) => (await import('./bridge/context.ts')).createContext(env),
  };
}

/** Where a person sees a question and can type an answer. */
function findTerminal(): Terminal | undefined {
  const { stderr, stdin } = process;
  return stdin.isTTY && stderr.isTTY ? { input: stdin, output: stderr } : undefined;
}

/** Who reads the changes and can be asked about them; a pipe or a script cannot. */
async function findPerson(): Promise<Person | undefined> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) {
    return undefined;
  }
  const { createTerminalPerson } = await import('./terminal/terminal-person.ts');
  return createTerminalPerson({ input: stdin, output: stdout });
}

/** A command that may go on for ever ends when whoever reads, `head` for one, has seen enough. */
function endWhenUnread(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') {
      process.exit(0);
    }
  });
}

async function run(context: CommandContext): Promise<number> {
  if (process.stdin.isTTY) {
    process.stderr.write(TERMINAL_HINT);
  }
  const { serve } = await import('./bridge/serve.ts');
  return serve({ ...context, input: process.stdin, output: process.stdout });
}

const writeOut = (text: string): boolean => process.stdout.write(text);
const writeError = (text: string): boolean => process.stderr.write(text);

/**
 * With `--json` also what failed is data on stdout; looked for as it was typed, because the line may be what failed. A server that
 * does not even start leaves the lines of `doctor` in the log of its client.
 */
function report(thrown: unknown): number {
  const error = toBridgeError(thrown);
  if (argv.includes('--json')) {
    process.stdout.write(renderErrorReport(reportError(error)));
  } else if (argv.length === 0 || argv[0] === 'run') {
    problemsOfSettings(error).forEach((finding) => createLogger('ERROR').error(renderLine(finding)));
  } else {
    // Part of it may be words of a server.
    process.stderr.write(`${escapeInLines(renderError(error))}\n`);
  }
  if (thrown instanceof Error && !(thrown instanceof BridgeError)) {
    process.stderr.write(`${thrown.stack}\n`);
  }
  return ERROR_CODES[error.code].exitCode;
}

/** EX_IOERR of sysexits.h. */
const OUTPUT_LOST = 74;

/** A result that did not arrive is no success; that a reader has seen enough is no fault. */
function withLostOutput(exitCode: number): number {
  if (outputFault === undefined || outputFault.code === 'EPIPE') {
    return exitCode;
  }
  process.stderr.write(`The result could not be written: ${outputFault.message}\n`);
  return exitCode === 0 ? OUTPUT_LOST : exitCode;
}

/** A client that has stopped reading must not keep the process alive; one that reads gets all there is. */
const FLUSH_LIMIT_MS = 500;

const argv = process.argv.slice(2);
let outputFault: NodeJS.ErrnoException | undefined;
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
