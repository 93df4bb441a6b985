/** `snippets …` and `import`: their options and help. */
import type { Command as Program } from 'commander';
import { addNotes, jsonOption, type Settle } from '../terminal/define.ts';

export type SnippetsCommand = { readonly command: 'snippets'; readonly isJson: boolean } & (
  | { readonly action: 'list' }
  | { readonly action: 'show'; readonly name: string }
  | {
      readonly action: 'add';
      /** Name of the snippet, or the file to copy. */
      readonly nameOrFile: string;
      /** Name or alias. */
      readonly language: string | undefined;
      readonly file: string | undefined;
      readonly isForced: boolean;
    }
  | { readonly action: 'rm'; readonly names: readonly string[] }
  | {
      readonly action: 'approve';
      readonly names: readonly string[];
      /** Whether to ask nothing. */
      readonly isSure: boolean;
    }
);

export interface ImportCommand {
  readonly command: 'import';
  readonly file: string;
  readonly isDryRun: boolean;
  readonly isForced: boolean;
  readonly isJson: boolean;
}

interface Flags {
  readonly language?: string;
  readonly file?: string;
  readonly force?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly json?: true;
}

export function defineLanguages(program: Program, settle: Settle<SnippetsCommand | ImportCommand>): void {
  defineSnippets(program, settle);
  const bring = program
    .command('import')
    .summary("take over another system's configuration")
    .description(
      'Take over languages, limits and snippets from the isolator_config.json of the multi-language isolator, and report what could not be taken over.',
    )
    .argument('<file>', 'path of isolator_config.json')
    .option('--dry-run', 'change nothing and show what would be done')
    .option('--force', 'replace languages and snippets that are already there and differ')
    .addOption(jsonOption())
    .action((file: string, { dryRun, force, json }: Flags) =>
      settle({ command: 'import', file, isDryRun: dryRun === true, isForced: force === true, isJson: json === true }),
    );
  addNotes(
    bring,
    'Languages go to languages.json in the state directory, and the files of the folder with prompts become snippets. ' +
      'Exit code: 78 if a language or snippet was not taken over because it is invalid, or because another one is there.',
  );
}

function defineSnippets(program: Program, settle: Settle<SnippetsCommand>): void {
  const group = program
    .command('snippets')
    .summary('store programs that code can run by name')
    .description(
      'List, show, add and remove snippets: programs in any language that code and clients can run by name. Without a subcommand: `snippets list`.',
    )
    .helpCommand(false);
  group
    .command('list')
    .description('List the snippets, and say why one cannot be used.')
    .addOption(jsonOption())
    .action(({ json }: Flags) => settle({ command: 'snippets', action: 'list', isJson: json === true }));
  group
    .command('show')
    .description('Print the code of a snippet.')
    .argument('<snippet>', 'name of the snippet')
    .addOption(jsonOption())
    .action((name: string, { json }: Flags) =>
      settle({ command: 'snippets', action: 'show', name, isJson: json === true }),
    );
  defineAdd(group, settle);
  defineApprove(group, settle);
  group
    .command('rm')
    .description('Remove snippets.')
    .argument('<snippet...>', 'names of snippets, or of their files')
    .addOption(jsonOption())
    .action((names: readonly string[], { json }: Flags) =>
      settle({ command: 'snippets', action: 'rm', names, isJson: json === true }),
    );
}

function defineApprove(group: Program, settle: Settle<SnippetsCommand>): void {
  group
    .command('approve')
    .description('Show shared snippets that are new or have changed, and let them run as they are now.')
    .argument('<snippet...>', 'names of snippets in the folders of MCP_BRIDGE_TOOLBOX')
    .option('-y, --yes', 'do not ask')
    .addOption(jsonOption())
    .action((names: readonly string[], { json, yes }: Flags) =>
      settle({ command: 'snippets', action: 'approve', names, isSure: yes === true, isJson: json === true }),
    );
}

function defineAdd(group: Program, settle: Settle<SnippetsCommand>): void {
  const add = group
    .command('add')
    .description('Store a file as a snippet, or code from standard input.')
    .argument('<name-or-file>', 'the file, which gives the snippet its name and language; or a name')
    .option('--language <language>', 'name or alias of the language; by default that of the extension')
    .option('--file <path>', 'the file with the code, if the snippet gets another name; - for standard input')
    .option('--force', 'replace a snippet of the same name')
    .addOption(jsonOption())
    .action((nameOrFile: string, { file, force, json, language }: Flags) =>
      settle({
        command: 'snippets',
        action: 'add',
        nameOrFile,
        language,
        file,
        isForced: force === true,
        isJson: json === true,
      }),
    );
  addNotes(
    add,
    'A name without --file takes the code from standard input and needs --language. ' +
      'A name has up to 64 letters, digits, hyphens and underscores.',
  );
}
