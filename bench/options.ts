/** The command line of the benchmark. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PACKAGE_ROOT } from '../src/core/base/package.ts';

export interface Options {
  /** Label of a test engine (`podman`, `docker`, `bubblewrap` …); by default, the first that runs containers, or the first. */
  readonly engine: string | undefined;
  /** Names of measures; empty means all. */
  readonly only: readonly string[];
  /** File to write the report to. */
  readonly saveFile: string | undefined;
  /** File of an earlier report to compare with. */
  readonly compareFile: string | undefined;
  readonly isQuick: boolean;
  readonly isHelp: boolean;
  /** The built command to measure. */
  readonly script: string;
}

export const USAGE = `npm run bench -- [options]

  --engine NAME   podman, podman-rootless, docker, bubblewrap or embedded; by default the first
                  usable container engine, or else the first usable engine
  --only NAME     run only this measure; may be repeated
  --quick         a fifth of the repetitions
  --save FILE     write figures, floors, machine, load and revision to FILE, as JSON
  --compare FILE  compare with a run that was saved to FILE
  --command FILE  measure this script instead of dist/cli.js, to compare two builds

MCP_BRIDGE_IMAGE selects another image for containers.
`;

/** Throws a TypeError that names an unknown option. */
export function parseOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      engine: { type: 'string' },
      only: { type: 'string', multiple: true },
      save: { type: 'string' },
      compare: { type: 'string' },
      quick: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      command: { type: 'string' },
    },
  });
  return {
    engine: values.engine,
    only: values.only ?? [],
    saveFile: values.save,
    compareFile: values.compare,
    isQuick: values.quick === true,
    isHelp: values.help === true,
    script: values.command ?? fileURLToPath(new URL('dist/cli.js', PACKAGE_ROOT)),
  };
}
