/** `tokens …`: who may use the bridge over HTTP. */
import { InvalidArgumentError } from 'commander';
import { SESSIONS_CEILING } from '../../core/base/limits.ts';
import { TOKEN_NAME } from '../../core/state/principals.ts';
import {
  action,
  argument,
  duration,
  type Group,
  type LineOf,
  matching,
  option,
  wholeNumber,
} from '../../edges/terminal/define.ts';

const readName = matching(
  TOKEN_NAME,
  "1 to 64 lower-case letters, digits and '.', '_', '@', '-', with a letter or digit at both ends",
);
/** As for servers, and for patterns in policies. */
const MAX_NAME_CHARS = 128;
/** Ten years. */
const MAX_EXPIRY_MS = 3_650 * 24 * 3_600_000;

export const TOKENS = {
  command: 'tokens',
  summary: 'who may use the bridge over HTTP',
  description: 'Manage the tokens with which clients use the bridge over HTTP (`serve --http`).',
  defaultAction: 'list',
  actions: () => ({
    add: action(
      'Make a token and print it. It cannot be shown again.',
      {
        name: argument(
          '<name>',
          'whose it is: a person, a team or an agent, such as alice or ci@example.com',
          readName,
        ),
        expiresMs: option(
          '--expires <duration>',
          'how long it is valid, such as 30d; by default until it is removed',
          duration('a duration of at most 3650d, such as 12h or 30d', 1, MAX_EXPIRY_MS),
        ),
        profile: option(
          '--profile <name>',
          'a profile of policy.json: only its servers and tools exist for the token',
          readName,
        ),
        servers: option(
          '--servers <names>',
          'names or patterns of servers, separated by commas: only these exist for the token',
          readServers,
        ),
        maxSessions: option(
          '--max-sessions <number>',
          'live sessions at once; by default half of those that the bridge can have',
          wholeNumber(`a whole number from 1 to ${SESSIONS_CEILING}`, 1, SESSIONS_CEILING),
        ),
      },
      {
        notes:
          'Sessions, files, saved functions and approvals belong to the name. The bridge stores only a hash of the token.',
      },
    ),
    list: action('List the tokens, without the secrets.', {}),
    remove: action(
      'Remove tokens. Running bridges refuse them at once, and end what they have open.',
      { names: argument('<name...>', 'names of tokens') },
      { notes: 'What the sessions have kept stays, for a new token of the same name.' },
    ),
  }),
} as const satisfies Group;

export type TokensCommand = LineOf<typeof TOKENS>;

function readServers(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  // An empty one would be a slip; a list that names none must not stand for all.
  if (names.includes('') || names.some((name) => name.length > MAX_NAME_CHARS || /\p{Cc}/u.test(name))) {
    throw new InvalidArgumentError('It must be names of servers, separated by commas, such as github,wiki-*.');
  }
  return names;
}
