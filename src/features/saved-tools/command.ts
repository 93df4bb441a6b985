/** `tools …`: the functions that code has kept, and those of shared folders. */
import {
  action,
  argument,
  flag,
  type Group,
  type LineOf,
  option,
  required,
  wholeNumber,
} from '../../edges/terminal/define.ts';

const MAX_VERSION = 1_000_000;
const readVersion = wholeNumber('the number of a version', 1, MAX_VERSION);

export const TOOLS = {
  command: 'tools',
  summary: 'show and change functions kept by code',
  description: 'Show and change functions that code has kept with `save_tool`.',
  defaultAction: 'list',
  actions: () => ({
    list: action('List the functions, their origin, and whether sessions load them.', {}),
    show: action('Print the source of a function; with --json, also what is known about it and its versions.', {
      name: argument('<function>', 'name of the function'),
      version: option('--version <number>', 'an earlier version', readVersion),
    }),
    diff: action(
      'Show what changed in a function.',
      {
        name: argument('<function>', 'name of the function'),
        from: argument('[from]', 'number of the older version', readVersion),
        to: argument('[to]', 'number of the newer version; by default, the file as it is', readVersion),
      },
      { notes: 'Without numbers: what was changed by hand since it was accepted; if nothing was, the last change.' },
    ),
    edit: action('Open a function in $VISUAL or $EDITOR, and store it as a new version.', {
      name: argument('<function>', 'name of the function'),
    }),
    rm: action('Delete functions with all their versions.', {
      names: argument('<function...>', 'names of functions'),
    }),
    approve: action(
      'Print functions that were changed by hand or are shared, and allow sessions to load them.',
      { names: argument('<function...>', 'names of functions'), isSure: flag('-y, --yes', 'do not ask') },
      { notes: 'Without --yes, you are asked at the terminal after you have seen the source.' },
    ),
    export: action('Write functions to a folder, one file each, or as one JSON text to standard output.', {
      names: argument('[function...]', 'names of functions; by default, all'),
      path: required('--to <folder>', 'the folder; - is standard output'),
      isForced: flag('--force', 'overwrite files'),
    }),
    import: action(
      'Keep the functions of a folder, of one file NAME.py, or of a JSON text from `tools export`.',
      {
        path: argument('<path>', 'folder or file; - reads the JSON text from standard input'),
        isForced: flag('--force', 'replace functions of the same name'),
        isSure: flag('-y, --yes', 'do not ask'),
      },
      { notes: 'Without --yes, you are asked at the terminal after you have seen the sources.' },
    ),
  }),
} as const satisfies Group;

export type ToolsCommand = LineOf<typeof TOOLS>;
