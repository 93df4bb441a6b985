/** `packages`: lists, shows, adds, removes and locks what is in the package store. */

import { writeFile } from 'node:fs/promises';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { renderJson } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { sizeText } from '../../core/base/units.ts';
import { readBounded } from '../../core/state/state-files.ts';
import { detectEngine } from '../../edges/engines/detect.ts';
import { settleEngine } from '../../edges/engines/probe.ts';
import { engineOptions } from '../../edges/settings/engine-options.ts';
import { type CommandContext, type CommandHost, carryOut, type LineFor } from '../../edges/terminal/command.ts';
import { startProgress } from '../../edges/terminal/progress-line.ts';
import { addPackages } from './add.ts';
import { unite } from './added.ts';
import type { BuilderOptions } from './build.ts';
import { readBuilderProgram } from './builder-program.ts';
import type { PackagesCommand } from './command.ts';
import { refuseIfOff } from './consent.ts';
import { createPackageLocks, type PackageLocks } from './locks.ts';
import { readPackageIndex } from './package-index.ts';
import { progressOf } from './progress.ts';
import type { LockedPackage } from './report.ts';
import { normalizeName } from './requirement.ts';
import { type FileRequirement, parseRequirementsFile, renderLock } from './requirements-file.ts';
import { describePackage, describeSet, type KnownSet, knownSets, renderSets, renderStore } from './set-list.ts';
import { listStore, pruneStore, type Removed, removeSets, type StoreContent } from './store.ts';
import { StoreBudget, storesOf } from './store-budget.ts';

export type PackagesRunOptions = CommandContext & Pick<CommandHost, 'env' | 'writeOut' | 'writeError'>;

/** Of the operator, or of a principal of HTTP. */
interface Store {
  readonly builder: BuilderOptions;
  readonly locks: PackageLocks;
  /** Undefined for the operator. */
  readonly owner: string | undefined;
  readonly budget: StoreBudget;
  readonly maxBytes: number;
}

/** `builder` and `locks` are those of the operator. */
interface Work extends PackagesRunOptions, Pick<Store, 'builder' | 'locks'> {
  readonly open: (folder: string, owner?: string) => Promise<Store>;
  readonly print: (json: unknown, text: string) => void;
}

/** `EX_TEMPFAIL` of sysexits.h: it can be removed when the session has ended. */
const IN_USE_EXIT_CODE = 75;
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Resolves with the exit code. Rejects with `PACKAGE_UNAVAILABLE`, `USAGE_INVALID` for a name that the store does not have or a file
 * that cannot be read, `CALL_REFUSED` if packages are off, and with the errors of an engine that cannot start.
 */
export async function packages(command: PackagesCommand, options: PackagesRunOptions): Promise<number> {
  const { logger, settings, writeOut } = options;
  // The store may hold something even if sessions may not install anything now.
  const mode = settings.packages === 'off' ? 'common' : settings.packages;
  const program = await readBuilderProgram();
  const open = async (folder: string, owner?: string): Promise<Store> => {
    const engine = detectEngine(engineOptions({ ...settings, packages: mode }, logger, folder));
    // The store is that of the engine that sessions get.
    await settleEngine(engine);
    const { packagesMaxBytes, stateDir } = settings;
    const isOwn = owner === undefined;
    return {
      owner,
      builder: { engine, program },
      locks: createPackageLocks(folder),
      budget: new StoreBudget(folder, isOwn ? undefined : stateDir),
      maxBytes: isOwn ? packagesMaxBytes : Math.ceil(packagesMaxBytes / 2),
    };
  };
  const { builder, locks } = await open(settings.stateDir);
  const work: Work = {
    ...options,
    open,
    builder,
    locks,
    print: (json, text) => writeOut(command.isJson ? renderJson(json) : text),
  };
  return carryOut({ list, show, add, remove, prune, lock }, command, work);
}

async function readStore({
  builder,
  locks,
}: Pick<Store, 'builder' | 'locks'>): Promise<StoreContent & { readonly known: readonly KnownSet[] }> {
  const content = await listStore(builder);
  return { ...content, known: knownSets(content.sets, await locks.all()) };
}

/** All stores, first that of the operator. */
async function allStores({ open, settings }: Work): Promise<Store[]> {
  const others = (await storesOf(settings.stateDir)).map(({ folder, owner }) => open(folder, owner));
  return Promise.all([open(settings.stateDir), ...others]);
}

async function list(_command: LineFor<PackagesCommand, 'list'>, work: Work): Promise<number> {
  const { bytes, known } = await readStore(work);
  const maxBytes = work.settings.packagesMaxBytes;
  const others = await storesOf(work.settings.stateDir);
  const principals = others.map(({ bytes: taken, owner }) => ({ owner, bytes: taken }));
  const ofOthers = others.map(({ bytes: taken, owner }) => `${owner} ${sizeText(taken)}`).join(', ');
  const text = `${renderStore(known, bytes, maxBytes)}${ofOthers === '' ? '' : `Tokens have stores of their own: ${ofOthers}.\n`}`;
  work.print({ bytes, maxBytes, sets: known.map(describeSet), ...(others.length > 0 && { principals }) }, text);
  return 0;
}

