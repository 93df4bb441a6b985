/** `tokens …`: who may use the bridge over HTTP. */
import { InvalidArgumentError, type Command as Program } from 'commander';
import { SESSIONS_CEILING } from '../base/limits.ts';
import { parseDurationMs } from '../base/units.ts';
import { TOKEN_NAME } from '../state/principals.ts';
import type { Command } from '../terminal/command.ts';
import { addNotes, jsonOption, type Settle, wholeNumber } from '../terminal/define.ts';
import type { TokensCommand } from './run.ts';

export const tokensCommand: Command<TokensCommand> = {
  names: ['tokens'],
  defaultActions: { tokens: 'list' },
  define,
  async run(line, host) {
    const { manageTokens } = await import('./run.ts');
    return manageTokens(line, { ...host, ...(await host.loadContext()) });
  },
};

interface AddFlags {
  readonly expires?: number;
  readonly maxSessions?: number;
  readonly profile?: string;
  readonly servers?: readonly string[];
  readonly json?: true;
}

function define(program: Program, settle: Settle<TokensCommand>): void {
  const group = program
    .command('tokens')
    .summary('who may use the bridge over HTTP')
    .description(
      'Manage the tokens with which clients use the bridge over HTTP (`serve --http`). Without a subcommand: `tokens list`.',
    )
    .helpCommand(false);
  defineAdd(group, settle);
  group
    .command('list')
    .description('List the tokens, without the secrets.')
    .addOption(jsonOption())
    .action(({ json }: { json?: true }) =>
      settle({ command: 'tokens', action: 'list', names: [], isJson: json === true }),
    );
  const remove = group
    .command('remove')
    .description('Remove tokens. Running bridges refuse them at once, and end what they have open.')
    .argument('<name...>', 'names of tokens')
    .addOption(jsonOption())
    .action((names: readonly string[], { json }: { json?: true }) =>
      settle({ command: 'tokens', action: 'remove', names, isJson: json === true }),
    );
  addNotes(remove, 'What the sessions have kept stays, for a new token of the same name.');
}

function defineAdd(group: Program, settle: Settle<TokensCommand>): void {
  const add = group
    .command('add')
    .description('Make a token and print it. It cannot be shown again.')
    .argument('<name>', 'whose it is: a person, a team or an agent, such as alice or ci@example.com', readName)
    .option('--expires <duration>', 'how long it is valid, such as 30d; by default until it is removed', readDuration)
    .option('--profile <name>', 'a profile of policy.json: only its servers and tools exist for the token', readName)
    .option(
      '--servers <names>',
      'names or patterns of servers, separated by commas: only these exist for the token',
      readServers,
    )
    .option(
      '--max-sessions <number>',
      'live sessions at once; by default half of those that the bridge can have',
      wholeNumber(`a whole number from 1 to ${SESSIONS_CEILING}`, 1, SESSIONS_CEILING),
    )
    .addOption(jsonOption())
    .action((name: string, { expires: expiresMs, maxSessions, profile, servers, json }: AddFlags) =>
      settle({
        command: 'tokens',
        action: 'add',
        names: [name],
        expiresMs,
        maxSessions,
        profile,
        servers,
        isJson: json === true,
      }),
    );
  addNotes(
    add,
    'Sessions, files, saved functions and approvals belong to the name. The bridge stores only a hash of the token.',
  );
}

function readName(text: string): string {
  if (!TOKEN_NAME.test(text)) {
    throw new InvalidArgumentError(
      "It must be 1 to 64 lower-case letters, digits and '.', '_', '@', '-', with a letter or digit at both ends.",
    );
  }
  return text;
}

function readServers(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  // An empty one would be a slip; a list that names none must not stand for all.
  if (names.includes('') || names.some((name) => name.length > MAX_NAME_CHARS || /\p{Cc}/u.test(name))) {
    throw new InvalidArgumentError('It must be names of servers, separated by commas, such as github,wiki-*.');
  }
  return names;
}

/** As for servers, and for patterns in policies. */
const MAX_NAME_CHARS = 128;
/** Ten years. */
const MAX_EXPIRY_MS = 3_650 * 24 * 3_600_000;

function readDuration(text: string): number {
  const ms = parseDurationMs(text);
  if (!(ms >= 1 && ms <= MAX_EXPIRY_MS)) {
    throw new InvalidArgumentError('It must be a duration of at most 3650d, such as 12h or 30d.');
  }
  return ms;
}
