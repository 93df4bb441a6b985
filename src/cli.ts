#!/usr/bin/env node
/** The command: reads the command line and the settings, calls one command, turns failures into exit codes. */
import { type CommandLine, parseCommandLine } from './commands/command-line.ts';
import { HELP, TERMINAL_HINT } from './commands/help.ts';
import { BridgeError, ERROR_CODES, renderError, toBridgeError } from './errors.ts';
import { VERSION } from './package.ts';

/**
 * Without a listener Node opens its debugger on SIGUSR1, which any process of the user could then drive: also code that
 * got out of a sandbox. Windows has no such signal.
 */
function refuseDebugger(): void {
  if (process.platform !== 'win32') {
    process.on('SIGUSR1', () => undefined);
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const commandLine = await parseCommandLine(argv);
  switch (commandLine.command) {
    case 'help':
      process.stdout.write(commandLine.code === undefined ? HELP : await helpForError(commandLine.code));
      return 0;
    case 'version':
      process.stdout.write(`${VERSION}\n`);
      return 0;
    default:
      return runCommand(commandLine);
  }
}

async function helpForError(code: string): Promise<string> {
  const { renderErrorHelp } = await import('./commands/error-help.ts');
  return renderErrorHelp(code);
}

/** Commands are loaded when they are called: `--version` does not pay for the MCP SDK. */
async function runCommand(commandLine: CommandLine): Promise<number> {
  const { loadContext } = await import('./commands/context.ts');
  const context = { ...(await loadContext(process.env)), input: process.stdin };
  const writeOut = (text: string) => process.stdout.write(text);
  const writeError = (text: string) => process.stderr.write(text);
  if (commandLine.command === 'exec') {
    const { exec } = await import('./commands/exec.ts');
    return exec(commandLine, { ...context, writeOut, writeError });
  }
  if (commandLine.command === 'servers') {
    const { servers } = await import('./commands/servers.ts');
    return servers(commandLine, { ...context, writeOut, writeError });
  }
  if (commandLine.command === 'doctor') {
    const { doctor } = await import('./commands/doctor.ts');
    return doctor(commandLine, { ...context, writeOut });
  }
  if (commandLine.command === 'install' || commandLine.command === 'uninstall') {
    const { install } = await import('./commands/install.ts');
    return install(commandLine, { ...context, writeOut, writeError });
  }
  if (process.stdin.isTTY) {
    process.stderr.write(TERMINAL_HINT);
  }
  const { serve } = await import('./commands/serve.ts');
  return serve({ ...context, output: process.stdout });
}

function report(thrown: unknown): number {
  const error = toBridgeError(thrown);
  const stack = thrown instanceof Error && !(thrown instanceof BridgeError) ? `${thrown.stack}\n` : '';
  process.stderr.write(`${renderError(error)}\n${stack}`);
  return ERROR_CODES[error.code].exitCode;
}

/** A client that has stopped reading must not keep the process alive; one that reads gets all there is. */
const FLUSH_LIMIT_MS = 500;

refuseDebugger();
const exitCode = await main(process.argv.slice(2)).catch(report);
setTimeout(() => process.exit(exitCode), FLUSH_LIMIT_MS);
process.stdout.write('', () => process.exit(exitCode));
