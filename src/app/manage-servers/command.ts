/** `servers …`: shows, tests, calls and logs in to servers, and changes server files. */
import type { Command as Program } from 'commander';
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import {
  action,
  argument,
  flag,
  type Group,
  json,
  type LineOf,
  option,
  principal,
  repeated,
  unless,
  wholeNumber,
} from '../../edges/terminal/define.ts';

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1_000;
const DEFAULT_LOGIN_SECONDS = 300;
const MAX_LOGIN_SECONDS = 3_600;
/** The same as for calls from cells. */
const DEFAULT_CALL_SECONDS = 600;
const MAX_CALL_SECONDS = 86_400;

const ADD_NOTES = [
  'Examples:',
  '',
  '    servers add memory -- npx -y @modelcontextprotocol/server-memory',
  '    servers add github --env GITHUB_PERSONAL_ACCESS_TOKEN -- npx -y @modelcontextprotocol/server-github',
  "    servers add docs --url https://docs.example/mcp --header 'Authorization: Bearer ${DOCS_TOKEN}'",
  '    servers add shop --openapi https://shop.example/openapi.json --auth bearer',
  '    servers add --example everything',
  '    servers add --from io.github.example/mail',
  '',
  'Writes to servers.json in the state directory (~/MCPs). Running bridges offer the server in the next cell.',
  '--env KEY without a value writes ${KEY}, a reference to a variable of the bridge. This keeps secrets out of the file;',
  'for other ways, see `help servers secrets`.',
].join('\n');

const CALL_NOTES = [
  "Values are parsed by the tool's schema: as text, as numbers or booleans, or as JSON for lists and objects.",
  'A repeated name makes a list. name=@FILE is the content of a file, name=@@TEXT a text that begins with @.',
  'Policies, pins and the audit log apply as they do for code. Exit code: 70 if the tool fails or refuses the arguments.',
].join('\n');

const dryRun = () => flag('--dry-run', 'show the changes without writing them');
const server = () => argument('<server>', 'name of the server');
const owner = () => principal('whose login and secrets are used by servers with "per": "user"');
const seconds = (max: number) => wholeNumber(`a whole number of seconds from 1 to ${max}`, 1, max);

/** A change of the entries of servers that exist. */
const edit = (description: string) =>
  action(description, { names: argument('<server...>', 'names of servers'), isDryRun: dryRun() });

const changes = () => ({
  add: action(
    'Add a server: servers add NAME -- COMMAND ARG…, or NAME --url URL.',
    {
      name: argument('[name]', 'name of the server'),
      words: argument('[command...]', 'command that starts the server, after --'),
      url: option('--url <url>', 'URL of a remote server'),
      openapi: option(
        '--openapi <file|url>',
        'description of an API (OpenAPI 3 or Swagger 2.0), whose operations become tools',
      ),
      baseUrl: option('--base-url <url>', 'where that API is, if not where its description says'),
      graphql: option('--graphql <url>', 'URL of a GraphQL API, whose fields become tools'),
      schema: option('--schema <file|url>', 'schema of the GraphQL API, if it does not answer introspection'),
      egress: option('--egress <url>', 'URL of an API that code may reach itself, with its SDK or plain HTTP'),
      keys: repeated(
        '--key <NAME>',
        'for --egress: variable in which an SDK looks for a key, or NAME=PREFIX; it gets a placeholder, and the host sends the stored secret; may be repeated',
      ),
      auth: option(
        '--auth <how>',
        'credential of an API or remote server: bearer, basic, header:NAME or query:NAME; its value is the stored secret with the name of the server',
      ),
      transport: option('-t, --transport <transport>', 'stdio, http, or sse for servers that support nothing newer'),
      env: repeated('-e, --env <KEY=VALUE>', 'environment variable for the server; may be repeated'),
      headers: repeated('-H, --header <header>', "header for a remote server, as 'Name: value'; may be repeated"),
      cwd: option('--cwd <folder>', 'working directory of the server'),
      description: option('--description <text>', 'what the server is for, for the model to read'),
      timeout: option('--timeout <duration>', 'deadline of one call, such as 2m'),
      example: option<string | true>(
        '--example [name]',
        'add an example server, or without a name, list the examples',
        String,
      ),
      from: option('--from <server>', 'a server of a registry or catalog, by its name in `servers find`'),
      sets: repeated('--set <NAME=VALUE>', 'value that this server asks for; may be repeated'),
      json: option('--json-entry <json>', 'the entry as JSON, as in a server file; - reads it from stdin'),
      isForced: flag('--force', 'replace a server with that name, but keep its policy and pin'),
      isDryRun: dryRun(),
    },
    { notes: ADD_NOTES, refine: explainUnknownOptions, check: checkSeparator },
  ),
  remove: edit('Remove servers from the server files.'),
  enable: edit('Let code use disabled servers again.'),
  disable: edit('Stop offering servers to code, but keep them in their files.'),
});

