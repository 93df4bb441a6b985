/**
 * `npm run lab -- neighbours`: installs similar programs from npm and PyPI into a folder, measures them and the bridge in turn on the same
 * servers, and prints two tables or writes them to bench/neighbours/README.md.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { replaceGenerated } from '../../scripts/generate/markers.ts';
import { messageOf } from '../../src/core/base/errors.ts';
import { findTestEngines } from '../../test/support/engines.ts';
import { createContext } from '../context.ts';
import { parseOptions } from '../options.ts';
import { currentRevision, loadNow } from '../report/report.ts';
import { median } from '../support/statistics.ts';
import { bridgeOn } from './adapters/bridge.ts';
import { contextMode } from './adapters/context-mode.ts';
import { executor } from './adapters/executor.ts';
import { myCoolProxy } from './adapters/my-cool-proxy.ts';
import { fastmcpCodeMode, ipython, jupyterMcpServer, monty, smolagents } from './adapters/python-programs.ts';
import { slopMcp } from './adapters/slop-mcp.ts';
import { utcpCodeMode } from './adapters/utcp-code-mode.ts';
import { type Behaviour, findMissing, readBehaviours } from './behaviours.ts';
import { install } from './install.ts';
import { FIGURES, measureStart, type Samples } from './measure.ts';
import type { Hit, Neighbour, Place, Running } from './neighbour.ts';
import { readSearchSet, recallOf, type SearchSet } from './search.ts';
import { type Line, renderNeighbours, renderPython } from './table.ts';

const DOCUMENT = fileURLToPath(new URL('README.md', import.meta.url));
const FROM_NPM = [executor, utcpCodeMode, slopMcp, myCoolProxy, contextMode];
const FROM_PYPI = [ipython, jupyterMcpServer, fastmcpCodeMode, smolagents, monty];
const ECHO = fileURLToPath(new URL('echo-server.mjs', import.meta.url));
const SERVERS = { echo: { command: process.execPath, args: [ECHO] } };
const MAX_REASON_CHARS = 160;
/** The hits of more would be cut in the answer of one cell. */
const QUERIES_AT_ONCE = 40;
const SEARCH_TRIES = 20;
const SEARCH_PAUSE_MS = 500;
const MAX_SEEN_CHARS = 300;

const USAGE = `npm run lab -- neighbours --folder FOLDER [options]

  --folder FOLDER   where the programs are installed, outside of this project
  --rounds N        how often each is measured; 5 by default
  --search FOLDER   also measures the search, with the queries in this folder
  --only NAME       only programs with this in their name; may be repeated
  --from npm|pypi   only programs from this registry, and the bridge
  --show            prints what was seen for each behaviour of Python that does not hold
  --write           writes the tables to bench/neighbours/README.md`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      folder: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      search: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      from: { type: 'string' },
      show: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return values;
}

/** A neighbour in the course of the measurement. */
interface Subject {
  readonly neighbour: Neighbour;
  place: Place;
  readonly samples: Samples;
  tokens?: number;
  recall?: number | undefined;
  hasState?: boolean | undefined;
  /** Of the documented behaviours of Python. */
  held?: number;
  /** Why it is not measured any further. */
  reason?: string;
}

async function main(): Promise<void> {
  const values = readArguments();
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const rounds = Number(values.rounds);
  if (values.folder === undefined || !Number.isInteger(rounds) || rounds < 1) {
    throw new Error(`--folder is needed, and --rounds must be a whole number of at least 1.\n\n${USAGE}`);
  }
  const folder = resolve(values.folder);
  await mkdir(folder, { recursive: true });
  const homes = await mkdtemp(join(folder, 'homes-'));
  try {
    const isWanted = ({ name, packages, registry = 'npm' }: Neighbour) =>
      (values.only.length === 0 || values.only.some((part) => name.includes(part))) &&
      (values.from === undefined || values.from === registry || Object.keys(packages).length === 0);
    const subjects = await createSubjects(folder, homes, isWanted);
    const begin = loadNow()[0];
    // The first round fills caches and stores, and does not count.
    for (let round = 0; round <= rounds; round += 1) {
      for (const subject of subjects) {
        await attempt(subject, () => measureRound(subject, round > 0));
      }
    }
    const load = `load ${begin.toFixed(1)} at the start, ${loadNow()[0].toFixed(1)} at the end`;
    const set = values.search === undefined ? undefined : await readSearchSet(values.search, homes);
    if (set !== undefined) {
      for (const subject of subjects) {
        await attempt(subject, () => measureSearch(subject, set, homes));
      }
    }
    const behaviours = await readBehaviours();
    for (const subject of subjects) {
      await attempt(subject, () => checkBehaviours(subject, behaviours, values.show));
    }
    await print(tablesOf(subjects, factsOf(rounds, load, set), behaviours.length), values.write);
  } finally {
    await rm(homes, { recursive: true, force: true });
  }
}

async function createSubjects(
  folder: string,
  homes: string,
  isWanted: (neighbour: Neighbour) => boolean,
): Promise<Subject[]> {
  const { engines } = await findTestEngines();
  const contexts = await Promise.all(engines.map(({ label }) => createContext(parseOptions(['--engine', label]))));
  const wanted = [...contexts.map(bridgeOn), ...FROM_NPM, ...FROM_PYPI].filter(isWanted);
  const subjects: Subject[] = [];
  for (const neighbour of wanted) {
    console.error(`installing: ${neighbour.name}`);
    const home = await mkdtemp(join(homes, 'home-'));
    const subject: Subject = {
      neighbour,
      place: { folder, home, node: process.execPath, python: 'python3' },
      samples: {},
    };
    await attempt(subject, async () => {
      subject.place = { home, ...(await install(neighbour, folder)) };
      await neighbour.prepare(subject.place, SERVERS);
    });
    subjects.push(subject);
  }
  return subjects;
}

