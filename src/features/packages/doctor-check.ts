/**
 * What `doctor` reports about packages: which ones code may install, whether that works, and which are there for every session. It
 * starts a builder, as an installation does, because a builder needs more than a session: a network and an index that answers.
 */
import type { BridgeError } from '../../core/base/errors.ts';
import { toBridgeError } from '../../core/base/errors.ts';
import { silentLogger } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import { type Engine, NATIVE_ENGINES, takesPackages } from '../../core/session/engine.ts';
import { detectEngine } from '../../edges/engines/detect.ts';
import { whyUnusable } from '../../edges/engines/probe.ts';
import { engineOptions } from '../../edges/settings/engine-options.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { type Examination, type Finding, problemOf } from '../../edges/terminal/finding.ts';
import { failedBuild, indexOfJob, runBuilder } from './build.ts';
import { readBuilderProgram } from './builder-program.ts';
import { createPackageLocks, type PackageLock } from './locks.ts';
import { type PackageIndex, readPackageIndex } from './package-index.ts';
import { createPackageInstaller } from './packages.ts';
import { WheelFolder } from './pure/wheel-folder.ts';

const MODES = {
  off: 'code cannot install packages (MCP_BRIDGE_PACKAGES=off)',
  common: 'code may install well-known packages; you are asked about all others (MCP_BRIDGE_PACKAGES=common)',
  ask: 'you are asked about each package that code wants to install (MCP_BRIDGE_PACKAGES=ask)',
  any: 'code may install any package (MCP_BRIDGE_PACKAGES=any)',
};
const section = 'engines' as const;
/** Chosen: an index that takes longer is of no use to a cell. */
const CHECK_TIMEOUT_MS = 30_000;

export const examinePackages: Examination = async ({ env, settings }) => {
  const { packages: mode, preinstall, stateDir } = settings;
  const findings: Finding[] = [{ section, level: 'ok', text: MODES[mode] }];
  if (mode === 'off' && preinstall === undefined) {
    return findings;
  }
  try {
    const index = await readPackageIndex(env);
    const places = [...index.links, ...index.urls].map((place) => index.mask(place)).join(', then ');
    const sets = Object.keys(await createPackageLocks(stateDir).usedAt()).length;
    const stored = sets === 0 ? '' : `; ${counted(sets, 'set')} stored`;
    findings.push({ section, level: 'ok', text: `packages come from ${places}${stored}` });
    findings.push(...(await tryPackages(index, settings)));
  } catch (error) {
    findings.push(problemOf(section, toBridgeError(error)));
  }
  return findings;
};

/** Nothing if no session can start: that is reported elsewhere. */
async function tryPackages(index: PackageIndex, settings: Settings): Promise<Finding[]> {
  const engine = engineOf(settings);
  if (engine === undefined || (await whyUnusable(engine)) !== undefined) {
    return [];
  }
  try {
    return await tryOn(engine, index, settings);
  } finally {
    await engine.sweep({ own: true, keepsOthers: true });
  }
}

function engineOf(settings: Settings): Engine | undefined {
  try {
    return detectEngine({ ...engineOptions(settings, silentLogger), pullPolicy: 'never' });
  } catch {
    return undefined;
  }
}

async function tryOn(engine: Engine, index: PackageIndex, settings: Settings): Promise<Finding[]> {
  const { preinstall = [] } = settings;
  const installer = createPackageInstaller({
    engine,
    mode: settings.packages,
    policy: () => undefined,
    minAgeMs: settings.packagesMinAgeMs,
    maxBytes: settings.packagesMaxBytes,
    maxAgeMs: settings.packagesMaxAgeMs,
    readIndex: async () => index,
    readProgram: readBuilderProgram,
    stateDir: settings.stateDir,
    image: settings.image,
    preinstall,
  });
  const names = preinstall.join(', ');
  if (!takesPackages(engine) && preinstall.length === 0) {
    return [{ section, level: 'ok', text: `no package can be installed on the engine ${engine.name}` }];
  }
  const lock = await installer.preinstalled();
  const { failure, isStored } = await check(engine, index, lock, settings.stateDir);
  const network: Finding[] =
    failure === undefined
      ? [{ section, level: 'ok', text: whatCanBeFetched(engine) }]
      : [{ ...problemOf(section, failure), level: 'warning', text: `no package can be fetched: ${failure.message}` }];
  if (preinstall.length === 0) {
    return network;
  }
  if (lock !== undefined && isStored) {
    return [...network, { section, level: 'ok', text: `every session can import ${names}` }];
  }
  try {
    if (failure !== undefined) {
      throw failure;
    }
    const chosen = (await installer.choosePreinstall()).map(({ name, version }) => `${name} ${version}`);
    const what = chosen.length === 0 ? 'the image has them' : `the bridge fetches ${chosen.join(', ')} when it starts`;
    return [...network, { section, level: 'ok', text: `${names} of MCP_BRIDGE_PREINSTALL can be had: ${what}` }];
  } catch (error) {
    const problem = problemOf(section, toBridgeError(error));
    return [
      ...(failure === undefined ? network : []),
      { ...problem, text: `no session can import ${names} of MCP_BRIDGE_PREINSTALL: ${problem.text}` },
    ];
  }
}

function whatCanBeFetched({ name, wheelsFor }: Engine): string {
  return wheelsFor === undefined
    ? `packages can be fetched on ${name}`
    : `packages in pure Python can be fetched on ${name}; those with compiled parts, such as NumPy, pandas and Matplotlib, cannot be used there: they need ${NATIVE_ENGINES}`;
}

/** Whether the indexes answer, and whether the store has what a lock names. */
async function check(
  engine: Engine,
  index: PackageIndex,
  lock: PackageLock | undefined,
  stateDir: string,
): Promise<{ failure: BridgeError | undefined; isStored: boolean }> {
  try {
    if (engine.wheelsFor !== undefined) {
      const { checkIndex } = await import('./pure/fetch-wheels.ts');
      const folder = new WheelFolder(stateDir);
      const stored = await Promise.all((lock?.packages ?? []).map(async ({ sha256 }) => folder.has(sha256)));
      return { failure: await checkIndex(index, CHECK_TIMEOUT_MS), isStored: !stored.includes(false) };
    }
    const sets = typeof lock?.set === 'string' ? [lock.set] : [];
    const job = { do: 'check', sets, index: indexOfJob(index) };
    const builder = { engine, program: await readBuilderProgram() };
    const { failed, sets: present } = await runBuilder(job, { ...builder, ending: 'checked', mask: index.mask });
    const failure = failed === null ? undefined : await failedBuild(failed, index.mask);
    return { failure, isStored: present.length === sets.length };
  } catch (error) {
    return { failure: toBridgeError(error), isStored: false };
  }
}