const views = () => ({
  show: action('Show everything known about one server, with secrets masked. Does not start it.', {
    server: server(),
  }),
  tools: action('List the tools of one server. Starts it if its tools are not known yet.', { server: server() }),
  search: action('Find tools by words, in all servers. Starts servers whose tools are not known yet.', {
    words: argument('<words...>', 'words to look for'),
    limit: option(
      '--limit <number>',
      `maximum number of results (default: ${DEFAULT_LIMIT})`,
      wholeNumber(`a whole number from 1 to ${MAX_LIMIT}`, 1, MAX_LIMIT),
      DEFAULT_LIMIT,
    ),
  }),
  refresh: action(
    'Ask all servers, or only those named, for their current tools.',
    { names: argument('[server...]', 'names of servers') },
    { notes: 'Exit code: 69 if a server did not answer.' },
  ),
  test: action(
    'Start all servers, or only those named, step by step, and explain failures.',
    { names: argument('[server...]', 'names of servers'), principal: owner() },
    {
      notes:
        'Exit code: 69 if a server failed. Steps: resolve, start, initialize, list tools; for a remote server: resolve, connect, list tools.',
    },
  ),
});

/** Those that look at registries and catalogs. */
const found = () => ({
  find: action(
    'Find new servers by words, in the MCP registry and the catalogs of the settings.',
    {
      words: argument('[words...]', 'words to look for'),
      limit: option(
        '--limit <number>',
        `maximum number of results (default: ${DEFAULT_LIMIT})`,
        wholeNumber(`a whole number from 1 to ${MAX_LIMIT}`, 1, MAX_LIMIT),
        DEFAULT_LIMIT,
      ),
      forget: option('--forget <name>', 'let code propose a server again that you have declined'),
    },
    {
      notes:
        'Starts nothing. Exit code: 69 if nothing could be read. `servers add --from NAME` adds one; see `help servers finding-servers`.',
    },
  ),
  update: action(
    'Show what newer versions of servers that were found there change, and change to them.',
    {
      names: argument('[server...]', 'names of servers (default: all that were found in a registry or catalog)'),
      isSure: flag('-y, --yes', 'change without asking'),
    },
    {
      notes:
        'What their tools are is known when they start, and compared then with what you have accepted; see `help pins`.',
    },
  ),
});

const call = () =>
  action(
    'Call a tool and print its answer: servers call files read_file path=/x',
    {
      server: server(),
      tool: argument('<tool>', 'name of the tool, as the server or Python spells it'),
      words: argument('[name=value...]', 'arguments of the tool'),
      json: option('--json-args <json>', 'arguments as a JSON object; - reads it from stdin'),
      output: option(
        '--output <file>',
        'file for the images, sounds and files of the answer; for its text if there are none',
      ),
      timeoutSeconds: option(
        '--timeout <seconds>',
        `deadline of the call (default: ${DEFAULT_CALL_SECONDS})`,
        seconds(MAX_CALL_SECONDS),
        DEFAULT_CALL_SECONDS,
      ),
    },
    { notes: CALL_NOTES },
  );

