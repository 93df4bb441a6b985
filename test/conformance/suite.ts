/**
 * The official conformance suite: fetched from npm at a pinned version and run as a process, with its results read from files.
 * It needs Node 22; on an older Node, npm's `node` package runs it.
 */
import { execFile, spawn } from 'node:child_process';
import { createWriteStream, existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import type { Check, Role } from './judge.ts';

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const OLDEST_NODE = 22;
/** The suite appends the time to the name of each folder of results. */
const TIME_SUFFIX = /-\d{4}-\d\d-\d\dT[\d-]+Z$/;

export interface Suite {
  /** Names of the scenarios for a revision, including optional ones. */
  scenarios(role: Role, revision: string): string[];
  /** Resolves when it has ended, in whatever way, because only its results count. Its output goes to the file `log`. */
  run(args: readonly string[], folder: string, log: string): Promise<void>;
}

export async function fetchSuite(): Promise<Suite> {
  const isOld = Number(process.versions.node.split('.')[0]) < OLDEST_NODE;
  const packages = [SUITE, ...(isOld ? ['node@24'] : [])].map((name) => `--package=${name}`);
  // Its path is looked up once, because starting it through npm takes seconds.
  const print = 'command -v conformance && command -v node';
  const { stdout } = await promisify(execFile)('npm', ['exec', '--yes', ...packages, '-c', print]);
  const [script = '', node = ''] = stdout
    .trim()
    .split('\n')
    .map((path) => realpathSync(path));
  return {
    scenarios: (role, revision) => readScenarios(join(dirname(script), '../requirements', `${revision}.yaml`), role),
    async run(args, folder, log) {
      const output = createWriteStream(log);
      const child = spawn(node, [script, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
      child.stdout.pipe(output, { end: false });
      child.stderr.pipe(output, { end: false });
      await new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('close', resolve);
      });
      await finished(output.end());
    },
  };
}

interface Requirements {
  readonly server: readonly string[];
  readonly client: readonly string[];
  readonly not_scored: readonly { readonly scenario: string; readonly leg: string }[];
}

function readScenarios(path: string, role: Role): string[] {
  const requirements = parse(readFileSync(path, 'utf8')) as Requirements;
  const others = requirements.not_scored.filter(({ leg }) => leg === role).map(({ scenario }) => scenario);
  return [...requirements[role], ...others];
}

/** The checks that the suite wrote below `folder`, one entry for each run of a scenario. */
export function readResults(role: Role, folder: string): { scenario: string; checks: Check[] | undefined }[] {
  const prefix = role === 'server' ? 'server-' : '';
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => TIME_SUFFIX.test(path))
    .map((path) => {
      const file = join(folder, path, 'checks.json');
      return {
        scenario: path.replace(TIME_SUFFIX, '').slice(prefix.length),
        checks: existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Check[]) : undefined,
      };
    });
}
