/** The command line of the benchmark. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PACKAGE_ROOT } from '../src/base/package.ts';

export interface Options {
  /** Label of a test engine (`podman`, `docker`, `bubblewrap` …); when left out, the first that runs containers, or the first. */
  readonly engine: string | undefined;
  /** Names of measures; all when empty. */
  readonly only: readonly string[];
  /** Also write the rows there, as JSON. */
  readonly jsonFile: string | undefined;
  readonly isQuick: boolean;
  readonly isHelp: boolean;
  /** The built command to measure. */
  readonly script: string;
}

export const USAGE = `npm run bench -- [options]

  --engine NAME   podman, podman-rootless, docker, bubblewrap or embedded; by default the first
                  usable one, a container engine if there is one
  --only NAME     measure this alone; may be repeated
  --quick         a fifth of the repetitions
  --json FILE     write the rows to FILE as well
  --command FILE  the script to measure instead of dist/cli.js, to compare two builds

MCP_BRIDGE_IMAGE names another image for the containers.
`;

/** Throws a TypeError that names an option it does not know. */
export function parseOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      engine: { type: 'string' },
      only: { type: 'string', multiple: true },
      json: { type: 'string' },
      quick: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      command: { type: 'string' },
    },
  });
  return {
    engine: values.engine,
    only: values.only ?? [],
    jsonFile: values.json,
    isQuick: values.quick === true,
    isHelp: values.help === true,
    script: values.command ?? fileURLToPath(new URL('dist/cli.js', PACKAGE_ROOT)),
  };
}
