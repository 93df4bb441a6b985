/** What `doctor` looks at of engines: each is tried, the one that would run sessions is started and measured from inside. */

import { type BridgeError, toBridgeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { COMMAND } from '../base/package.ts';
import { findEngines, whyUnusable } from '../engines/detect.ts';
import type { Engine, EngineName } from '../engines/engine.ts';
import { engineOptions } from '../settings/engine-options.ts';
import type { Settings } from '../settings/settings.ts';
import { type Finding, noCellRuns } from '../terminal/finding.ts';
import type { Progress } from '../terminal/progress.ts';
import { type EngineVerdict, findingOf, inOrder, notInstalled, tryOne, whyNoCell } from './engine-verdicts.ts';
import { examineSession } from './session.ts';

export interface EngineExamination {
  /** The strongest first. */
  readonly verdicts: readonly EngineVerdict[];
  /** The one that runs sessions; null when none can. */
  readonly runs: EngineName | null;
  readonly findings: readonly Finding[];
}

export interface EngineExaminer {
  readonly settings: Settings;
  readonly logger: Logger;
  /** Whether what bridges that are gone have left is removed, and a missing image is pulled. */
  readonly isFix: boolean;
  readonly progress: Progress;
}

/** Tries all that may be used. */
export async function examineEngines({
  isFix,
  logger,
  progress,
  settings,
}: EngineExaminer): Promise<EngineExamination> {
  const options = engineOptions(settings, logger);
  const { absent, engines } = findEngines({ ...options, pullPolicy: 'never' });
  const pullErrors =
    isFix && settings.pull === 'missing' ? await pullMissing(findEngines(options).engines, progress) : undefined;
  const tried = await Promise.all(
    engines.map((engine) => progress.watch(engine.name, tryOne(engine, settings, pullErrors?.get(engine.name)))),
  );
  const verdicts = [...tried.map(({ verdict }) => verdict), ...absent.map(notInstalled)].toSorted(inOrder);
  const first = verdicts.find(({ isUsable, isBlocking }) => isUsable || isBlocking === true);
  const runs = first?.isUsable === true ? first.engine : null;
  const facts = await Promise.all(engines.map((engine) => progress.watch(engine.name, factsOf(engine, isFix))));
  const used = engines.find(({ name }) => name === runs);
  const isReady = first?.reason === undefined;
  const measured =
    used === undefined || !isReady ? [] : await progress.watch('an empty session', examineSession(used, settings));
  await Promise.all(engines.map((engine) => engine.sweep({ own: true, keepsOthers: true })));
  const verdict = runs === null ? [noCellRuns(whyNoCell(tried, absent))] : [];
  const each = verdicts.map((one) => findingOf(one, runs));
  return { verdicts, runs, findings: [...each, ...facts.flat(), ...measured, ...verdict] };
}

/** Pulls the image on each engine that lacks it. Gives why it could not, by engine. */
async function pullMissing(
  engines: readonly Engine[],
  progress: Progress,
): Promise<ReadonlyMap<EngineName, BridgeError>> {
  const failed = new Map<EngineName, BridgeError>();
  for (const engine of engines) {
    const error = await whyUnusable(engine);
    if (error?.code === 'IMAGE_MISSING') {
      await engine
        .prepare(({ message }) => progress.tell(message))
        .catch((thrown: unknown) => failed.set(engine.name, toBridgeError(thrown)));
    }
  }
  return failed;
}

/** What the engine tells of itself, and sandboxes that nobody owns any more. */
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
  const text = `${engine.name}: sandboxes of bridges that are gone: ${leftovers.length}${isFix ? `, removed: ${removed}` : ''}`;
  if (removed >= leftovers.length) {
    return [...findings, { section: 'engines', level: 'ok', text }];
  }
  const hint = isFix
    ? `See what ${engine.name} ps --all says.`
    : `Run: ${COMMAND} doctor --fix (the next bridge removes them, too).`;
  return [...findings, { section: 'engines', level: 'warning', text, hint }];
}
