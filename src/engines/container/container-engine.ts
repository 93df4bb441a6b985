/**
 * What the podman and docker engines have in common. They differ in a few values (`Dialect`), not in behaviour.
 *
 * Starts are optimistic: nothing is asked of the engine before `run`, because every question costs 20–30 ms of a 180 ms
 * cold start (measured). A start that fails is explained afterwards, and what was learned is used by the next round.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { BridgeError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { endTree, hasEnded } from '../../base/process-tree.ts';
import { type EngineCommand, hasSpoken, openPipe, type PipeProcess, runEngineCommand } from '../client.ts';
import { clientEnvironment, type Environment } from '../client-env.ts';
import type {
  Engine,
  EngineFact,
  EngineName,
  ListedSandbox,
  Sandbox,
  SandboxExit,
  StartRequest,
  SweepOptions,
} from '../engine.ts';
import { currentOwner } from '../owner.ts';
import { readHardLimits } from '../process-limits.ts';
import { createSandbox } from '../sandbox.ts';
import { buildRunArguments, checkOptions, type SandboxOptions } from './argv.ts';
import { examineContainerEngine } from './examine.ts';
import { INSTANCE_LABEL, writeLabels } from './labels.ts';
import { createPreparation, type Preparation, type ProgressListener } from './preparation.ts';
import { pullImage } from './pull.ts';
import { classifyStartFailure, type StartFailure, startError } from './start-failure.ts';
import { isOrphan, listContainers, removeContainer } from './sweep.ts';

/** Whether a missing image is pulled (as a step before a start, never by one). */
export type PullPolicy = 'missing' | 'never';

export interface ContainerEngineOptions extends SandboxOptions {
  readonly pullPolicy: PullPolicy;
  /** Id of this bridge, of lower-case letters, digits and `-`; containers are named and labelled with it. */
  readonly instanceId: string;
  /** Path or name of the engine's command; the engine's name when left out. */
  readonly executable?: string | undefined;
  /** Variables of this process; only named ones reach the engine's command. */
  readonly env: Environment;
  /** The platform of this machine when left out. */
  readonly platform?: NodeJS.Platform | undefined;
  readonly logger: Logger;
}

/** Where podman and docker differ. */
export interface Dialect {
  readonly name: EngineName;
  readonly description: string;
  /** The image as `pull` is told it. */
  readonly pullReference: (image: string) => string;
  /** One next step for a person whose engine does not answer. */
  readonly unreachableHint: string;
  /** One next step for a person who may not use the engine. */
  readonly forbiddenHint: string;
  /** Brings an engine that does not answer to life; undefined when that is the user's to do. */
  readonly revive?: ((command: EngineCommand, onProgress: ProgressListener) => Promise<void>) | undefined;
  /** What it runs in, for people; `memoryBytes` is what one session may take. Never rejects. */
  readonly examineHost?: ((command: EngineCommand, memoryBytes: number) => Promise<EngineFact[]>) | undefined;
}

/** A sandbox that said nothing for this long makes us ask whether the engine answers at all. */
const SILENCE_MS = 1_000;
/** How long that answer may take; with the silence before it a hanging engine is reported within 5 s. */
const ANSWER_TIMEOUT_MS = 3_800;
/** A container that was being made when its client died is there after this long (measured: within 0.2 s). */
const LATE_CREATION_MS = 1_000;
/** How long the engine may take to say whether it has an image. */
const INSPECT_TIMEOUT_MS = 10_000;

/** An engine that runs `dialect`'s command. Throws `CONFIG_INVALID` when an option is refused. */
export function createContainerEngine(dialect: Dialect, options: ContainerEngineOptions): Engine {
  checkOptions(options);
  return new ContainerEngine(dialect, options);
}

class ContainerEngine implements Engine {
  readonly name: EngineName;
  readonly description: string;
  readonly isolation = 'a container';
  readonly #dialect: Dialect;
  readonly #options: ContainerEngineOptions;
  readonly #command: EngineCommand;
  readonly #preparation: Preparation;
  readonly #owner = currentOwner();
  readonly #omittedFlags = new Set<string>();
  /** Sandboxes whose engine hung. */
  readonly #unanswered = new WeakSet<Sandbox>();
  #startedCount = 0;

