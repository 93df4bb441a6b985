/** `sessions …`: sandboxes of all bridges on this machine. */
import type { Command } from 'commander';
import { addNotes, jsonOption, type Settle } from '../terminal/define.ts';

export interface SessionsCommand {
  readonly command: 'sessions';
  readonly action: 'list' | 'kill';
  /** Ids, beginnings of ids, or names of sessions. */
  readonly names: readonly string[];
  readonly isJson: boolean;
}

export function defineSessions(program: Command, settle: Settle<SessionsCommand>): void {
  const group = program
    .command('sessions')
    .summary('list and end the sandboxes of all bridges')
    .description(
      'List and end the sandboxes of all bridges, on podman and docker. Without a subcommand: `sessions list`.',
    )
    .helpCommand(false);
  const list = group
    .command('list')
    .description('List the sandboxes of every bridge, including those that a killed bridge left behind.')
    .addOption(jsonOption())
    .action(({ json }: { json?: true }) =>
      settle({ command: 'sessions', action: 'list', names: [], isJson: json === true }),
    );
  addNotes(
    list,
    'Not listed: sandboxes on bubblewrap and embedded, which are processes of their bridge and end with it.',
  );
  const kill = group
    .command('kill')
    .description('End sandboxes. The next answer of the session says that its state was lost.')
    .argument('<session...>', 'ids, beginnings of ids, or names of sessions')
    .addOption(jsonOption())
    .action((names: readonly string[], { json }: { json?: true }) =>
      settle({ command: 'sessions', action: 'kill', names, isJson: json === true }),
    );
  addNotes(kill, 'A name ends the sessions of that name in every bridge.');
}
