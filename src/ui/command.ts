/** `ui`: serves a page that shows what agents do. */
import type { Command as Program } from 'commander';
import type { Command } from '../terminal/command.ts';
import { addNotes, type Settle, wholeNumber } from '../terminal/define.ts';
import type { UiParts } from './parts.ts';
import type { UiCommand } from './run.ts';

const MAX_PORT = 65_535;

/** @param loadParts what it shows of other features. */
export function uiCommand(loadParts: () => Promise<UiParts>): Command<UiCommand> {
  return {
    names: ['ui'],
    define,
    async run(line, host) {
      const { runUi } = await import('./run.ts');
      return runUi(line, await loadParts(), { ...host, ...(await host.loadContext()) });
    },
  };
}

function define(program: Program, settle: Settle<UiCommand>): void {
  const command = program
    .command('ui')
    .summary('show what agents do, on a page in the browser')
    .description(
      'Serve a page for you alone, on this machine: what runs now, questions that wait, the audit log, servers, savings, and what is stored.',
    )
    .option('--port <number>', 'port of 127.0.0.1 (default: any that is free)', wholeNumber('a port', 0, MAX_PORT))
    .option('--no-open', 'only print the address, and open no browser')
    .action(({ open, port = 0 }: { open: boolean; port?: number }) =>
      settle({ command: 'ui', port, opensBrowser: open }),
    );
  addNotes(
    command,
    'Whoever has the address can do what you can do there, so do not pass it on. It is valid until the command ends, with Ctrl+C.',
  );
}
