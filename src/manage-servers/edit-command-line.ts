/** `servers add`, `remove`, `enable` and `disable`: the commands that change server files. */
import type { Command } from 'commander';
import { BridgeError } from '../base/errors.ts';
import { addNotes, collect, jsonOption, type Settle } from '../terminal/define.ts';

export interface EditServersCommand {
  readonly command: 'edit-servers';
  readonly action: 'add' | 'remove' | 'enable' | 'disable';
  /** Of `add` at most one: examples and JSON may bring names of their own. */
  readonly names: readonly string[];
  /** Of `add` alone. */
  readonly entry?: EntryWishes;
  /** Whether `add` may replace a server of that name. */
  readonly isForced: boolean;
  readonly isDryRun: boolean;
  readonly isJson: boolean;
}

/** What `servers add` makes an entry of, as it was typed. */
export interface EntryWishes {
  /** Program and arguments. */
  readonly words: readonly string[];
  readonly url?: string | undefined;
  readonly transport?: string | undefined;
  /** Name of an example; `true` to list them. */
  readonly example?: string | true | undefined;
  /** An entry, or a file of entries; `-` for stdin. */
  readonly json?: string | undefined;
  /** `KEY=VALUE`, or `KEY` for a reference to the variable of that name. */
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

/** How the commonest form is written. */
const FORM = 'servers add NAME -- COMMAND ARG…';

export function defineServerEdits(group: Command, settle: Settle<EditServersCommand>): void {
  defineAdd(group, settle);
  const edits = [
    ['remove', 'Remove servers from the server files.'],
    ['enable', 'Let code use disabled servers again.'],
    ['disable', 'Keep servers in their files, but do not start or offer them.'],
  ] as const;
  for (const [action, description] of edits) {
    group
      .command(action)
      .description(description)
      .argument('<server...>', 'their names')
      .option('--dry-run', 'show the change and write nothing')
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
  'Writes to servers.json in the state directory (~/MCPs); running bridges offer the server from their next call.',
  '--env KEY without a value writes ${KEY}, a reference to a variable of the bridge, so that no secret is in the file.',
  'More about secrets: `help servers secrets`.',
].join('\n');

function defineAdd(group: Command, settle: Settle<EditServersCommand>): void {
  const add = group
    .command('add')
    .description(`Add a server: ${FORM}, or NAME --url URL.`)
    .argument('[name]', 'what to call it')
    .argument('[command...]', 'after --: the command of the server')
    .option('--url <url>', 'address of a remote server')
    .option('-t, --transport <transport>', 'stdio, http, or sse for servers that support nothing newer')
    .option('-e, --env <KEY=VALUE>', 'variable for the server; may be repeated', collect)
    .option('-H, --header <header>', "header for a remote server, 'Name: value'; may be repeated", collect)
    .option('--cwd <folder>', 'folder to start it in')
    .option('--description <text>', 'what it is for; the model reads it')
    .option('--timeout <duration>', 'longest time of one call, such as 2m')
    .option('--example [name]', 'add an example that comes with this package, or list them')
    .option('--json-entry <json>', 'the entry as JSON, as in server files; - reads it from stdin')
    .option('--force', 'replace a server of that name; keeps its policy and pin')
    .option('--dry-run', 'show the change and write nothing')
    .addOption(jsonOption())
    .exitOverride((error) => {
      throw error.code === 'commander.unknownOption' ? unknownOption(error.message) : error;
    })
    .action((name: string | undefined, command: readonly string[], given: Given) => {
      const words = command.slice();
      const typed = wordsAfterSeparator(group);
      if (words.length > 1 && typed === undefined) {
        throw usage(
          `'${words[0]}' has arguments, and there is no -- before it`,
          `Write -- before the command: ${FORM}`,
        );
      }
      // The library took the program for the name; one that begins with - can stand nowhere else, and is refused as a name.
      if (typed !== undefined && typed.length > words.length && !name?.startsWith('-')) {
        throw usage('the name of the server is missing', `Write the name before --: ${FORM}`);
      }
      settle(addOf(name, words, given));
    });
  addNotes(add, ADD_NOTES);
}

function addOf(name: string | undefined, words: readonly string[], given: Given): EditServersCommand {
  const { url, transport, example, jsonEntry, env = [], header = [], cwd, description, timeout } = given;
  // `claude mcp add --transport http NAME URL` has the address there.
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

/** What was typed after `--`, which the library takes away; undefined without it. */
function wordsAfterSeparator(group: Command): readonly string[] | undefined {
  // Set by the library on the program that was asked to parse, but not declared.
  const { rawArgs = [] } = (group.parent ?? group) as Command & { readonly rawArgs?: readonly string[] };
  const separator = rawArgs.indexOf('--');
  return separator === -1 ? undefined : rawArgs.slice(separator + 1);
}

/** Without `--`, options of the server would be taken for ours. The value of an option is not repeated: it may be a secret. */
function unknownOption(message: string): BridgeError {
  const text = message
    .replace(/^error: /, '')
    .replace(/=[^']*'/, "'")
    .replaceAll('\n', ' ');
  return usage(text, `If it belongs to the command of the server, write -- before that command: ${FORM}`);
}

function usage(message: string, hint: string): BridgeError {
  return new BridgeError('USAGE_INVALID', message, { hint });
}
