/** `sessions …`: the sandboxes of all bridges on this machine, and the sessions that are saved. */
import { action, argument, type Group, type LineOf, option } from '../../edges/terminal/define.ts';

/** Which saved session. */
const chosen = () => ({
  client: option('--client <name>', 'the client that used it, as `sessions list` shows it; needed if several did'),
  folder: option('--folder <path>', 'the project folder in which the client used it; by default the current one'),
});

export const SESSIONS = {
  command: 'sessions',
  summary: 'show what runs, end and keep sessions',
  description:
    'List and end the sandboxes of all bridges on podman and docker, and manage the sessions that are saved for later bridges.',
  defaultAction: 'list',
  actions: () => ({
    list: action(
      'List the sandboxes of all bridges, including those that a killed bridge left behind, and the saved sessions.',
      {},
      {
        notes:
          'Exit code: 69 if no engine answered, or the one in MCP_BRIDGE_RUNTIME did not. ' +
          'Sandboxes on bubblewrap and embedded are not listed: they are processes of their bridge and end with it.',
      },
    ),
    kill: action(
      'End sandboxes. The next answer of the session says that its state was lost.',
      { names: argument('<session...>', 'ids, prefixes of ids, or names of sessions') },
      { notes: 'A name ends the sessions with that name in all bridges.' },
    ),
    show: action('Show what is known about a saved session.', {
      name: argument('<session>', 'name of the session'),
      ...chosen(),
    }),
    export: action('Copy a saved session to a file.', {
      name: argument('<session>', 'name of the session'),
      file: argument('<file>', 'a file that does not exist yet'),
      ...chosen(),
    }),
    import: action(
      'Make a saved session of a file from `sessions export`.',
      {
        file: argument('<file>', 'the exported file'),
        name: option('--name <session>', 'name of the session; by default the one that it had'),
        client: option(
          '--client <name>',
          'the client that can continue it, as `sessions list` shows it; by default, `exec` can',
        ),
        folder: option('--folder <path>', 'the project folder in which it can continue it; by default the current one'),
      },
      {
        notes:
          'When it is restored, code in it runs in the sandbox: import only what you or people you trust have exported.',
      },
    ),
    delete: action('Delete saved sessions, with the checkpoints that they have named.', {
      names: argument('<session...>', 'names of sessions'),
      ...chosen(),
    }),
  }),
} as const satisfies Group;

type Line = LineOf<typeof SESSIONS>;
/** About sandboxes. */
export type SessionsCommand = Extract<Line, { action: 'list' | 'kill' }>;
/** About saved sessions. */
export type SavedCommand = Exclude<Line, SessionsCommand>;

export function isSaved(line: Line): line is SavedCommand {
  return line.action !== 'list' && line.action !== 'kill';
}
