/** `sessions …`: the sandboxes of all bridges on this machine. */
import type { Command as Program } from 'commander';
import type { Command } from '../terminal/command.ts';
import { addNotes, jsonOption, type Settle } from '../terminal/define.ts';
import type { SessionsCommand } from './run.ts';

export const sessionsCommand: Command<SessionsCommand> = {
  names: ['sessions'],
  defaultActions: { sessions: 'list' },
  define,
  async run(line, host) {
    const { sessions } = await import('./run.ts');
    return sessions(line, { ...host, ...(await host.loadContext()) });
  },
};

function define(program: Program, settle: Settle<SessionsCommand>): void {
  const group = program
    .command('sessions')
    .summary('list and end the sandboxes of all bridges')
    .description(
      'List and end the sandboxes of all bridges on podman and docker. Without a subcommand: `sessions list`.',
    )
    .helpCommand(false);
  const list = group
    .command('list')
    .description('List the sandboxes of all bridges, including those that a killed bridge left behind.')
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
}