async function show({ names }: LineFor<PackagesCommand, 'show'>, work: Work): Promise<number> {
  const { known } = await readStore(work);
  const chosen = await choose(names, known);
  work.print(chosen.map(describeSet), renderSets(chosen));
  return 0;
}

async function add(command: LineFor<PackagesCommand, 'add'>, work: Work): Promise<number> {
  const { builder, env, locks, settings, writeError } = work;
  const wanted = await wantedOf(command);
  if (settings.preinstall === undefined) {
    refuseIfOff(settings.packages, wanted);
  }
  let shown = '';
  const writePlain = (message: string): void => {
    // Without a line to redraw, each stage once.
    const stage = message.replace(/:.*/, '');
    if (stage !== shown) {
      shown = stage;
      writeError(`${message}\n`);
    }
  };
  const progress = await startProgress({ isJson: command.isJson, writePlain, endsAtSignals: true });
  const messageOfReport = progressOf();
  const done = await addPackages(wanted, {
    ...builder,
    index: await readPackageIndex(env),
    minAgeMs: settings.packagesMinAgeMs,
    image: settings.image,
    locks,
    maxBytes: settings.packagesMaxBytes,
    maxAgeMs: settings.packagesMaxAgeMs,
    usedAt: await locks.usedAt(),
    onProgress: (report) => (command.isJson ? undefined : progress.update(messageOfReport(report))),
  }).finally(() => progress.stop());
  const names = done.packages.map(({ name, version }) => `${name} ${version}`).join(', ');
  const text =
    done.set === null
      ? 'Nothing was added: the image has these packages.\n'
      : `Added ${names}.\nFetched: ${sizeText(done.fetched_bytes)}. Set: ${done.set.slice(0, 12)}.\n`;
  const { fetched_bytes: fetchedBytes, python, set } = done;
  await work.recordPackages({ packages: done.packages, fetchedBytes });
  work.print({ set, python, packages: done.packages.map(describePackage), fetchedBytes }, text);
  return 0;
}

async function wantedOf({ file, requirements }: LineFor<PackagesCommand, 'add'>): Promise<FileRequirement[]> {
  const stated = requirements.map((one) => ({ ...one, hashes: [] }));
  const inFile = file === undefined ? [] : parseRequirementsFile(await readFileOf(file), file);
  const all = [...stated, ...inFile];
  if (all.length === 0) {
    throw new BridgeError('USAGE_INVALID', 'no package was named', { hint: `Run: ${COMMAND} packages add pandas` });
  }
  if (stated.length > 0 && inFile.some(({ hashes }) => hashes.length > 0)) {
    throw new BridgeError('USAGE_INVALID', `${file} has hashes, so nothing can be added to it`, {
      hint: 'Use two commands.',
    });
  }
  return all;
}