const logins = () => ({
  login: action(
    'Log in to a remote server. Opens the browser and waits until you have finished there.',
    {
      server: server(),
      isJson: json(),
      principal: owner(),
      opensBrowser: unless('--no-browser', 'print the address instead of opening it'),
      port: option(
        '--port <number>',
        'local port for the redirect from the browser (default: any free port)',
        wholeNumber('a port number from 1 to 65535', 1, 65_535),
      ),
      scope: option('--scope <scopes>', 'scopes to request, separated by spaces'),
      issuer: option(
        '--issuer <address>',
        'accept this authorization server, although the last login was at another one',
      ),
      timeoutSeconds: option(
        '--timeout <seconds>',
        `time to finish in the browser (default: ${DEFAULT_LOGIN_SECONDS})`,
        seconds(MAX_LOGIN_SECONDS),
        DEFAULT_LOGIN_SECONDS,
      ),
    },
    { notes: 'The login is stored in the state directory, readable only by you; see `help remote logging-in`.' },
  ),
  logout: action('Delete the stored login for a remote server.', {
    server: server(),
    isJson: json(),
    principal: owner(),
  }),
});

export const SERVERS = {
  command: 'servers',
  summary: 'add servers, show them and their tools, test and call them',
  description: 'Add servers, show them and their tools, test and call them.',
  defaultAction: 'list',
  actions: () => ({
    list: action(
      'List every configured server with its state, tools, their cost in tokens, transport and file. Starts no server.',
      {},
    ),
    ...changes(),
    ...views(),
    ...found(),
    call: call(),
    ...logins(),
  }),
} as const satisfies Group;

type Line = LineOf<typeof SERVERS>;
/** Those that change server files. */
export type EditServersCommand = Extract<Line, { readonly isDryRun: boolean }>;
/** Those that need only registries and files. */
export type FindServersCommand = Extract<Line, { readonly action: 'find' | 'update' }>;
export type ServersCommand = Exclude<Line, EditServersCommand | FindServersCommand>;

function checkSeparator(
  { name, words }: { readonly name: string | undefined; readonly words: readonly string[] },
  add: Program,
): void {
  const typed = wordsAfterSeparator(add);
  if (words.length > 1 && typed === undefined) {
    throw usage(
      `the command '${words[0]}' has arguments, but there is no -- before it`,
      `Write -- before the command: ${COMMAND} servers add NAME -- COMMAND ARG…`,
    );
  }
  // The library took the program for the name. A name that begins with - is refused later, with a better message.
  if (typed !== undefined && typed.length > words.length && !name?.startsWith('-')) {
    throw usage(
      'the name of the server is missing',
      `Write the name before --: ${COMMAND} servers add NAME -- COMMAND ARG…`,
    );
  }
}

/** The words after `--`, which the library removes; undefined without `--`. */
function wordsAfterSeparator(add: Program): readonly string[] | undefined {
  // Set by the library on the program that parses, but not declared in its types.
  const { rawArgs = [] } = (add.parent?.parent ?? add) as Program & { readonly rawArgs?: readonly string[] };
  const separator = rawArgs.indexOf('--');
  return separator === -1 ? undefined : rawArgs.slice(separator + 1);
}

/** An unknown option usually belongs to the server's command. Its value is not repeated, because it may be a secret. */
function explainUnknownOptions(add: Program): void {
  add.exitOverride((error) => {
    if (error.code !== 'commander.unknownOption') {
      throw error;
    }
    const text = error.message
      .replace(/^error: /, '')
      .replace(/=[^']*'/, "'")
      .replaceAll('\n', ' ');
    throw usage(
      text,
      `If it belongs to the server's command, write -- before the command: ${COMMAND} servers add NAME -- COMMAND ARG…`,
    );
  });
}

function usage(message: string, hint: string): BridgeError {
  return new BridgeError('USAGE_INVALID', message, { hint });
}
