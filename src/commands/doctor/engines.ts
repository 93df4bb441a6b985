/** What `doctor` looks at of engines: each is tried, the one that would run sessions is started and measured from inside. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../../config/settings.ts';
import { findEngines } from '../../engines/detect.ts';
import { ENGINE_NAMES, type Engine, type EngineName, type Refusal } from '../../engines/engine.ts';
import { isEngineFault } from '../../engines/failover.ts';
import { whyUnusable } from '../../engines/try-engine.ts';
import { type BridgeError, toBridgeError } from '../../errors.ts';
import { type Logger, silentLogger } from '../../log.ts';
import { PACKAGE_ROOT } from '../../package.ts';
import { PROTOCOL_VERSION } from '../../protocol/frames.ts';
import { readKernelSources } from '../../session/boot.ts';
import { createCodePackStore } from '../../session/code-packs.ts';
import { type Kernel, startKernel } from '../../session/kernel.ts';
import { engineOptions, limitsOf } from '../engine-options.ts';
import type { Finding } from './finding.ts';

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

export interface EngineExamination {
  /** The strongest first. */
  readonly verdicts: readonly EngineVerdict[];
  /** The one that runs sessions; null when none can. */
  readonly runs: EngineName | null;
  readonly findings: readonly Finding[];
}

/** How long a sandbox may take to become ready. */
const START_TIMEOUT_MS = 60_000;
/** The supervisor reports within a few ms of the kernel's greeting; both come on pipes of their own. */
const REPORT_WAIT_MS = 500;

/** Tries all that may be used. With `isFix`, what bridges that are gone have left is removed, and a missing image is pulled. */
export async function examineEngines(settings: Settings, logger: Logger, isFix: boolean): Promise<EngineExamination> {
  const options = engineOptions(settings, logger);
  const { absent, engines } = findEngines({ ...options, pullPolicy: 'never' });
  if (isFix && settings.pull === 'missing') {
    await pullMissing(findEngines(options).engines);
  }
  const tried = await Promise.all(engines.map((engine) => tryOne(engine, settings)));
  const verdicts = [...tried, ...absent.map(notInstalled)].toSorted(inOrder);
  const first = verdicts.find(({ isUsable, isBlocking }) => isUsable || isBlocking === true);
  const runs = first?.isUsable === true ? first.engine : null;
  const facts = await Promise.all(engines.map((engine) => factsOf(engine, isFix)));
  const used = engines.find(({ name }) => name === runs);
  const isReady = first?.reason === undefined;
  const measured = used === undefined || !isReady ? [] : await measure(used, settings);
  await Promise.all(engines.map((engine) => engine.sweep({ own: true })));
  return { verdicts, runs, findings: [...verdicts.map((one) => toFinding(one, runs)), ...facts.flat(), ...measured] };
}

async function pullMissing(engines: readonly Engine[]): Promise<void> {
  for (const engine of engines) {
    const error = await whyUnusable(engine);
    if (error?.code === 'IMAGE_MISSING') {
      // What it could not do shows when the engine is tried.
      await engine.prepare(({ message }) => process.stderr.write(`${message}\n`)).catch(() => undefined);
    }
  }
}

async function tryOne(engine: Engine, settings: Settings): Promise<EngineVerdict> {
  const error = await whyUnusable(engine);
  const { description, isolation, name } = engine;
  if (error === undefined) {
    return { engine: name, isUsable: true, isolation, description };
  }
  if (error.code === 'IMAGE_MISSING' && settings.pull === 'missing') {
    const reason = `the image ${settings.image} is not here; the first cell pulls it`;
    return { engine: name, isUsable: true, isolation, description, reason, hint: pullCommandOf(error) };
  }
  return {
    engine: name,
    isUsable: false,
    description,
    reason: error.message,
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(!isEngineFault(error) && { isBlocking: true }),
  };
}

function pullCommandOf({ hint = '' }: BridgeError): string {
  return hint.replace(/^Run: /, 'To pull it now, run: ');
}

function notInstalled({ engine, hint, reason }: Refusal): EngineVerdict {
  return { engine, isUsable: false, reason, hint };
}

