/** `sessions …`: the sandboxes of all bridges on this machine. */
import type { Command as Program } from 'commander';
import type { Command } from '../terminal/command.ts';
import { addNotes, jsonOption, type Settle } from '../terminal/define.ts';
import type { SessionsCommand } from './run.ts';
import type { SavedCommand } from './saved.ts';

type Line = SessionsCommand | SavedCommand;

export const sessionsCommand: Command<Line> = {
  names: ['sessions'],
  defaultActions: { sessions: 'list' },
  define,
  async run(line, host) {
    const options = { ...host, ...(await host.loadContext()) };
    return 'folder' in line
      ? (await import('./saved.ts')).manageSaved(line, options)
      : (await import('./run.ts')).sessions(line, options);
  },
};

function define(program: Program, settle: Settle<Line>): void {
  const group = program
    .command('sessions')
    .summary('show what runs, end and keep sessions')
    .description(
      'List and end the sandboxes of all bridges on podman and docker, and manage the sessions that are saved for later bridges. Without a subcommand: `sessions list`.',
    )
    .helpCommand(false);
  const list = group
    .command('list')
    .description(
      'List the sandboxes of all bridges, including those that a killed bridge left behind, and the saved sessions.',
    )
    .addOption(jsonOption())
    .action(({ json }: { json?: true }) =>
      settle({ command: 'sessions', action: 'list', names: [], isJson: json === true }),
    );
  addNotes(
    list,
    'Exit code: 69 if no engine answered, or the one in MCP_BRIDGE_RUNTIME did not. ' +
      'Sandboxes on bubblewrap and embedded are not listed: they are processes of their bridge and end with it.',
  );
  const kill = group
    .command('kill')
    .description('End sandboxes. The next answer of the session says that its state was lost.')
    .argument('<session...>', 'ids, prefixes of ids, or names of sessions')
    .addOption(jsonOption())
    .action((names: readonly string[], { json }: { json?: true }) =>
      settle({ command: 'sessions', action: 'kill', names, isJson: json === true }),
    );
  addNotes(kill, 'A name ends the sessions with that name in all bridges.');
  defineSaved(group, settle);
}

const FOLDER = 'the project folder in which the client used it; by default the current one';
const CLIENT = 'the client that used it, as `sessions list` shows it; needed if several did';

/** Commands for sessions that are saved. */
function defineSaved(group: Program, settle: Settle<Line>): void {
  const take =
    (action: SavedCommand['action']) =>
    (names: readonly string[], { client, folder, json }: SavedFlags, file?: string) =>
      settle({ command: 'sessions', action, names, file, client, folder, isJson: json === true });
  group
    .command('show')
    .description('Show what is known about a saved session.')
    .argument('<session>', 'name of the session')
    .option('--client <name>', CLIENT)
    .option('--folder <path>', FOLDER)
    .addOption(jsonOption())
    .action((name: string, flags: SavedFlags) => take('show')([name], flags));
  group
    .command('export')
    .description('Copy a saved session to a file.')
    .argument('<session>', 'name of the session')
    .argument('<file>', 'a file that does not exist yet')
    .option('--client <name>', CLIENT)
    .option('--folder <path>', FOLDER)
    .addOption(jsonOption())
    .action((name: string, file: string, flags: SavedFlags) => take('export')([name], flags, file));
  const bring = group
    .command('import')
    .description('Make a saved session of a file from `sessions export`.')
    .argument('<file>', 'the exported file')
    .option('--name <session>', 'name of the session; by default the one that it had')
    .option('--client <name>', 'the client that can continue it, as `sessions list` shows it; by default, `exec` can')
    .option('--folder <path>', 'the project folder in which it can continue it; by default the current one')
    .addOption(jsonOption())
    .action((file: string, { name, ...flags }: SavedFlags & { name?: string }) =>
      take('import')(name === undefined ? [] : [name], flags, file),
    );
  addNotes(
    bring,
    'When it is restored, code in it runs in the sandbox: import only what you or people you trust have exported.',
  );
  group
    .command('delete')
    .description('Delete saved sessions, with the checkpoints that they have named.')
    .argument('<session...>', 'names of sessions')
    .option('--client <name>', CLIENT)
    .option('--folder <path>', FOLDER)
    .addOption(jsonOption())
    .action((names: readonly string[], flags: SavedFlags) => take('delete')(names, flags));
}

interface SavedFlags {
  readonly client?: string;
  readonly folder?: string;
  readonly json?: true;
}
