/** What `npm run lab -- NAME` runs, by name. Apart from `lab.ts`, so that tests can read it without running anything. */
import { didYouMean } from '../src/core/base/suggest.ts';

export interface LabEntry {
  /** One line for the table that `npm run lab` prints. */
  readonly what: string;
  /** From the root of the project. */
  readonly file: string;
  /** Whether it uses the built command. */
  readonly needsBuild: boolean;
  readonly nodeOptions?: readonly string[];
}

export const LAB: Readonly<Record<string, LabEntry>> = {
  clients: {
    what: 'install and uninstall with the clients that are on npm: [NAME…]',
    file: 'test/clients/main.ts',
    needsBuild: true,
  },
  comparison: {
    what: 'the same tasks with tools and with code: [--write]',
    file: 'scripts/comparison.ts',
    needsBuild: true,
  },
  conformance: { what: 'the official MCP conformance suite', file: 'test/conformance/main.ts', needsBuild: true },
  load: {
    what: "many clients over HTTP, beside a stranger's flood: [--quick]",
    file: 'bench/load/main.ts',
    needsBuild: true,
  },
  neighbours: {
    what: 'similar programs from npm and PyPI, measured: --folder FOLDER',
    file: 'bench/neighbours/main.ts',
    needsBuild: true,
  },
  nightly: {
    what: 'the benchmarks on every engine, saved and compared with the last run: [--quick]',
    file: 'bench/nightly.ts',
    needsBuild: true,
    nodeOptions: ['--expose-gc'],
  },
  package: {
    what: 'the packed archive: installs it without a registry and runs a cell',
    file: 'scripts/check-package.mjs',
    needsBuild: false,
  },
  packages: {
    what: 'installs the common Python packages and writes their table: ENGINE…',
    file: 'scripts/package-table.ts',
    needsBuild: true,
  },
  picture: { what: 'draws the pictures in README.md from a real run', file: 'scripts/picture.ts', needsBuild: true },
  plan: {
    what: 'simulates many sessions with the costs that load measured: --costs FILE',
    file: 'bench/load/simulate.ts',
    needsBuild: false,
  },
  probes: { what: 'what hostile code can reach, on every engine', file: 'scripts/probes.ts', needsBuild: false },
  profile: {
    what: 'CPU time and allocations by source file: warm, call, calls, first or large',
    file: 'bench/profile/main.ts',
    needsBuild: true,
  },
  'python-clients': {
    what: 'clients and agent frameworks from PyPI: [NAME…] [--write]',
    file: 'test/clients/python/main.ts',
    needsBuild: true,
  },
  'real-servers': {
    what: 'servers from npm and PyPI: [NAME… | npm | python] [--write]',
    file: 'test/real-servers/main.ts',
    needsBuild: false,
  },
  soak: { what: 'random cells, crashes and kills: --minutes N', file: 'test/soak/main.ts', needsBuild: true },
};

/** What `npm run lab` prints. */
export function renderTable(): string {
  const width = Math.max(...Object.keys(LAB).map((name) => name.length));
  const rows = Object.entries(LAB).map(([name, { what, file }]) => `  ${name.padEnd(width)}  ${what} (${file})`);
  return ['npm run lab -- NAME [ARGUMENT…]', '', ...rows].join('\n');
}

/** The error for a name that is not in the table. These had scripts of their own once, such as `bench:load`. */
export async function unknownName(name: string): Promise<string> {
  const known = name.replace(/^(?:bench|test):|:table$/, '');
  return `There is no "${name}".${await didYouMean(known, Object.keys(LAB))} The list: npm run lab`;
}
