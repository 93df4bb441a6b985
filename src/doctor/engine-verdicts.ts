/** Which engines can be used, why the others cannot, and what a cell would be told when none can. */

import type { BridgeError } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import { whyUnusable } from '../engines/detect.ts';
import { ENGINE_NAMES, type Engine, type EngineName, type Refusal } from '../engines/engine.ts';
import { isEngineFault, noEngine } from '../engines/failover.ts';
import type { Settings } from '../settings/settings.ts';
import type { Finding } from '../terminal/finding.ts';

/** One engine, tried. Also the shape of an element of `engines` in the JSON. */
export interface EngineVerdict {
  readonly engine: EngineName;
  readonly isUsable: boolean;
  /** What keeps code in; of an engine that can be used. */
  readonly isolation?: string;
  /** Kind, place and what is known of it; of an engine that is installed. */
  readonly description?: string;
  /** Why it cannot be used, or what happens before it is, in one clause. */
  readonly reason?: string;
  /** One next step, when there is one. */
  readonly hint?: string;
  /** Whether sessions wait for it to be mended rather than take a weaker one. */
  readonly isBlocking?: boolean;
}

/** An engine that was tried, with the error of an attempt to use it. */
export interface TriedEngine {
  readonly verdict: EngineVerdict;
  readonly error?: BridgeError | undefined;
}

/** Tries one; `pullError` is why its image could not be pulled, when that was tried, too. */
export async function tryOne(engine: Engine, settings: Settings, pullError?: BridgeError): Promise<TriedEngine> {
  const error = pullError ?? (await whyUnusable(engine));
  const { description, isolation, name } = engine;
  if (error === undefined) {
    return { verdict: { engine: name, isUsable: true, isolation, description } };
  }
  if (error.code === 'IMAGE_MISSING' && settings.pull === 'missing') {
    const reason = `the image ${settings.image} is not here; the first cell pulls it`;
    return { verdict: { engine: name, isUsable: true, isolation, description, reason, hint: pullHint(error) } };
  }
  const verdict = {
    engine: name,
    isUsable: false,
    description,
    reason: error.message,
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(!isEngineFault(error) && { isBlocking: true }),
  };
  return { verdict, error };
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

/** What a cell would be told: why the engine to wait for does not run it, or why none does. */
export function whyNoCell(tried: readonly TriedEngine[], absent: readonly Refusal[]): BridgeError {
  const blocking = tried.find(({ verdict }) => verdict.isBlocking === true)?.error;
  if (blocking !== undefined) {
    return blocking;
  }
  const refused = tried.flatMap(({ error, verdict: { engine } }) => {
    return error === undefined ? [] : [{ engine, reason: error.message, hint: error.hint ?? '' }];
  });
  const [first] = tried;
  return tried.length === 1 && absent.length === 0 && first?.error !== undefined
    ? first.error
    : noEngine([...refused, ...absent]);
}

/** An engine that is not needed, because a stronger one runs, is no reason for worry. */
export function findingOf(verdict: EngineVerdict, runs: EngineName | null): Finding {
  const { description, engine, hint, isBlocking, isUsable, reason } = verdict;
  const name =
    description === undefined || description.startsWith(engine) ? (description ?? engine) : `${engine}: ${description}`;
  const isNeeded = runs === null || ENGINE_NAMES.indexOf(engine) <= ENGINE_NAMES.indexOf(runs);
  if (isUsable) {
    const level = isNeeded && reason !== undefined ? 'warning' : 'ok';
    return { section: 'engines', level, text: `${name} can be used${reason === undefined ? '' : `; ${reason}`}`, hint };
  }
  const level = !isNeeded ? 'ok' : isBlocking === true || runs === null ? 'problem' : 'warning';
  return { section: 'engines', level, text: `${name} cannot be used: ${reason}`, hint };
}
