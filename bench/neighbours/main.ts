/**
 * `npm run bench:neighbours`: installs similar programs from npm into a folder, measures them and the bridge in turn on the same
 * servers, and prints a table or writes it to docs/comparison.md.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { replaceGenerated } from '../../scripts/generate/markers.ts';
import { messageOf } from '../../src/base/errors.ts';
import { findTestEngines } from '../../test/support/engines.ts';
import { createContext } from '../context.ts';
import { parseOptions } from '../options.ts';
import { currentRevision, loadNow } from '../report/report.ts';
import { ECHO } from '../support/servers.ts';
import { median } from '../support/statistics.ts';
import { bridgeOn } from './adapters/bridge.ts';
import { contextMode } from './adapters/context-mode.ts';
import { executor } from './adapters/executor.ts';
import { myCoolProxy } from './adapters/my-cool-proxy.ts';
import { slopMcp } from './adapters/slop-mcp.ts';
import { utcpCodeMode } from './adapters/utcp-code-mode.ts';
import { install } from './install.ts';
import { FIGURES, measureStart, type Samples } from './measure.ts';
import type { Hit, Neighbour, Place, Running } from './neighbour.ts';
import { readSearchSet, recallOf, type SearchSet } from './search.ts';
import { type Line, renderNeighbours } from './table.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/comparison.md', import.meta.url));
const NEIGHBOURS = [executor, utcpCodeMode, slopMcp, myCoolProxy, contextMode];
const SERVERS = { echo: ECHO };
const MAX_REASON_CHARS = 160;
/** The hits of more would be cut in the answer of one cell. */
const QUERIES_AT_ONCE = 40;
const SEARCH_TRIES = 20;
const SEARCH_PAUSE_MS = 500;

const USAGE = `npm run bench:neighbours -- --folder FOLDER [options]

  --folder FOLDER   where the programs are installed, outside of this project
  --rounds N        how often each is measured; 5 by default
  --search FOLDER   also measures the search, with the queries in this folder
  --only NAME       only this program; may be repeated
  --write           writes the table to docs/comparison.md`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      folder: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      search: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
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
    const subjects = await createSubjects(folder, homes, values.only);
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
    await print(renderNeighbours(subjects.map(toLine), factsOf(rounds, load, set)), values.write);
  } finally {
    await rm(homes, { recursive: true, force: true });
  }
}

async function createSubjects(folder: string, homes: string, only: readonly string[]): Promise<Subject[]> {
  const { engines } = await findTestEngines();
  const contexts = await Promise.all(engines.map(({ label }) => createContext(parseOptions(['--engine', label]))));
  const wanted = [...contexts.map(bridgeOn), ...NEIGHBOURS].filter(
    ({ name }) => only.length === 0 || only.some((part) => name.includes(part)),
  );
  const subjects: Subject[] = [];
  for (const neighbour of wanted) {
    console.error(`installing: ${neighbour.name}`);
    const home = await mkdtemp(join(homes, 'home-'));
    const subject: Subject = { neighbour, place: { folder, home, node: process.execPath }, samples: {} };
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
  subject.tokens = started.tokens;
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

function toLine({ neighbour, reason, samples, tokens, recall }: Subject): Line {
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

async function print(table: string, isWritten: boolean): Promise<void> {
  console.log(table);
  if (isWritten) {
    const current = await readFile(DOCUMENT, 'utf8');
    await writeFile(DOCUMENT, replaceGenerated(current, { neighbours: () => table }, ['comparison']));
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
