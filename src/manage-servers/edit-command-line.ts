/** `servers add`, `remove`, `enable` and `disable`: the commands that change server files. */
import type { Command } from 'commander';
import { BridgeError } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import { addNotes, collect, jsonOption, type Settle } from '../terminal/define.ts';

export interface EditServersCommand {
  readonly command: 'edit-servers';
  readonly action: 'add' | 'remove' | 'enable' | 'disable';
  /** At most one for `add`, or none if an example or JSON contains the name. */
  readonly names: readonly string[];
  /** Only for `add`. */
  readonly entry?: EntryOptions;
  /** Whether `add` may replace a server with that name. */
  readonly isForced: boolean;
  readonly isDryRun: boolean;
  readonly isJson: boolean;
}

/** The options of `servers add` that describe the new entry, as typed. */
export interface EntryOptions {
  /** The program and its arguments. */
  readonly words: readonly string[];
  readonly url?: string | undefined;
  readonly transport?: string | undefined;
  /** The name of an example; `true` lists the examples. */
  readonly example?: string | true | undefined;
  /** One entry, or the content of a server file; `-` for stdin. */
  readonly json?: string | undefined;
  /** `KEY=VALUE`, or `KEY` for a reference to the variable with that name. */
  readonly env: readonly string[];
  /** `Name: value`. */
  readonly headers: readonly string[];
  readonly cwd?: string | undefined;
  readonly description?: string | undefined;
  readonly timeout?: string | undefined;
}

interface Given {
  readonly url?: string;
  readonly transport?: string;
  readonly example?: string | true;
  readonly jsonEntry?: string;
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  readonly cwd?: string;
  readonly description?: string;
  readonly timeout?: string;
  readonly force?: true;
  readonly dryRun?: true;
  readonly json?: true;
}

/** The most common form, for hints. */

export function defineServerEdits(group: Command, settle: Settle<EditServersCommand>): void {
  defineAdd(group, settle);
  const edits = [
    ['remove', 'Remove servers from the server files.'],
    ['enable', 'Let code use disabled servers again.'],
    ['disable', 'Stop offering servers to code, but keep them in their files.'],
  ] as const;
  for (const [action, description] of edits) {
    group
      .command(action)
      .description(description)
      .argument('<server...>', 'names of servers')
      .option('--dry-run', 'show the changes without writing them')
      .addOption(jsonOption())
      .action((names: readonly string[], given: Given) => {
        const uniqueNames = [...new Set(names)];
        settle({ command: 'edit-servers', action, names: uniqueNames, isForced: false, ...flagsOf(given) });
      });
  }
}

const ADD_NOTES = [
  'Examples:',
  '',
  '    servers add memory -- npx -y @modelcontextprotocol/server-memory',
  '    servers add github --env GITHUB_PERSONAL_ACCESS_TOKEN -- npx -y @modelcontextprotocol/server-github',
  "    servers add docs --url https://docs.example/mcp --header 'Authorization: Bearer ${DOCS_TOKEN}'",
  '    servers add --example everything',
  '',
  'Writes to servers.json in the state directory (~/MCPs). Running bridges offer the server in the next cell.',
  '--env KEY without a value writes ${KEY}, a reference to a variable of the bridge. This keeps secrets out of the file;',
  'for other ways, see `help servers secrets`.',
].join('\n');

function defineAdd(group: Command, settle: Settle<EditServersCommand>): void {
  const add = group
    .command('add')
    .description('Add a server: servers add NAME -- COMMAND ARG…, or NAME --url URL.')
    .argument('[name]', 'name of the server')
    .argument('[command...]', 'command that starts the server, after --')
    .option('--url <url>', 'URL of a remote server')
    .option('-t, --transport <transport>', 'stdio, http, or sse for servers that support nothing newer')
    .option('-e, --env <KEY=VALUE>', 'environment variable for the server; may be repeated', collect)
    .option('-H, --header <header>', "header for a remote server, as 'Name: value'; may be repeated", collect)
    .option('--cwd <folder>', 'working directory of the server')
    .option('--description <text>', 'what the server is for, for the model to read')
    .option('--timeout <duration>', 'deadline of one call, such as 2m')
    .option('--example [name]', 'add an example server, or without a name, list the examples')
    .option('--json-entry <json>', 'the entry as JSON, as in a server file; - reads it from stdin')
    .option('--force', 'replace a server with that name, but keep its policy and pin')
    .option('--dry-run', 'show the changes without writing them')
    .addOption(jsonOption())
    .exitOverride((error) => {
      throw error.code === 'commander.unknownOption' ? unknownOption(error.message) : error;
    })
    .action((name: string | undefined, command: readonly string[], given: Given) => {
      const words = command.slice();
      const typed = wordsAfterSeparator(group);
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
      settle(addOf(name, words, given));
    });
  addNotes(add, ADD_NOTES);
}

function addOf(name: string | undefined, words: readonly string[], given: Given): EditServersCommand {
  const { url, transport, example, jsonEntry, env = [], header = [], cwd, description, timeout } = given;
  // `claude mcp add --transport http NAME URL` puts the URL in this place.
  const isUrl = words.length === 1 && url === undefined && /^https?:\/\//i.test(words[0] ?? '');
  return {
    command: 'edit-servers',
    action: 'add',
    names: name === undefined ? [] : [name],
    entry: {
      words: isUrl ? [] : words,
      url: isUrl ? words[0] : url,
      transport,
      example,
      json: jsonEntry,
      env,
      headers: header,
      cwd,
      description,
      timeout,
    },
    isForced: given.force === true,
    ...flagsOf(given),
  };
}

function flagsOf({ dryRun, json }: Given): Pick<EditServersCommand, 'isDryRun' | 'isJson'> {
  return { isDryRun: dryRun === true, isJson: json === true };
}

/** The words after `--`, which the library removes; undefined without `--`. */
function wordsAfterSeparator(group: Command): readonly string[] | undefined {
  // Set by the library on the program that parses, but not declared in its types.
  const { rawArgs = [] } = (group.parent ?? group) as Command & { readonly rawArgs?: readonly string[] };
  const separator = rawArgs.indexOf('--');
  return separator === -1 ? undefined : rawArgs.slice(separator + 1);
}

/** An unknown option usually belongs to the server's command. Its value is not repeated, because it may be a secret. */
function unknownOption(message: string): BridgeError {
  const text = message
    .replace(/^error: /, '')
    .replace(/=[^']*'/, "'")
    .replaceAll('\n', ' ');
  return usage(
    text,
    `If it belongs to the server's command, write -- before the command: ${COMMAND} servers add NAME -- COMMAND ARG…`,
  );
}

function usage(message: string, hint: string): BridgeError {
  return new BridgeError('USAGE_INVALID', message, { hint });
}
