/**
 * Combines several engines into one. The first is used until it cannot start a sandbox, then the next. `auto` therefore needs no
 * check before the first start, and an engine that is installed but broken costs only its own failed start. An image that cannot be
 * pulled is no reason to use a weaker engine: a typo or an outage would weaken the sandbox and change the Python. Nor is a failure
 * of an engine that has worked: code in one sandbox can take so much of the machine that the engine cannot start another.
 */
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import {
  CONTAINER_ENGINE_NAMES,
  ENGINE_NAMES,
  type Engine,
  type EngineName,
  type PrepareProgress,
  type ProgramSandbox,
  type Refusal,
  type Sandbox,
  type SandboxExit,
  type StartRequest,
  type SweepOptions,
} from '../../core/session/engine.ts';
import { whyUnusable } from './probe.ts';

const CONTAINER_STRENGTH = ENGINE_NAMES.length;
const ENGINE_FAULTS: ReadonlySet<string> = new Set(['ENGINE_UNAVAILABLE', 'ENGINE_FAILED']);

/** Whether the engine itself failed, so another one may work. A missing image, for example, is no reason to change the engine. */
export function isEngineFault({ code }: BridgeError): boolean {
  return ENGINE_FAULTS.has(code);
}

/** Whether an engine works but could not pull the image. Only an engine that isolates equally well may replace it. */
export function isPullFailure({ data }: BridgeError): boolean {
  return data['isPullFailure'] === true;
}

/** The error about a missing image, which also names another engine that works. Only a person may choose a weaker one. */
export function withAlternative(
  { cause, code, data, hint = '', message }: BridgeError,
  other: Pick<Engine, 'name' | 'isolation'>,
): BridgeError {
  const less = CONTAINER_ENGINE_NAMES.some((name) => name === other.name)
    ? ''
    : `, but isolates less: ${other.isolation}`;
  const choice = `or set MCP_BRIDGE_RUNTIME=${other.name}, which works here${less}`;
  return new BridgeError(code, message, { cause, data, hint: `${hint} (${choice})`.trim() });
}

/** `ENGINE_UNAVAILABLE` with every attempt, its reason, and the first next step. */
export function noEngine(refusals: readonly Refusal[], cause?: BridgeError): BridgeError {
  const attempts = refusals.map(({ reason }) => reason).join('; ');
  return new BridgeError('ENGINE_UNAVAILABLE', `no engine can be used (${attempts})`, {
    cause,
    data: { refusals, retryNow: false },
    hint: firstStep(refusals.map(({ hint }) => hint)),
  });
}

const INSTALL = /^Install (.*)\.$/;

/** The first step, because any one engine is enough; if all are to install an engine, the choice between them. */
export function firstStep(hints: readonly string[]): string | undefined {
  const choices = hints.map((hint) => INSTALL.exec(hint)?.[1]);
  return choices.includes(undefined) ? hints[0] : `Install ${[...new Set(choices)].join(' or ')}.`;
}

/**
 * Combines `engines`, which are tried in order. If all fail, the error lists every attempt and the `absent` engines. The next start
 * begins with the first engine again, because the user may have fixed it.
 */
export function createFailoverEngine(
  engines: readonly [Engine, ...Engine[]],
  absent: readonly Refusal[],
  logger: Logger,
): Engine {
  return new FailoverEngine(engines, absent, logger);
}

class FailoverEngine implements Engine {
  readonly #engines: readonly [Engine, ...Engine[]];
  readonly #absent: readonly Refusal[];
  readonly #logger: Logger;
  readonly #engineOfSandbox = new WeakMap<Sandbox, Engine>();
  readonly #builders = new WeakSet<Sandbox>();
  #currentIndex = 0;
  #refusals: Refusal[] = [];
  /** The strength of the strongest engine that has worked; undefined if none has. */
  #provenStrength: number | undefined;
  /** The first failed pull since the attempts began with the first engine. */
  #pullFailure: BridgeError | undefined;
  /** While it is looked for. */
  #alternative: Promise<Engine | undefined> | undefined;

  constructor(engines: readonly [Engine, ...Engine[]], absent: readonly Refusal[], logger: Logger) {
    this.#engines = engines;
    this.#absent = absent;
    this.#logger = logger;
  }

  get name(): EngineName {
    return this.#current.name;
  }

  get description(): string {
    return this.#current.description;
  }

  get isolation(): string {
    return this.#current.isolation;
  }

  get canBuild(): boolean {
    return this.#current.canBuild === true;
  }

  get programs(): Engine['programs'] {
    return this.#current.programs;
  }

  get wheelsFor(): string | undefined {
    return this.#current.wheelsFor;
  }

  get provides(): string | undefined {
    return this.#current.provides;
  }

  get missing(): string | undefined {
    return this.#current.missing;
  }