async function readFileOf(file: string): Promise<string> {
  try {
    return (await readBounded(file, MAX_FILE_BYTES)).toString('utf8');
  } catch (error) {
    throw new BridgeError('USAGE_INVALID', `${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

async function remove({ names }: LineFor<PackagesCommand, 'remove'>, work: Work): Promise<number> {
  const stores = await Promise.all(
    (await allStores(work)).map(async (store) => ({ store, known: (await readStore(store)).known })),
  );
  const chosen = await choose(
    names,
    stores.flatMap(({ known }) => known),
  );
  const removed: Removed[] = [];
  for (const { known, store } of stores) {
    const ids = known.map(({ id }) => id).filter((id) => chosen.some((one) => one.id === id));
    if (ids.length > 0) {
      // biome-ignore lint/performance/noAwaitInLoops: one builder after the other.
      const ofStore = await removeSets(ids, store.builder);
      await store.locks.forget(new Set(ofStore.sets));
      await store.budget.note(ofStore.store_bytes);
      removed.push(ofStore);
    }
  }
  return reportRemoved(chosen, together(removed), work);
}

async function prune({ isAll, maxAgeMs }: LineFor<PackagesCommand, 'prune'>, work: Work): Promise<number> {
  const rows: KnownSet[] = [];
  const removed: Removed[] = [];
  for (const { budget, builder, locks, maxBytes } of await allStores(work)) {
    // biome-ignore lint/performance/noAwaitInLoops: one builder after the other.
    const { known } = await readStore({ builder, locks });
    const age = maxAgeMs ?? work.settings.packagesMaxAgeMs;
    const limits = { maxBytes: isAll ? 0 : maxBytes, maxAgeMs: age, usedAt: await locks.usedAt() };
    const ofStore = await pruneStore(limits, builder);
    await budget.note(ofStore.store_bytes);
    if (maxAgeMs !== undefined) {
      await locks.forgetUnused(maxAgeMs);
    }
    rows.push(...known.filter(({ id }) => ofStore.sets.includes(id)));
    removed.push(ofStore);
  }
  printRemoved(rows, [], together(removed), work);
  return 0;
}

function together(removed: readonly Removed[]): Removed {
  return { sets: removed.flatMap(({ sets }) => sets), bytes: removed.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Reports what was removed and what stays, because a session uses it. */
function reportRemoved(chosen: readonly KnownSet[], removed: Removed, work: Work): number {
  const [gone, kept] = [true, false].map((isGone) => chosen.filter(({ id }) => removed.sets.includes(id) === isGone));
  printRemoved(gone ?? [], kept ?? [], removed, work);
  if (kept === undefined || kept.length === 0) {
    return 0;
  }
  work.writeError(`A session uses what was kept. To see the sessions, run: ${COMMAND} sessions list\n`);
  return IN_USE_EXIT_CODE;
}

function printRemoved(gone: readonly KnownSet[], kept: readonly KnownSet[], { bytes }: Removed, { print }: Work): void {
  const all = [
    ...gone.map((set) => ({ ...set, outcome: 'removed' })),
    ...kept.map((set) => ({ ...set, outcome: 'in use, kept' })),
  ];
  const json = { removed: gone.map(describeSet), kept: kept.map(describeSet), bytes };
  const rows = all.map(({ id, outcome, packages: held }) => `${id.slice(0, 12)}  ${outcome}  ${namesOf(held)}\n`);
  const freed = gone.length === 0 ? '' : `Freed: ${sizeText(bytes)}.\n`;
  print(json, all.length === 0 ? 'There is nothing to remove.\n' : `${rows.join('')}${freed}`);
}

function namesOf(held: readonly LockedPackage[]): string {
  return held.map(({ name, version }) => `${name} ${version}`).join(', ');
}

async function lock({ isJson, names, output }: LineFor<PackagesCommand, 'lock'>, work: Work): Promise<number> {
  const { known } = await readStore(work);
  const chosen = names.length === 0 ? known : await choose(names, known);
  const [first] = chosen;
  if (first === undefined) {
    throw new BridgeError('USAGE_INVALID', 'the package store is empty', {
      hint: `Run: ${COMMAND} packages add pandas`,
    });
  }
  const held = uniteSets(chosen);
  const json = { python: first.python, packages: held.map(describePackage) };
  const text = isJson ? renderJson(json) : renderLock(held, first.python);
  if (output === undefined) {
    work.writeOut(text);
    return 0;
  }
  try {
    await writeFile(output, text);
  } catch (error) {
    throw new BridgeError('STATE_WRITE_FAILED', `the lock could not be written to ${output}: ${messageOf(error)}`, {
      hint: 'Choose another file with --output.',
      cause: error,
    });
  }
  work.writeError(`Wrote ${output}.\n`);
  return 0;
}

/** The packages of all the sets. Throws `USAGE_INVALID` if no Python can have all of them. */
function uniteSets(sets: readonly KnownSet[]): readonly LockedPackage[] {
  let all: readonly LockedPackage[] = [];
  for (const { id, packages: held, python } of sets) {
    const united = python === sets[0]?.python ? unite(all, held) : undefined;
    if (united === undefined) {
      const ids = sets.map((set) => set.id.slice(0, 12)).join(', ');
      throw new BridgeError(
        'USAGE_INVALID',
        `set ${id.slice(0, 12)} has other versions, or is for another Python, so the sets ${ids} have no common lock`,
        { hint: `Name one of them: ${COMMAND} packages lock ${id.slice(0, 12)}` },
      );
    }
    all = united;
  }
  return all;
}

/** The sets that the words name. Throws `USAGE_INVALID` for one that names none. */
async function choose(words: readonly string[], known: readonly KnownSet[]): Promise<KnownSet[]> {
  const found = await Promise.all(words.map((word) => chooseOne(word, known)));
  return [...new Set(found.flat())];
}

/** Chosen: shorter ones could be the name of a package. */
const MIN_ID_CHARS = 6;

async function chooseOne(word: string, known: readonly KnownSet[]): Promise<KnownSet[]> {
  const name = normalizeName(word);
  const isId = word.length >= MIN_ID_CHARS && /^[0-9a-f]+$/.test(word);
  const found = known.filter(
    ({ id, packages: held }) => (isId && id.startsWith(word)) || held.some((one) => normalizeName(one.name) === name),
  );
  if (found.length === 0) {
    const names = new Set(known.flatMap(({ packages: held }) => held.map((one) => normalizeName(one.name))));
    throw new BridgeError(
      'USAGE_INVALID',
      `the store has no package or set '${word}'.${await didYouMean(word, [...names])}`,
      { hint: `Run: ${COMMAND} packages list` },
    );
  }
  return found;
}
