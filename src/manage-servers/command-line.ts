/** `servers …`: the subcommands that show, test and call servers. Those that change server files are in edit-command-line.ts. */
import type { Command, Option } from 'commander';
import { addNotes, jsonOption, principalOption, type Settle, wholeNumber } from '../terminal/define.ts';
import { defineServerEdits, type EditServersCommand } from './edit-command-line.ts';

export interface ServersCommand {
  readonly command: 'servers';
  readonly action: 'list' | 'show' | 'tools' | 'search' | 'refresh' | 'test' | 'call' | 'login' | 'logout';
  /** The positional arguments: servers, the words of a search, or a server, a tool and `name=value` pairs. */
  readonly names: readonly string[];
  /** Whose servers; undefined for those of the operator. Only for `test`, `login` and `logout`. */
  readonly principal?: string | undefined;
  /** Maximum number of search results. */
  readonly limit: number;
  readonly isJson: boolean;
  /** Only for `login`. */
  readonly login?: LoginChoices;
  /** Only for `call`. */
  readonly call?: TypedCallOptions;
}

/** The options of `servers call`. */
export interface TypedCallOptions {
  /** All arguments as JSON, or `-` for stdin. */
  readonly json: string | undefined;
  /** The file for binary content. */
  readonly output: string | undefined;
  readonly timeoutSeconds: number | undefined;
}

/** The options of `servers login`. */
export interface LoginChoices {
  /** Whether to open the browser; otherwise the address is only printed. */
  readonly opensBrowser: boolean;
  /** The loopback port for the redirect back from the browser; any free port if undefined. */
  readonly port: number | undefined;
  /** Scopes, separated by spaces; if undefined, those of the entry or of the server. */
  readonly scope: string | undefined;
  /** The authorization server that the person accepts, even if it is another than last time. */
  readonly issuer: string | undefined;
  readonly timeoutSeconds: number;
}