  constructor(dialect: Dialect, options: ContainerEngineOptions) {
    this.name = dialect.name;
    this.description = dialect.description;
    this.#dialect = dialect;
    this.#options = options;
    this.#command = { executable: options.executable ?? dialect.name, env: clientEnvironment(options.env) };
    const { revive } = dialect;
    const { logger, pullPolicy } = options;
    this.#preparation = createPreparation(
      {
        ...(revive === undefined ? {} : { unreachable: (onProgress) => revive(this.#command, onProgress) }),
        ...(pullPolicy === 'never' ? {} : { 'image-missing': (onProgress) => this.#pull(onProgress) }),
      },
      ({ message }) => logger.info(`${this.name}: ${message}`),
    );
  }

  async prepare(onProgress: ProgressListener): Promise<void> {
    await this.#preparation.run(onProgress);
  }

  async start(request: StartRequest): Promise<Sandbox> {
    this.#startedCount += 1;
    const name = `mcp-bridge-${this.#options.instanceId}-${this.#startedCount}`;
    const child = await this.#open(this.#runArguments(name, request));
    const sandbox = createSandbox(name, child, () => this.#remove(sandbox, child));
    this.#watchSilence(sandbox, child);
    return sandbox;
  }

  explainStartFailure(sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError {
    const failure: StartFailure = this.#unanswered.has(sandbox)
      ? { kind: 'unreachable', words: `no answer within ${SILENCE_MS + ANSWER_TIMEOUT_MS} ms` }
      : classifyStartFailure(exit, stderrTail);
    const { image } = this.#options;
    const { unreachableHint, forbiddenHint } = this.#dialect;
    const retryNow = this.#learn(failure);
    const pullCommand = this.#pullCommand();
    return startError(failure, exit, {
      engine: this.name,
      image,
      pullCommand,
      unreachableHint,
      forbiddenHint,
      retryNow,
    });
  }

  async sweep(options: SweepOptions = {}): Promise<number> {
    const { logger, instanceId } = this.#options;
    if (options.own === true && this.#startedCount === 0) {
      // Nothing of ours can be there, and others' leftovers are no reason to delay the end of this process.
      return 0;
    }
    try {
      const now = new Date();
      const containers = await listContainers(this.name, this.#command);
      const leftovers = containers.filter((container) =>
        container.labels.instanceId === instanceId
          ? options.own === true
          : options.keepsOthers !== true && isOrphan(container, now),
      );
      // One after the other: after a crash there may be many, and this machine is at work.
      for (const { id } of leftovers) {
        await removeContainer(this.#command, id);
      }
      if (leftovers.length > 0) {
        logger.info(`${this.name}: removed ${leftovers.length} leftover container(s)`);
      }
      return leftovers.length;
    } catch (error) {
      logger.debug(`${this.name}: the sweep for leftover containers stopped: ${messageOf(error)}`);
      return 0;
    }
  }

  async list(): Promise<ListedSandbox[]> {
    const now = new Date();
    const containers = await listContainers(this.name, this.#command);
    return containers.map((container) => ({
      id: container.id,
      session: container.labels.session,
      createdAt: container.labels.createdAt,
      isRunning: container.isRunning,
      bridgePid: container.labels.owner.pid,
      isLeftover: isOrphan(container, now),
    }));
  }

  async remove(id: string): Promise<void> {
    await removeContainer(this.#command, id);
  }

  async examine(): Promise<EngineFact[]> {
    const { memoryBytes } = this.#options.limits;
    const [own, host] = await Promise.all([
      examineContainerEngine(this.name, this.#command),
      this.#dialect.examineHost?.(this.#command, memoryBytes),
    ]);
    return [...(host ?? []), ...own];
  }

  #runArguments(name: string, request: StartRequest): string[] {
    const { instanceId } = this.#options;
    const labels = writeLabels({ instanceId, owner: this.#owner, session: request.session, createdAt: new Date() });
    return buildRunArguments({
      ...this.#options,
      engine: this.name,
      name,
      labels,
      command: request.command,
      omit: this.#omittedFlags,
      hardLimits: readHardLimits(),
    });
  }

  async #open(runArguments: readonly string[]): Promise<PipeProcess> {
    try {
      return await openPipe(this.#command, runArguments);
    } catch (error) {
      throw new BridgeError('ENGINE_UNAVAILABLE', `${this.#command.executable} cannot be run: ${messageOf(error)}`, {
        cause: error,
        data: { engine: this.name },
        hint: `Install ${this.name}, or set MCP_BRIDGE_RUNTIME to an engine that is installed.`,
      });
    }
  }

  /** Tells an engine that hangs from a program that is silent, and ends the client of the former. */
  #watchSilence(sandbox: Sandbox, child: PipeProcess): void {
    const isSilent = () => !hasEnded(child) && !hasSpoken(child);
    const check = async (): Promise<void> => {
      if (isSilent() && !(await this.#answers()) && isSilent()) {
        this.#unanswered.add(sandbox);
        endTree(child, 'SIGKILL');
      }
    };
    const timer = setTimeout(() => void check(), SILENCE_MS).unref();
    child.once('exit', () => clearTimeout(timer));
  }

  async #answers(): Promise<boolean> {
    const filter = `--filter=label=${INSTANCE_LABEL}=${this.#options.instanceId}`;
    const result = await runEngineCommand(this.#command, ['ps', '--quiet', filter], { timeoutMs: ANSWER_TIMEOUT_MS });
    return !result.isTimedOut;
  }

  /** Never rejects: what is left, the sweep at the end finds by its label. */
  async #remove(sandbox: Sandbox, child: PipeProcess): Promise<void> {
    if (this.#unanswered.has(sandbox)) {
      return;
    }
    try {
      await removeContainer(this.#command, sandbox.id);
      if (!hasSpoken(child)) {
        // Its client was killed while it started: docker's daemon may finish making the container only now.
        await wait(LATE_CREATION_MS);
        await removeContainer(this.#command, sandbox.id);
      }
    } catch (error) {
      this.#options.logger.warning(`${this.name}: ${sandbox.id} could not be removed yet: ${messageOf(error)}`);
    }
  }

  /** Gives whether another round is worth while at once. */
  #learn(failure: StartFailure): boolean {
    if (failure.kind !== 'flags-refused') {
      return this.#preparation.note(failure.kind);
    }
    const learned = failure.flags.filter((flag) => !this.#omittedFlags.has(flag));
    for (const flag of learned) {
      this.#omittedFlags.add(flag);
    }
    this.#options.logger.warning(`${this.name} refuses ${learned.join(' ')}; the next start leaves it out`);
    return learned.length > 0;
  }

  async #pull(onProgress: ProgressListener): Promise<void> {
    const { image, env } = this.#options;
    // The user may have brought it in the meantime, perhaps on a machine without a network.
    const there = await runEngineCommand(this.#command, ['image', 'inspect', image], { timeoutMs: INSPECT_TIMEOUT_MS });
    if (there.exitCode !== 0) {
      const command = { ...this.#command, env: clientEnvironment(env, true) };
      await pullImage(this.name, command, this.#dialect.pullReference(image), onProgress);
    }
  }

  #pullCommand(): string {
    return `${this.name} pull ${this.#dialect.pullReference(this.#options.image)}`;
  }
}
