/** `secrets …`: stored secrets that server entries refer to. */
import { action, argument, type Group, type LineOf, matching, principal } from '../../edges/terminal/define.ts';
import { SECRET_NAME } from './secret-name.ts';

const readName = matching(SECRET_NAME, "1 to 64 letters, digits and '_', '-', '.', and begin with a letter or '_'");

export const SECRETS = {
  command: 'secrets',
  summary: 'stored secrets that server entries refer to',
  description: 'Store secrets that entries of servers refer to as ${secret:NAME}.',
  defaultAction: 'list',
  actions: () => ({
    set: action(
      'Store a secret, or replace it. Its value is read from stdin; at a terminal, you are asked for it.',
      {
        name: argument('<name>', 'letters, digits, _, - and dots, such as GITHUB_TOKEN', readName),
        principal: principal('whose secret it is, for servers with "per": "user"'),
      },
      { notes: 'Servers that run and refer to it are started again with the next cell.' },
    ),
    list: action('List the names of the stored secrets, without their values.', {
      principal: principal('whose secrets'),
    }),
    remove: action('Remove secrets.', {
      names: argument('<name...>', 'names of secrets'),
      principal: principal('whose secrets'),
    }),
  }),
} as const satisfies Group;

export type SecretsCommand = LineOf<typeof SECRETS>;
