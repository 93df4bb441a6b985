/** What `doctor` checks about engines: it tries each one, and starts and measures a session on the engine that would be used. */

import { type BridgeError, toBridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import {
  CONTAINER_ENGINE_NAMES,
  ENGINE_NAMES,
  type Engine,
  type EngineName,
  type Refusal,
} from '../../core/session/engine.ts';
import { NO_LIMITS } from '../../edges/engines/container/examine.ts';
import { findEngines } from '../../edges/engines/detect.ts';
import { firstStep, isEngineFault, isPullFailure, noEngine, withAlternative } from '../../edges/engines/failover.ts';
import { settleEngine, whyUnusable } from '../../edges/engines/probe.ts';
import { engineOptions } from '../../edges/settings/engine-options.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { type Finding, noCellRuns } from '../../edges/terminal/finding.ts';
import type { Progress } from '../../edges/terminal/progress-line.ts';
import { examineSession, NO_LIMITS_MEASURED } from './session.ts';

/** The result of trying one engine; also an element of `engines` in the JSON output. */
export interface EngineVerdict {
  readonly engine: EngineName;
  readonly isUsable: boolean;
  /** What isolates the code; only if the engine can be used. */
  readonly isolation?: string;
  /** Kind, location and details; only if the engine is installed. */
  readonly description?: string;
  /** Why it cannot be used, or what happens before its first use, in one clause. */
  readonly reason?: string;
  /** One next step. */
  readonly hint?: string;
  /** Whether sessions fail until it is fixed, rather than use a weaker engine. */
  readonly isBlocking?: boolean;
}

/** An engine that was tried, with the error if it cannot be used. */
export interface TriedEngine {
  readonly verdict: EngineVerdict;
  readonly error?: BridgeError | undefined;
  /** Whether the first cell would prepare it, as by pulling its image, and start again. */
  readonly isPreparable?: boolean | undefined;
}

export interface EngineExamination {
  /** The strongest engine first. */
  readonly verdicts: readonly EngineVerdict[];
  /** The engine that runs sessions; null if none can. */
  readonly runs: EngineName | null;
  readonly findings: readonly Finding[];
}

export interface EngineExaminer {
  readonly settings: Settings;
  readonly logger: Logger;
  /** Whether to remove leftover sandboxes and pull a missing image on every engine. */
  readonly isFix: boolean;
  readonly progress: Progress;
}

/** Tries every engine that the settings allow. */
export async function examineEngines({
  isFix,
  logger,
  progress,
  settings,
}: EngineExaminer): Promise<EngineExamination> {
  const options = engineOptions(settings, logger);
  const { absent, engines } = findEngines(options);
  const unprepared = await Promise.all(engines.map((engine) => progress.watch(engine.name, tryOne(engine, settings))));
  const tried = await prepareAsCellsDo(engines, unprepared, { settings, isFix, progress });
  const verdicts = [...tried.map(({ verdict }) => verdict), ...absent.map(notInstalled)].toSorted(inOrder);
  const first = firstOf(tried, verdicts);
  const runs = first?.isUsable === true ? first.engine : null;
  const facts = await Promise.all(engines.map((engine) => progress.watch(engine.name, factsOf(engine, isFix))));
  const used = engines.find(({ name }) => name === runs);
  const isReady = first?.reason === undefined;
  const measured =
    used === undefined || !isReady ? [] : await progress.watch('an empty session', examineSession(used, settings));
  await Promise.all(engines.map((engine) => engine.sweep({ own: true, keepsOthers: true })));
  const verdict = runs === null ? [noCellRuns(whyNoCell(tried, absent))] : [];
  const each = joinAbsent(verdicts, absent).map((one) => findingOf(one, runs));
  const isKnown = facts.flat().some(({ text }) => text === `${runs}: ${NO_LIMITS}`);
  const found = measured.filter(({ text }) => !isKnown || !text.startsWith(NO_LIMITS_MEASURED));
  return { verdicts, runs, findings: [...each, ...facts.flat(), ...found, ...verdict] };
}

/** The engine that sessions use, or the one that blocks them. A failed pull blocks only engines that isolate less. */
export function firstOf(tried: readonly TriedEngine[], verdicts: readonly EngineVerdict[]): EngineVerdict | undefined {
  const first = verdicts.find(({ isUsable, isBlocking }) => isUsable || isBlocking === true);
  const error = tried.find(({ verdict }) => verdict === first)?.error;
  const equals = CONTAINER_ENGINE_NAMES as readonly EngineName[];
  return error !== undefined && isPullFailure(error)
    ? (verdicts.find(({ engine, isUsable }) => isUsable && equals.includes(engine)) ?? first)
    : first;
}

/**
 * Does before the verdict what the first cell would do: pulls the image, or starts the machine, on each engine until one works; with
 * `isFix` on all of them. Without it, an engine whose image cannot be pulled would look usable.
 */
async function prepareAsCellsDo(
  engines: readonly Engine[],
  unprepared: readonly TriedEngine[],
  { isFix, progress, settings }: Pick<EngineExaminer, 'settings' | 'isFix' | 'progress'>,
): Promise<TriedEngine[]> {
  const tried: TriedEngine[] = [];
  for (const [index, engine] of engines.entries()) {
    const before = unprepared[index] ?? (await tryOne(engine, settings));
    const isNeeded = isFix || !tried.some(decides);
    tried.push(before.isPreparable === true && isNeeded ? await progress.watch(engine.name, prepare(engine)) : before);
  }
  return tried;

  async function prepare(engine: Engine): Promise<TriedEngine> {
    try {
      await settleEngine(engine, ({ message }) => progress.update(message));
      return await tryOne(engine, settings);
    } catch (error) {
      return tryOne(engine, settings, toBridgeError(error));
    }
  }
}

/** Whether no engine after this one is tried: it runs sessions, or its failure is no reason to change the engine. */
function decides({ error, verdict }: TriedEngine): boolean {
  return verdict.isUsable || (error !== undefined && !isEngineFault(error) && !isPullFailure(error));
}

/** What the engine reports about itself, and sandboxes whose bridge has ended. */
async function factsOf(engine: Engine, isFix: boolean): Promise<Finding[]> {
  const facts = (await engine.examine?.()) ?? [];
  const findings = facts.map(({ hint, level, text }): Finding => {
    return { section: 'engines', level, text: `${engine.name}: ${text}`, hint };
  });
  const listed = (await engine.list?.().catch(() => [])) ?? [];
  const leftovers = listed.filter(({ isLeftover }) => isLeftover);
  if (leftovers.length === 0) {
    return findings;
  }
  const removed = isFix ? await engine.sweep() : 0;
  const what = leftovers.length === 1 ? '1 sandbox' : `${leftovers.length} sandboxes`;
  const text = `${engine.name}: ${what} left behind by ended bridges${isFix ? `, ${removed} removed` : ''}`;
  if (removed >= leftovers.length) {
    return [...findings, { section: 'engines', level: 'ok', text }];
  }
  const hint = isFix
    ? `To see what is left, run: ${engine.name} ps --all`
    : `Run: ${COMMAND} doctor --fix (the next bridge that starts also removes them).`;
  return [...findings, { section: 'engines', level: 'warning', text, hint }];
}

/** Tries one engine. `prepareError` is the error of preparing it, if that was tried and failed. */
export async function tryOne(engine: Engine, settings: Settings, prepareError?: BridgeError): Promise<TriedEngine> {
  const error = prepareError ?? (await whyUnusable(engine));
  const isPreparable = prepareError === undefined && error?.data['retryNow'] === true;
  const { description, isolation, name } = engine;
  if (error === undefined) {
    return { verdict: { engine: name, isUsable: true, isolation, description } };
  }
  if (prepareError === undefined && error.code === 'IMAGE_MISSING' && settings.pull === 'missing') {
    const reason = `the image ${settings.image} is not on this machine yet; the first cell pulls it`;
    const verdict = { engine: name, isUsable: true, isolation, description, reason, hint: pullHint(error) };
    return { verdict, isPreparable };
  }
  const verdict = {
    engine: name,
    isUsable: false,
    description,
    reason: error.message,
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(!isEngineFault(error) && { isBlocking: true }),
  };
  return { verdict, error, isPreparable };
}

function pullHint({ hint = '' }: BridgeError): string {
  return `${hint.replace(/^Run: /, 'To pull it now, run: ')} (or ${COMMAND} doctor --fix)`;
}

export function notInstalled({ engine, hint, reason }: Refusal): EngineVerdict {
  return { engine, isUsable: false, reason, hint };
}

export function inOrder(one: EngineVerdict, other: EngineVerdict): number {
  return ENGINE_NAMES.indexOf(one.engine) - ENGINE_NAMES.indexOf(other.engine);
}

/** The error that a cell would get: that of the blocking engine, or the reasons of all engines. */
export function whyNoCell(tried: readonly TriedEngine[], absent: readonly Refusal[]): BridgeError {
  const blocking = tried.find(({ verdict }) => verdict.isBlocking === true)?.error;
  if (blocking !== undefined) {
    const other = tried.find(({ verdict }) => verdict.isUsable && verdict.engine !== blocking.data['engine'])?.verdict;
    return blocking.code === 'IMAGE_MISSING' && other?.isolation !== undefined
      ? withAlternative(blocking, { name: other.engine, isolation: other.isolation })
      : blocking;
  }
  const refused = tried.flatMap(({ error, verdict: { engine } }) => {
    return error === undefined ? [] : [{ engine, reason: error.message, hint: error.hint ?? '' }];
  });
  const [first] = tried;
  return tried.length === 1 && absent.length === 0 && first?.error !== undefined
    ? first.error
    : noEngine([...refused, ...absent]);
}

/** One verdict for podman and docker if neither is installed: they isolate equally well, so either is enough. */
export function joinAbsent(verdicts: readonly EngineVerdict[], absent: readonly Refusal[]): readonly EngineVerdict[] {
  const isContainer = ({ engine }: Pick<Refusal, 'engine'>): boolean =>
    CONTAINER_ENGINE_NAMES.some((name) => name === engine);
  const containers = absent.filter(isContainer);
  const [first] = containers;
  if (first === undefined || containers.length < CONTAINER_ENGINE_NAMES.length) {
    return verdicts;
  }
  const description = CONTAINER_ENGINE_NAMES.join(' and ');
  const reason = containers.map((one) => one.reason).join('; ');
  const hint = firstStep(containers.map((one) => one.hint)) ?? first.hint;
  const joined = { engine: first.engine, isUsable: false, description, reason, hint };
  return [joined, ...verdicts.filter((one) => !isContainer(one))];
}

/** A broken engine is not a problem if a stronger one runs. */
export function findingOf(verdict: EngineVerdict, runs: EngineName | null): Finding {
  const { description = '', engine, hint, isBlocking, isUsable, reason } = verdict;
  const [name, details] = description.startsWith(engine)
    ? [description.replace(/^(\w+), (.*)$/, '$1 ($2)'), '']
    : [engine, description];
  const isNeeded = runs === null || ENGINE_NAMES.indexOf(engine) <= ENGINE_NAMES.indexOf(runs);
  if (isUsable) {
    const level = isNeeded && reason !== undefined ? 'warning' : 'ok';
    const text = `${name} can be used${details && `: ${details}`}${reason === undefined ? '' : `; ${reason}`}`;
    return { section: 'engines', level, text, hint };
  }
  if (!isNeeded) {
    return { section: 'engines', level: 'ok', text: `${name}${details && ` (${details})`} is not used: ${reason}` };
  }
  const level = isBlocking === true || runs === null ? 'problem' : 'warning';
  return { section: 'engines', level, text: `${name}${details && ` (${details})`} cannot be used: ${reason}`, hint };
}
