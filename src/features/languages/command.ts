/** `snippets …` and `import`. */
import {
  action,
  argument,
  flag,
  type Group,
  json,
  type LineOf,
  option,
  type Single,
} from '../../edges/terminal/define.ts';

export const SNIPPETS = {
  command: 'snippets',
  summary: 'store programs that code can run by name',
  description: 'List, show, add and remove snippets: programs in any language that code and clients can run by name.',
  defaultAction: 'list',
  actions: () => ({
    list: action('List the snippets, and say why one cannot be used.', {}),
    show: action('Print the code of a snippet.', { name: argument('<snippet>', 'name of the snippet') }),
    add: action(
      'Store a file as a snippet, or code from standard input.',
      {
        nameOrFile: argument('<name-or-file>', 'the file, which gives the snippet its name and language; or a name'),
        language: option('--language <language>', 'name or alias of the language; by default that of the extension'),
        file: option('--file <path>', 'the file with the code, if the snippet gets another name; - for standard input'),
        isForced: flag('--force', 'replace a snippet of the same name'),
      },
      {
        notes:
          'A name without --file takes the code from standard input and needs --language. ' +
          'A name has up to 64 letters, digits, hyphens and underscores.',
      },
    ),
    approve: action('Show shared snippets that are new or have changed, and let them run as they are now.', {
      names: argument('<snippet...>', 'names of snippets in the folders of MCP_BRIDGE_TOOLBOX'),
      isSure: flag('-y, --yes', 'do not ask'),
    }),
    rm: action('Remove snippets.', { names: argument('<snippet...>', 'names of snippets, or of their files') }),
  }),
} as const satisfies Group;

export const IMPORT = {
  command: 'import',
  action: () =>
    action(
      'Take over languages, limits and snippets from the isolator_config.json of the multi-language isolator, and report what could not be taken over.',
      {
        file: argument('<file>', 'path of isolator_config.json'),
        isDryRun: flag('--dry-run', 'change nothing and show what would be done'),
        isForced: flag('--force', 'replace languages and snippets that are already there and differ'),
        isJson: json(),
      },
      {
        summary: "take over another system's configuration",
        notes:
          'Languages go to languages.json in the state directory, and the files of the folder with prompts become snippets. ' +
          'Exit code: 78 if a language or snippet was not taken over because it is invalid, or because another one is there.',
      },
    ),
} as const satisfies Single;

export type SnippetsCommand = LineOf<typeof SNIPPETS>;
export type ImportCommand = LineOf<typeof IMPORT>;
