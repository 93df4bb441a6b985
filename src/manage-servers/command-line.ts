/** `servers …`: what is configured, and which tools there are; edit-servers.ts has those that change it. */
import type { Command } from 'commander';
import { addNotes, jsonOption, type Settle, wholeNumber } from '../terminal/define.ts';
import { defineServerEdits, type EditServersCommand } from './edit-command-line.ts';

export interface ServersCommand {
  readonly command: 'servers';
  readonly action: 'list' | 'show' | 'tools' | 'search' | 'refresh' | 'test' | 'call' | 'login' | 'logout';
  /** Names of servers; the words of a search; a server and names of its tools; a server, a tool and `name=value`s. */
  readonly names: readonly string[];
  /** Hits of a search at most. */
  readonly limit: number;
  readonly isJson: boolean;
  /** Of `login` alone. */
  readonly login?: LoginWishes;
  /** Of `call` alone. */
  readonly call?: CallWishes;
}

/** How a person wants to call a tool. */
export interface CallWishes {
  /** All arguments as JSON, or `-` for stdin; undefined when left out. */
  readonly json: string | undefined;
  /** File for what is no text. */
  readonly output: string | undefined;
  readonly timeoutSeconds: number | undefined;
}

/** How a person wants to log in. */
export interface LoginWishes {
  /** Whether the browser is opened; else the address is only printed. */
  readonly opensBrowser: boolean;
  /** Port of loopback that the browser comes back to; any when undefined. */
  readonly port: number | undefined;
  /** Scopes, separated by spaces; those of the entry or of the server when undefined. */
  readonly scope: string | undefined;
  readonly timeoutSeconds: number;
}

interface Given {
  readonly limit?: number;
  readonly json?: true;
  readonly browser?: boolean;
  readonly port?: number;
  readonly scope?: string;
  readonly timeout?: number;
  readonly jsonArgs?: string;
  readonly output?: string;
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1_000;
const DEFAULT_LOGIN_SECONDS = 300;
const MAX_LOGIN_SECONDS = 3_600;
/** As calls of cells, which have no deadline of their own. */
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
        limit: given.limit ?? DEFAULT_LIMIT,
        isJson: given.json === true,
        ...(action === 'login' ? { login: loginWishes(given) } : {}),
        ...(action === 'call'
          ? { call: { json: given.jsonArgs, output: given.output, timeoutSeconds: given.timeout } }
          : {}),
      });

  group
    .command('list')
    .description('List every configured server: state, tools, their cost in tokens, transport, file. Starts none.')
    .addOption(jsonOption())
    .action((options) => take('list')([], options));
  defineServerEdits(group, settle);
  defineOne(
    group,
    'show',
    'Show what is known about one server, with secrets masked. Does not start it.',
    take('show'),
  );
  defineOne(group, 'tools', 'List the tools of one server. Starts it if its tools are not known yet.', take('tools'));
  defineSearch(group, take('search'));
  defineRefresh(group, take('refresh'));
  defineTest(group, take('test'));
  defineCall(group, take('call'));
  defineLogin(group, take('login'));
  defineOne(group, 'logout', 'Forget the login at a remote server.', take('logout'));
}

type Take = (names: readonly string[], options: Given) => void;

/** A command about one server. */
function defineOne(group: Command, word: string, description: string, take: Take): Command {
  return group
    .command(word)
    .description(description)
    .argument('<server>', 'its name')
    .addOption(jsonOption())
    .action((server: string, options: Given) => take([server], options));
}

function defineSearch(group: Command, take: Take): void {
  group
    .command('search')
    .description('Find tools by words, in all servers. Starts those whose tools are not known yet.')
    .argument('<words...>', 'what to look for')
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
    .description('Ask all servers, or those named, for their current tools.')
    .argument('[server...]', 'their names')
    .addOption(jsonOption())
    .action(take);
  addNotes(refresh, 'Exit code: 69 if a server did not start.');
}

function defineTest(group: Command, take: Take): void {
  const test = group
    .command('test')
    .description('Start all servers, or those named, step by step, and explain failures.')
    .argument('[server...]', 'their names')
    .addOption(jsonOption())
    .action(take);
  addNotes(
    test,
    'Exit code: 69 if a server failed. Steps: resolve, start, initialize, list tools; for a remote server resolve, connect, list tools.',
  );
}

const CALL_NOTES = [
  'Values are read by the schema of the tool: text where it takes text, otherwise numbers, or JSON for lists and objects.',
  'A repeated name makes a list. name=@FILE is the content of a file, name=@@TEXT a text that begins with @.',
  'Policies, pins and the audit log apply as for code. Exit code: 70 if the tool fails or refuses the arguments.',
].join('\n');

function defineCall(group: Command, take: Take): void {
  const call = group
    .command('call')
    .description('Call a tool and print its answer: servers call files read_file path=/x')
    .argument('<server>', 'its name')
    .argument('<tool>', 'its name, as the server or Python spells it')
    .argument('[name=value...]', 'arguments of the tool')
    .option('--json-args <json>', 'arguments as a JSON object; - reads it from stdin')
    .option('--output <file>', 'where to write images, sounds and files, or the text if there are none')
    .option(
      '--timeout <seconds>',
      `time for the call (default: ${DEFAULT_CALL_SECONDS})`,
      wholeNumber(`a whole number of seconds from 1 to ${MAX_CALL_SECONDS}`, 1, MAX_CALL_SECONDS),
    )
    .addOption(jsonOption())
    .action((server: string, tool: string, values: readonly string[], options: Given) =>
      take([server, tool, ...values], options),
    );
  addNotes(call, CALL_NOTES);
}

function defineLogin(group: Command, take: Take): void {
  const description = 'Log in at a remote server. Opens the browser and waits for it to come back.';
  const login = defineOne(group, 'login', description, take)
    .option('--no-browser', 'print the address instead of opening it')
    .option('--port <number>', 'port of this machine for the browser to come back to', wholeNumber('a port', 1, 65_535))
    .option('--scope <scopes>', 'scopes to ask for, separated by spaces')
    .option(
      '--timeout <seconds>',
      `time to finish in the browser (default: ${DEFAULT_LOGIN_SECONDS})`,
      wholeNumber(`a whole number of seconds from 1 to ${MAX_LOGIN_SECONDS}`, 1, MAX_LOGIN_SECONDS),
    );
  addNotes(login, 'The login is kept in the state directory, readable only by you: see `help remote logging-in`.');
}

/** What was wished, and what is usual. */
export function loginWishes({ browser, port, scope, timeout }: Given = {}): LoginWishes {
  return { opensBrowser: browser !== false, port, scope, timeoutSeconds: timeout ?? DEFAULT_LOGIN_SECONDS };
}
