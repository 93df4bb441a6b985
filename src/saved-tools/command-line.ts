/** `tools …`: the functions that code has kept, and those of shared folders. */
import type { Command as Program } from 'commander';
import { addNotes, jsonOption, type Settle, wholeNumber } from '../terminal/define.ts';

/** A parsed command line of the group. */
export interface ToolsCommand {
  readonly command: 'tools';
  readonly action: 'list' | 'show' | 'diff' | 'edit' | 'rm' | 'approve' | 'export' | 'import';
  readonly names: readonly string[];
  /** Numbers of versions: the one to show, or those to compare. */
  readonly versions: readonly number[];
  /** The file or folder of `export` and `import`; - is a stream. */
  readonly path: string;
  readonly isForced: boolean;
  /** Whether nothing is asked. */
  readonly isSure: boolean;
  readonly isJson: boolean;
}

interface Options {
  readonly version?: number;
  readonly to?: string;
  readonly force?: true;
  readonly yes?: true;
  readonly json?: true;
}

const MAX_VERSION = 1_000_000;
const version = wholeNumber('the number of a version', 1, MAX_VERSION);

export function defineTools(program: Program, settle: Settle<ToolsCommand>): void {
  const group = program
    .command('tools')
    .summary('show and change functions kept by code')
    .description('Show and change functions that code has kept with `save_tool`. Without a subcommand: `tools list`.')
    .helpCommand(false);
  const take: Take = (action, given, { force, json, yes }) =>
    settle({
      command: 'tools',
      action,
      names: [],
      versions: [],
      path: '-',
      ...given,
      isForced: force === true,
      isSure: yes === true,
      isJson: json === true,
    });

  group
    .command('list')
    .description('List the functions, their origin, and whether sessions load them.')
    .addOption(jsonOption())
    .action((options: Options) => take('list', {}, options));
  group
    .command('show')
    .description('Print the source of a function; with --json, also what is known about it and its versions.')
    .argument('<function>', 'name of the function')
    .option('--version <number>', 'an earlier version', version)
    .addOption(jsonOption())
    .action((name: string, options: Options) =>
      take('show', { names: [name], versions: options.version === undefined ? [] : [options.version] }, options),
    );
  const diff = group
    .command('diff')
    .description('Show what changed in a function.')
    .argument('<function>', 'name of the function')
    .argument('[from]', 'number of the older version', version)
    .argument('[to]', 'number of the newer version; by default, the file as it is', version)
    .addOption(jsonOption())
    .action((name: string, from: number | undefined, to: number | undefined, options: Options) =>
      take('diff', { names: [name], versions: [from, to].filter((number) => number !== undefined) }, options),
    );
  addNotes(diff, 'Without numbers: what was changed by hand since it was accepted; if nothing was, the last change.');
  defineChanges(group, take);
  defineTransfer(group, take);
}

type Take = (action: ToolsCommand['action'], given: Partial<ToolsCommand>, options: Options) => void;

function defineChanges(group: Program, take: Take): void {
  group
    .command('edit')
    .description('Open a function in $VISUAL or $EDITOR, and store it as a new version.')
    .argument('<function>', 'name of the function')
    .addOption(jsonOption())
    .action((name: string, options: Options) => take('edit', { names: [name] }, options));
  group
    .command('rm')
    .description('Delete functions with all their versions.')
    .argument('<function...>', 'names of functions')
    .addOption(jsonOption())
    .action((names: string[], options: Options) => take('rm', { names }, options));
  const approve = group
    .command('approve')
    .description('Print functions that were changed by hand or are shared, and allow sessions to load them.')
    .argument('<function...>', 'names of functions')
    .option('-y, --yes', 'do not ask')
    .addOption(jsonOption())
    .action((names: string[], options: Options) => take('approve', { names }, options));
  addNotes(approve, 'Without --yes, you are asked at the terminal after you have seen the source.');
}

function defineTransfer(group: Program, take: Take): void {
  group
    .command('export')
    .description('Write functions to a folder, one file each, or as one JSON text to standard output.')
    .argument('[function...]', 'names of functions; by default, all')
    .requiredOption('--to <folder>', 'the folder; - is standard output')
    .option('--force', 'overwrite files')
    .addOption(jsonOption())
    .action((names: string[], options: Options) => take('export', { names, path: options.to ?? '-' }, options));
  const load = group
    .command('import')
    .description('Keep the functions of a folder, of one file NAME.py, or of a JSON text from `tools export`.')
    .argument('<path>', 'folder or file; - reads the JSON text from standard input')
    .option('--force', 'replace functions of the same name')
    .option('-y, --yes', 'do not ask')
    .addOption(jsonOption())
    .action((path: string, options: Options) => take('import', { path }, options));
  addNotes(load, 'Without --yes, you are asked at the terminal after you have seen the sources.');
}
