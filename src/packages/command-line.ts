/** `packages …`: manages the package store. */
import { type Command, InvalidArgumentError } from 'commander';
import { parseDurationMs } from '../base/units.ts';
import { addNotes, jsonOption, type Settle } from '../terminal/define.ts';
import { parseRequirement, type Requirement } from './requirement.ts';

export interface PackagesCommand {
  readonly command: 'packages';
  readonly action: 'list' | 'show' | 'add' | 'remove' | 'prune' | 'lock';
  /** Packages, or ids of sets or their beginnings. */
  readonly names: readonly string[];
  /** What to add. */
  readonly requirements: readonly Requirement[];
  /** A requirements file with more to add. */
  readonly file: string | undefined;
  /** The file for the lock; stdout if undefined. */
  readonly output: string | undefined;
  /** Of `prune`: how long a set may be unused; the setting if undefined. */
  readonly maxAgeMs: number | undefined;
  /** Of `prune`: removes everything that is not in use. */
  readonly isAll: boolean;
  readonly isJson: boolean;
}

interface Given {
  readonly requirements?: string;
  readonly output?: string;
  readonly olderThan?: number;
  readonly all?: true;
  readonly json?: true;
}

const SELECTION = 'names of packages, or ids of sets or their beginnings';

export function definePackages(program: Command, settle: Settle<PackagesCommand>): void {
  const group = program
    .command('packages')
    .summary('list, add and remove Python packages for sessions')
    .description(
      'List, add and remove the Python packages that sessions can import. Without a subcommand: `packages list`.',
    )
    .helpCommand(false);
  const take =
    (action: PackagesCommand['action']) =>
    (names: readonly string[], { all, json, olderThan, output, requirements: file }: Given): void =>
      settle({
        command: 'packages',
        action,
        names: action === 'add' ? [] : names,
        requirements: action === 'add' ? names.map(parseRequirement) : [],
        file,
        output,
        maxAgeMs: olderThan,
        isAll: all === true,
        isJson: json === true,
      });

  defineViews(group, take);
  defineAdd(group, take);
  defineRemovals(group, take);
}

type Take = (action: PackagesCommand['action']) => (names: readonly string[], given: Given) => void;

function defineViews(group: Command, take: Take): void {
  group
    .command('list')
    .description('List the sets of packages in the store, the last used first.')
    .addOption(jsonOption())
    .action((given: Given) => take('list')([], given));
  group
    .command('show')
    .description('Show what the sets of a package contain: versions, hashes, sizes, and the requests that led to them.')
    .argument('<package...>', SELECTION)
    .addOption(jsonOption())
    .action(take('show'));
  const lock = group
    .command('lock')
    .description('Print the versions and hashes of all sets, or of those named, as a requirements file for pip.')
    .argument('[package...]', SELECTION)
    .option('--output <file>', 'file to write instead')
    .addOption(jsonOption())
    .action(take('lock'));
  addNotes(lock, 'Elsewhere, `packages add -r FILE` fetches the same files.');
}

function defineAdd(group: Command, take: Take): void {
  const add = group
    .command('add')
    .description('Fetch packages into the store. Sessions then import them without asking anyone.')
    .argument('[requirement...]', 'packages, with or without versions: pandas or "pandas>=2"', readRequirement)
    .option('-r, --requirements <file>', 'requirements file; with hashes, exactly those files are fetched')
    .addOption(jsonOption())
    .action(take('add'));
  addNotes(
    add,
    'Reads the same settings for indexes and proxies as the bridge. Exit code: 69 if a package is not available.',
  );
}

function defineRemovals(group: Command, take: Take): void {
  const remove = group
    .command('remove')
    .description('Remove sets, or every set with a package.')
    .argument('<package...>', SELECTION)
    .addOption(jsonOption())
    .action(take('remove'));
  addNotes(remove, 'A set that a session uses stays. Exit code: 75 if one did.');
  const prune = group
    .command('prune')
    .description('Apply the limits of the store: sets go that were not used for long, then the least recently used.')
    .option('--older-than <duration>', 'how long a set may be unused (default: MCP_BRIDGE_PACKAGES_MAX_AGE)', readAge)
    .option('--all', 'remove everything that no session uses')
    .addOption(jsonOption())
    .action((given: Given) => take('prune')([], given));
  addNotes(
    prune,
    'The same request gets the same files again. `packages remove` also forgets the request, and --older-than what sessions have asked for and not used since.',
  );
}

function readRequirement(text: string, before: readonly string[] = []): string[] {
  try {
    return [...before, parseRequirement(text).text];
  } catch {
    throw new InvalidArgumentError('It must be a package with or without versions, such as pandas or "pandas>=2".');
  }
}

function readAge(text: string): number {
  const ms = parseDurationMs(text);
  if (!(ms >= 1)) {
    throw new InvalidArgumentError('It must be a duration such as 12h or 30d.');
  }
  return ms;
}
