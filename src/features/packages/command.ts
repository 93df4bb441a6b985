/** `packages …`: manages the package store. */
import { InvalidArgumentError } from 'commander';
import { action, argument, duration, flag, type Group, type LineOf, option } from '../../edges/terminal/define.ts';
import { parseRequirement, type Requirement } from './requirement.ts';

const SELECTION = 'names of packages, or ids of sets or their beginnings';

export const PACKAGES = {
  command: 'packages',
  summary: 'list, add and remove Python packages for sessions',
  description: 'List, add and remove the Python packages that sessions can import.',
  defaultAction: 'list',
  actions: () => ({
    list: action('List the sets of packages in the store, the last used first.', {}),
    show: action(
      'Show what the sets of a package contain: versions, hashes, sizes, and the requests that led to them.',
      { names: argument('<package...>', SELECTION) },
    ),
    lock: action(
      'Print the versions and hashes of all sets, or of those named, as a requirements file for pip.',
      { names: argument('[package...]', SELECTION), output: option('--output <file>', 'file to write instead') },
      { notes: 'Elsewhere, `packages add -r FILE` fetches the same files.' },
    ),
    add: action(
      'Fetch packages into the store. Sessions then import them without asking anyone.',
      {
        requirements: argument(
          '[requirement...]',
          'packages, with or without versions: pandas or "pandas>=2"',
          readRequirement,
        ),
        file: option('-r, --requirements <file>', 'requirements file; with hashes, exactly those files are fetched'),
      },
      {
        notes:
          'Reads the same settings for indexes and proxies as the bridge. Exit code: 69 if a package is not available.',
      },
    ),
    remove: action(
      'Remove sets, or every set with a package.',
      { names: argument('<package...>', SELECTION) },
      { notes: 'A set that a session uses stays. Exit code: 75 if one did.' },
    ),
    prune: action(
      'Apply the limits of the store: sets go that were not used for long, then the least recently used.',
      {
        maxAgeMs: option(
          '--older-than <duration>',
          'how long a set may be unused (default: MCP_BRIDGE_PACKAGES_MAX_AGE)',
          duration('a duration such as 12h or 30d', 1, Infinity),
        ),
        isAll: flag('--all', 'remove everything that no session uses'),
      },
      {
        notes:
          'The same request gets the same files again. `packages remove` also forgets the request, and --older-than what sessions have asked for and not used since.',
      },
    ),
  }),
} as const satisfies Group;

export type PackagesCommand = LineOf<typeof PACKAGES>;

function readRequirement(text: string): Requirement {
  try {
    return parseRequirement(text);
  } catch {
    throw new InvalidArgumentError('It must be a package with or without versions, such as pandas or "pandas>=2".');
  }
}