interface Given {
  readonly for?: string;
  readonly limit?: number;
  readonly json?: true;
  readonly browser?: boolean;
  readonly port?: number;
  readonly scope?: string;
  readonly issuer?: string;
  readonly timeout?: number;
  readonly jsonArgs?: string;
  readonly output?: string;
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1_000;
const DEFAULT_LOGIN_SECONDS = 300;
const MAX_LOGIN_SECONDS = 3_600;
/** The same as for calls from cells. */
export const DEFAULT_CALL_SECONDS = 600;
const MAX_CALL_SECONDS = 86_400;

export function defineServers(program: Command, settle: Settle<ServersCommand | EditServersCommand>): void {
  const group = program
    .command('servers')
    .summary('add servers, show them and their tools, test and call them')
    .description('Add servers, show them and their tools, test and call them. Without a subcommand: `servers list`.')
    .helpCommand(false);

  const take =
    (action: ServersCommand['action']): Take =>
    (names, given) =>
      settle({
        command: 'servers',
        action,
        names,
        principal: given.for,
        limit: given.limit ?? DEFAULT_LIMIT,
        isJson: given.json === true,
        ...(action === 'login' ? { login: loginOptions(given) } : {}),
        ...(action === 'call'
          ? { call: { json: given.jsonArgs, output: given.output, timeoutSeconds: given.timeout } }
          : {}),
      });

  group
    .command('list')
    .description(
      'List every configured server with its state, tools, their cost in tokens, transport and file. Starts no server.',
    )
    .addOption(jsonOption())
    .action((options) => take('list')([], options));
  defineServerEdits(group, settle);
  defineOne(
    group,
    'show',
    'Show everything known about one server, with secrets masked. Does not start it.',
    take('show'),
  );
  defineOne(group, 'tools', 'List the tools of one server. Starts it if its tools are not known yet.', take('tools'));
  defineSearch(group, take('search'));
  defineRefresh(group, take('refresh'));
  defineTest(group, take('test'));
  defineCall(group, take('call'));
  defineLogin(group, take('login'));
  defineOne(group, 'logout', 'Delete the stored login for a remote server.', take('logout')).addOption(ownerOption());
}

function ownerOption(): Option {
  return principalOption('whose login and secrets are used by servers with "per": "user"');
}

type Take = (names: readonly string[], options: Given) => void;

/** A command about one server. */
function defineOne(group: Command, word: string, description: string, take: Take): Command {
  return group
    .command(word)
    .description(description)
    .argument('<server>', 'name of the server')
    .addOption(jsonOption())
    .action((server: string, options: Given) => take([server], options));
}

function defineSearch(group: Command, take: Take): void {
  group
    .command('search')
    .description('Find tools by words, in all servers. Starts servers whose tools are not known yet.')
    .argument('<words...>', 'words to look for')
    .option(
      '--limit <number>',
      `maximum number of results (default: ${DEFAULT_LIMIT})`,
      wholeNumber(`a whole number from 1 to ${MAX_LIMIT}`, 1, MAX_LIMIT),
    )
    .addOption(jsonOption())
    .action(take);
}

function defineRefresh(group: Command, take: Take): void {
  const refresh = group
    .command('refresh')
    .description('Ask all servers, or only those named, for their current tools.')
    .argument('[server...]', 'names of servers')
    .addOption(jsonOption())
    .action(take);
  addNotes(refresh, 'Exit code: 69 if a server did not answer.');
}

function defineTest(group: Command, take: Take): void {
  const test = group
    .command('test')
    .description('Start all servers, or only those named, step by step, and explain failures.')
    .argument('[server...]', 'names of servers')
    .addOption(ownerOption())
    .addOption(jsonOption())
    .action(take);
  addNotes(
    test,
    'Exit code: 69 if a server failed. Steps: resolve, start, initialize, list tools; for a remote server: resolve, connect, list tools.',
  );
}

const CALL_NOTES = [
  "Values are parsed by the tool's schema: as text, as numbers or booleans, or as JSON for lists and objects.",
  'A repeated name makes a list. name=@FILE is the content of a file, name=@@TEXT a text that begins with @.',
  'Policies, pins and the audit log apply as they do for code. Exit code: 70 if the tool fails or refuses the arguments.',
].join('\n');

function defineCall(group: Command, take: Take): void {
  const call = group
    .command('call')
    .description('Call a tool and print its answer: servers call files read_file path=/x')
    .argument('<server>', 'name of the server')
    .argument('<tool>', 'name of the tool, as the server or Python spells it')
    .argument('[name=value...]', 'arguments of the tool')
    .option('--json-args <json>', 'arguments as a JSON object; - reads it from stdin')
    .option('--output <file>', 'file for the images, sounds and files of the answer; for its text if there are none')
    .option(
      '--timeout <seconds>',
      `deadline of the call (default: ${DEFAULT_CALL_SECONDS})`,
      wholeNumber(`a whole number of seconds from 1 to ${MAX_CALL_SECONDS}`, 1, MAX_CALL_SECONDS),
    )
    .addOption(jsonOption())
    .action((server: string, tool: string, values: readonly string[], options: Given) =>
      take([server, tool, ...values], options),
    );
  addNotes(call, CALL_NOTES);
}

function defineLogin(group: Command, take: Take): void {
  const description = 'Log in to a remote server. Opens the browser and waits until you have finished there.';
  const login = defineOne(group, 'login', description, take)
    .addOption(ownerOption())
    .option('--no-browser', 'print the address instead of opening it')
    .option(
      '--port <number>',
      'local port for the redirect from the browser (default: any free port)',
      wholeNumber('a port number from 1 to 65535', 1, 65_535),
    )
    .option('--scope <scopes>', 'scopes to request, separated by spaces')
    .option('--issuer <address>', 'accept this authorization server, although the last login was at another one')
    .option(
      '--timeout <seconds>',
      `time to finish in the browser (default: ${DEFAULT_LOGIN_SECONDS})`,
      wholeNumber(`a whole number of seconds from 1 to ${MAX_LOGIN_SECONDS}`, 1, MAX_LOGIN_SECONDS),
    );
  addNotes(login, 'The login is stored in the state directory, readable only by you; see `help remote logging-in`.');
}

/** The given options of `login`, with defaults for the others. */
export function loginOptions({ browser, port, scope, issuer, timeout }: Given = {}): LoginChoices {
  return { opensBrowser: browser !== false, port, scope, issuer, timeoutSeconds: timeout ?? DEFAULT_LOGIN_SECONDS };
}