function inOrder(one: EngineVerdict, other: EngineVerdict): number {
  return ENGINE_NAMES.indexOf(one.engine) - ENGINE_NAMES.indexOf(other.engine);
}

/** An engine that is not needed, because a stronger one runs, is no reason for worry. */
function toFinding(verdict: EngineVerdict, runs: EngineName | null): Finding {
  const { description, engine, hint, isBlocking, isUsable, reason } = verdict;
  const name =
    description === undefined || description.startsWith(engine) ? (description ?? engine) : `${engine}: ${description}`;
  const isNeeded = runs === null || ENGINE_NAMES.indexOf(engine) < ENGINE_NAMES.indexOf(runs);
  const state = isUsable ? `can be used${reason === undefined ? '' : `; ${reason}`}` : `cannot be used: ${reason}`;
  const level = isUsable || !isNeeded ? 'ok' : isBlocking === true || runs === null ? 'problem' : 'warning';
  return { section: 'engines', level, text: `${name} ${state}`, hint };
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
  const text = `${engine.name}: ${leftovers.length} sandboxes of bridges that are gone${isFix ? `, ${removed} removed` : ''}`;
  return [
    ...findings,
    isFix
      ? { section: 'engines', level: 'ok', text }
      : { section: 'engines', level: 'warning', text, hint: 'Run: doctor --fix (the next bridge removes them, too).' },
  ];
}

/** Starts a session without any cell, and asks it. */
async function measure(engine: Engine, settings: Settings): Promise<Finding[]> {
  let kernel: Kernel | undefined;
  const startedAt = performance.now();
  try {
    kernel = await startKernel(await kernelOptions(engine, settings));
    const text = `a session starts on ${engine.name} in ${Math.round(performance.now() - startedAt)} ms: Python ${kernel.ready.python_version}, ${kernel.ready.platform}, protocol ${PROTOCOL_VERSION}`;
    return [{ section: 'engines', level: 'ok', text }, ...(await describeBounds(kernel, engine))];
  } catch (error) {
    const { hint, message } = toBridgeError(error);
    const text = `no session starts on ${engine.name}: ${message}`;
    return [{ section: 'engines', level: 'problem', text, hint }];
  } finally {
    await kernel?.kill('doctor has seen enough');
  }
}

async function kernelOptions(engine: Engine, settings: Settings) {
  return {
    engine,
    limits: limitsOf(settings),
    sources: await readKernelSources(fileURLToPath(new URL('sandbox-runtime/bridge_kernel', PACKAGE_ROOT))),
    packs: createCodePackStore(join(settings.stateDir, '.cache', 'python'), silentLogger),
    packKey: settings.image,
    startTimeoutMs: START_TIMEOUT_MS,
    session: 'doctor',
    generation: 1,
    hello: { saved_tools: [], capability_summary: '', autoload: false },
    loaded: new Set<string>(),
    load: () => undefined,
    handleCall: () => Promise.reject(new Error('doctor runs no code')),
    logger: silentLogger,
    onProgress: () => undefined,
  };
}

/** What the first process of the sandbox measured; an engine that brings its own program says it in its isolation. */
async function describeBounds(kernel: Kernel, engine: Engine): Promise<Finding[]> {
  const until = performance.now() + REPORT_WAIT_MS;
  while (kernel.measured() === undefined && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const measured = kernel.measured();
  if (measured === undefined || engine.missing !== undefined) {
    return [];
  }
  const { memory_limit_bytes: memoryBytes, pids_limit: pids, seccomp } = measured;
  const hasBounds = memoryBytes !== null && pids !== null;
  const bounds: Finding = hasBounds
    ? {
        section: 'engines',
        level: 'ok',
        text: `limits hold, measured inside: ${memoryBytes / 1024 / 1024} MiB, ${pids} processes`,
      }
    : {
        section: 'engines',
        level: 'warning',
        text: 'the engine enforces no memory or process limit; the first process of the sandbox does (docs/security.md)',
      };
  const filter: Finding = seccomp
    ? { section: 'engines', level: 'ok', text: 'the system-call filter is in force' }
    : { section: 'engines', level: 'warning', text: 'there is no system-call filter of ours for this type of machine' };
  return [bounds, filter];
}
