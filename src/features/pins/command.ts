/** `servers approve`: shows how tools differ from their accepted definitions, and accepts them. */
import { action, argument, flag, json, type LineOf, principal, type Single } from '../../edges/terminal/define.ts';

export const ACCEPT = {
  command: 'accept-tools',
  places: [['servers', 'approve']],
  action: () =>
    action(
      'Start a server, show what changed in its tools, and accept the changes.',
      {
        server: argument('<server>', 'name of the server'),
        tools: argument('[tool...]', 'tools to accept; by default, all that changed'),
        isDryRun: flag('--dry-run', 'show the changes and accept nothing'),
        principal: principal('whose server it is, if it has "per": "user"'),
        isJson: json(),
      },
      { notes: 'Tools are compared with the definitions first seen or last accepted. See `help pins`.' },
    ),
} as const satisfies Single;

export type AcceptCommand = LineOf<typeof ACCEPT>;