/** A neighbour that fails is reported in its line and left out from then on. */
async function attempt(subject: Subject, action: () => Promise<void>): Promise<void> {
  if (subject.reason !== undefined) {
    return;
  }
  try {
    await action();
  } catch (error) {
    subject.reason = messageOf(error)
      .replaceAll(/[\s|]+/g, ' ')
      .slice(0, MAX_REASON_CHARS);
    console.error(`${subject.neighbour.name}: ${messageOf(error)}`);
  }
}

async function measureRound(subject: Subject, counts: boolean): Promise<void> {
  const { neighbour, place, samples } = subject;
  console.error(`measuring: ${neighbour.name}`);
  const started = await measureStart(neighbour, place);
  Object.assign(subject, { tokens: started.tokens, hasState: started.hasState });
  if (counts) {
    for (const figure of FIGURES) {
      samples[figure] = [...(samples[figure] ?? []), ...(started.samples[figure] ?? [])];
    }
  }
}

async function measureSearch(subject: Subject, set: SearchSet, homes: string): Promise<void> {
  const { neighbour, place } = subject;
  const home = await mkdtemp(join(homes, 'search-'));
  const own = { ...place, home };
  await neighbour.prepare(own, set.servers);
  const running = await neighbour.open(own);
  try {
    if (running.search !== undefined) {
      console.error(`searching: ${neighbour.name}`);
      const queries = set.queries.map(({ query }) => query);
      await untilFound(running.search, queries);
      const found: (readonly Hit[])[] = [];
      for (let start = 0; start < queries.length; start += QUERIES_AT_ONCE) {
        found.push(...(await running.search(queries.slice(start, start + QUERIES_AT_ONCE))));
      }
      subject.recall = recallOf(
        set.queries,
        found.map((hits) => hits.map(({ tool }) => tool)),
      );
    }
  } finally {
    await running.close();
  }
}

/** Waits until a search finds anything: a server that is started early may not have listed its tools yet. */
async function untilFound(search: NonNullable<Running['search']>, queries: readonly string[]): Promise<void> {
  for (let left = SEARCH_TRIES; left > 0; left -= 1) {
    if ((await search(queries.slice(0, QUERIES_AT_ONCE))).some((hits) => hits.length > 0)) {
      return;
    }
    await sleep(SEARCH_PAUSE_MS);
  }
}

async function checkBehaviours(subject: Subject, behaviours: readonly Behaviour[], isShown: boolean): Promise<void> {
  const { neighbour, place, hasState } = subject;
  if (hasState === undefined) {
    return;
  }
  console.error(`checking behaviours: ${neighbour.name}`);
  const missing = await findMissing(async () => {
    const { cell, close } = await neighbour.open(place);
    if (cell === undefined) {
      throw new Error('it runs no Python');
    }
    return { cell, close };
  }, behaviours);
  subject.held = behaviours.length - missing.size;
  for (const [name, text] of missing) {
    console.error(`  does not hold: ${name}${isShown ? `\n${text.slice(0, MAX_SEEN_CHARS)}` : ''}`);
  }
}

/** By the names of their places in the document. A table without a program is left as it is. */
function tablesOf(subjects: readonly Subject[], facts: string[], behaviours: number): Record<string, string> {
  const tables: Record<string, string> = {};
  const isFrom = (registry: string) => (subject: Subject) =>
    Object.keys(subject.neighbour.packages).length === 0 || (subject.neighbour.registry ?? 'npm') === registry;
  const npm = subjects.filter(isFrom('npm'));
  const pypi = subjects.filter(isFrom('pypi'));
  if (pypi.length < subjects.length) {
    tables['neighbours'] = renderNeighbours(npm.map(toLine), facts);
  }
  if (npm.length < subjects.length) {
    tables['python-neighbours'] = renderPython(pypi.map(toLine), facts, behaviours);
  }
  return tables;
}

function toLine({ neighbour, reason, samples, tokens, recall, hasState, held }: Subject): Line {
  const medians = FIGURES.flatMap((figure) => {
    const taken = samples[figure] ?? [];
    return taken.length === 0 ? [] : [[figure, median(taken)] as const];
  });
  return {
    neighbour,
    medians: Object.fromEntries(medians),
    ...(reason !== undefined && { reason }),
    ...(tokens !== undefined && { tokens }),
    ...(recall !== undefined && { recall }),
    ...(hasState !== undefined && { hasState }),
    ...(held !== undefined && { held }),
  };
}

function factsOf(rounds: number, load: string, set: SearchSet | undefined): string[] {
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)}, revision ${currentRevision()}`,
    `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.version}`,
    load,
    `medians of ${rounds} starts`,
    ...(set === undefined
      ? []
      : [`search: ${set.queries.length} queries over ${set.tools.toLocaleString('en-US')} tools`]),
  ];
}

async function print(tables: Readonly<Record<string, string>>, isWritten: boolean): Promise<void> {
  console.log(Object.values(tables).join('\n\n'));
  if (isWritten) {
    const current = await readFile(DOCUMENT, 'utf8');
    const parts = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, () => table]));
    const others = ['neighbours', 'python-neighbours'].filter((name) => !(name in tables));
    await writeFile(DOCUMENT, replaceGenerated(current, parts, others));
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(1));
}
try {
  await main();
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