  /** Engines with precedence over the current one: those that failed and those that are not installed. */
  get refused(): readonly Refusal[] {
    return [...this.#refusals, ...this.#absent].filter(({ engine }) => isBefore(engine, this.name)).toSorted(inOrder);
  }

  async prepare(onProgress: (progress: PrepareProgress) => void, program?: ProgramSandbox): Promise<void> {
    if (program === undefined) {
      await this.#attempt((engine) => engine.prepare(onProgress));
      return;
    }
    const engine = this.#current;
    try {
      await engine.prepare(onProgress, program);
    } catch (error) {
      // The image of one program is no reason to run sessions on another engine.
      const failure = toBridgeError(error);
      throw isPullFailure(failure) ? failure : this.#refuse(engine, failure);
    }
  }

  async start(request: StartRequest): Promise<Sandbox> {
    const startOn = async (engine: Engine): Promise<Sandbox> => {
      const sandbox = await engine.start(request);
      this.#engineOfSandbox.set(sandbox, engine);
      return sandbox;
    };
    if (request.isBuilder !== true) {
      return this.#attempt(startOn);
    }
    // A builder needs more than a session does, such as a network, and must fill the store that sessions see.
    const sandbox = await startOn(this.#current);
    this.#builders.add(sandbox);
    return sandbox;
  }

  explainStartFailure(sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError {
    const engine = this.#engineOfSandbox.get(sandbox) ?? this.#current;
    const error = engine.explainStartFailure(sandbox, exit, stderrTail);
    return this.#builders.has(sandbox) ? error : this.#refuse(engine, error);
  }

  noteReady(sandbox: Sandbox): void {
    const engine = this.#engineOfSandbox.get(sandbox);
    if (engine !== undefined) {
      engine.noteReady?.(sandbox);
      this.#provenStrength = Math.max(this.#provenStrength ?? 0, strengthOf(engine));
    }
  }

  async advise(error: BridgeError): Promise<BridgeError> {
    if (error.code !== 'IMAGE_MISSING') {
      return error;
    }
    const failed = this.#engines.findIndex(({ name }) => name === error.data['engine']);
    this.#alternative ??= firstUsable(this.#engines.slice(failed + 1));
    const other = await this.#alternative;
    this.#alternative = undefined;
    return other === undefined ? error : withAlternative(error, other);
  }

  async sweep(options?: SweepOptions): Promise<number> {
    const counts = await Promise.all(this.#engines.map((engine) => engine.sweep(options)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  get #current(): Engine {
    return this.#engines[this.#currentIndex] ?? this.#engines[0];
  }

  get #requiredStrength(): number {
    return this.#pullFailure === undefined ? (this.#provenStrength ?? 0) : CONTAINER_STRENGTH;
  }

  /** Runs `action` on the current engine, and on the next ones as long as it rejects. */
  async #attempt<Result>(action: (engine: Engine) => Promise<Result>): Promise<Result> {
    const engine = this.#current;
    try {
      return await action(engine);
    } catch (error) {
      const refusal = this.#refuse(engine, toBridgeError(error));
      if (engine === this.#current || refusal.data.retryNow !== true) {
        throw refusal;
      }
      return this.#attempt(action);
    }
  }

  /** Records that `engine` failed with `error`. Returns the error to pass on, with `retryNow` if another engine is next. */
  #refuse(engine: Engine, error: BridgeError): BridgeError {
    if (!(isEngineFault(error) || isPullFailure(error)) || error.data.retryNow === true) {
      return error;
    }
    if (engine !== this.#current) {
      // A concurrent start has already switched to the next engine.
      return withRetry(error);
    }
    this.#refusals.push({ engine: engine.name, reason: error.message, hint: error.hint ?? '' });
    this.#pullFailure ??= isPullFailure(error) ? error : undefined;
    const next = this.#engines[this.#currentIndex + 1];
    if (next !== undefined && strengthOf(next) >= this.#requiredStrength) {
      this.#currentIndex += 1;
      this.#logger.daily(`${error.message}; trying ${this.#current.name}`);
      return withRetry(error);
    }
    const all = [...this.#refusals, ...this.#absent];
    const pullFailure = this.#pullFailure;
    this.#currentIndex = 0;
    this.#refusals = [];
    this.#pullFailure = undefined;
    return pullFailure ?? (all.length === 1 ? error : noEngine(all, error));
  }
}

/** Podman and Docker are equally strong, and each other engine is weaker than the one before it. */
function strengthOf({ name }: Engine): number {
  const isContainer = CONTAINER_ENGINE_NAMES.some((one) => one === name);
  return isContainer ? CONTAINER_STRENGTH : ENGINE_NAMES.length - ENGINE_NAMES.indexOf(name);
}

async function firstUsable(engines: readonly Engine[]): Promise<Engine | undefined> {
  for (const engine of engines) {
    if ((await whyUnusable(engine)) === undefined) {
      return engine;
    }
  }
  return undefined;
}

function isBefore(one: EngineName, other: EngineName): boolean {
  return ENGINE_NAMES.indexOf(one) < ENGINE_NAMES.indexOf(other);
}

function inOrder(one: Refusal, other: Refusal): number {
  return ENGINE_NAMES.indexOf(one.engine) - ENGINE_NAMES.indexOf(other.engine);
}

function withRetry(error: BridgeError): BridgeError {
  const data = { ...error.data, retryNow: true };
  return new BridgeError(error.code, error.message, { cause: error, hint: error.hint, data });
}
