/**
 * The podman and docker engines. They differ only in the values of `Dialect`, not in behavior.
 *
 * Starts are optimistic: the engine is asked nothing before `run`, because every question adds 20 to 30 ms to a cold start of 180 ms
 * (measured). A failed start is explained afterwards, and the next attempt uses what was learned.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import type { Logger } from '../../../core/base/log.ts';
import { currentOwner } from '../../../core/base/owner.ts';
import { PACKAGE_ROOT } from '../../../core/base/package.ts';
import { endTree, hasEnded } from '../../../core/base/process-tree.ts';
import {
  type Engine,
  type EngineFact,
  type EngineName,
  type ListedSandbox,
  PROVIDED_BY_IMAGE,
  type ProgramSandbox,
  type Sandbox,
  type SandboxExit,
  type StartRequest,
  type SweepOptions,
} from '../../../core/session/engine.ts';
import { type EngineCommand, hasSpoken, openPipe, type PipeProcess, runEngineCommand } from '../client.ts';
import { clientEnvironment, type Environment } from '../client-env.ts';
import { readHardLimits } from '../process-limits.ts';
import { createSandbox } from '../sandbox.ts';
import { buildRunArguments, checkOptions, DESCRIPTOR_FLAG, type SandboxOptions } from './argv.ts';
import { examineContainerEngine } from './examine.ts';
import { INSTANCE_LABEL, writeLabels } from './labels.ts';
import { isRemote } from './machine.ts';
import { answerTimeoutMs, currentLoadPerCore, SILENCE_MS } from './patience.ts';
import { createPreparation, type Preparation, type ProgressListener } from './preparation.ts';
import { pullImage } from './pull.ts';
import { classifyStartFailure, type StartFailure, startError } from './start-failure.ts';
import { isOrphan, listContainers, removeContainer } from './sweep.ts';

/** Whether `prepare` pulls a missing image. A start never does. */
export type PullPolicy = 'missing' | 'never';

export interface ContainerEngineOptions extends SandboxOptions {
  readonly pullPolicy: PullPolicy;
  /** Id of this bridge (lower-case letters, digits and `-`), part of the names and labels of its containers. */
  readonly instanceId: string;
  /** Path or name of the engine's command; by default the engine's name. */
  readonly executable?: string | undefined;
  /** Environment of this process. The engine's command gets only an allowlist of it. */
  readonly env: Environment;
  /** By default the platform of this machine. */
  readonly platform?: NodeJS.Platform | undefined;
  readonly logger: Logger;
}

/** What differs between podman and docker. */
export interface Dialect {
  readonly name: EngineName;
  readonly description: string;
  /** Whether a sandbox can get a descriptor of the engine's command. */
  readonly passesDescriptors: boolean;
  /** The argument of `pull` for an image. */
  readonly pullReference: (image: string) => string;
  /** One next step if the engine does not answer. */
  readonly unreachableHint: string;
  /** One next step if the user may not use the engine. */
  readonly forbiddenHint: string;
  /** Starts the engine if it does not answer; undefined if only the user can do that. */
  readonly revive?: ((command: EngineCommand, onProgress: ProgressListener) => Promise<void>) | undefined;
  /** Facts about the virtual machine of the engine. `memoryBytes` is the memory limit of a session. Never rejects. */
  readonly examineHost?: ((command: EngineCommand, memoryBytes: number) => Promise<EngineFact[]>) | undefined;
}

/** The filter of programs, which have no supervisor that applies it. */
const SECCOMP_PROFILE = fileURLToPath(new URL('sandbox-runtime/program-seccomp.json', PACKAGE_ROOT));
/** If the client dies while its container is being created, the container exists after this long (measured: within 0.2 s). */
const LATE_CREATION_MS = 1_000;
/** Tells the loader of a session that the pipe is descriptor 3. */
const DESCRIPTOR_ARGUMENT = '--descriptor';
/** How long the engine may take to say whether it has an image. */
const INSPECT_TIMEOUT_MS = 10_000;

/** Creates the engine of `dialect`. Throws `CONFIG_INVALID` if an option is invalid. */
export function createContainerEngine(dialect: Dialect, options: ContainerEngineOptions): Engine {
  checkOptions(options);
  return new ContainerEngine(dialect, options);
}

class ContainerEngine implements Engine {
  readonly name: EngineName;
  readonly description: string;
  readonly isolation = 'a container';
  readonly provides = PROVIDED_BY_IMAGE;
  readonly canBuild: boolean;
  readonly programs = 'images';
  readonly #dialect: Dialect;
  readonly #options: ContainerEngineOptions;
  readonly #command: EngineCommand;
  readonly #preparation: Preparation;
  /** Of images that only programs use. A session does not wait for them. */
  readonly #preparationOf = new Map<string, Preparation>();
  /** What each sandbox was to run, and of a program also its image. */
  readonly #askedOf = new WeakMap<
    Sandbox,
    { readonly command: string | undefined; readonly programImage: string | undefined }
  >();
  readonly #owner = currentOwner();
  readonly #omittedFlags = new Set<string>();
  /** The flags that were omitted from the start of each sandbox. */
  readonly #omittedFrom = new WeakMap<Sandbox, ReadonlySet<string>>();
  /** Sandboxes whose engine did not answer within so many milliseconds, counted from the start. */
  readonly #unanswered = new WeakMap<Sandbox, number>();
  #startedCount = 0;

  constructor(dialect: Dialect, options: ContainerEngineOptions) {
    this.name = dialect.name;
    this.description = dialect.description;
    this.canBuild = options.packages !== undefined;
    this.#dialect = dialect;
    this.#options = options;
    this.#command = { executable: options.executable ?? dialect.name, env: clientEnvironment(options.env) };
    this.#preparation = this.#prepareFor(options.image);
  }

  async prepare(onProgress: ProgressListener, program?: ProgramSandbox): Promise<void> {
    await this.#preparationFor(program?.image).run(onProgress);
  }

  async start(request: StartRequest): Promise<Sandbox> {
    this.#startedCount += 1;
    const name = `mcp-bridge-${this.#options.instanceId}-${this.#startedCount}`;
    const usesDescriptor = this.#usesDescriptor(request);
    const omitted = new Set(this.#omittedFlags);
    const child = await this.#open(this.#runArguments(name, request, usesDescriptor), usesDescriptor);
    const sandbox = createSandbox(name, child, () => this.#remove(sandbox, child));
    this.#omittedFrom.set(sandbox, omitted);
    const programImage = request.program === undefined ? undefined : (request.program.image ?? this.#options.image);
    this.#askedOf.set(sandbox, { command: request.command[0], programImage });
    this.#watchSilence(sandbox, child);
    return sandbox;
  }

  explainStartFailure(sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError {
    const unansweredMs = this.#unanswered.get(sandbox);
    const asked = this.#askedOf.get(sandbox);
    const failure: StartFailure =
      unansweredMs === undefined
        ? classifyStartFailure(exit, stderrTail, asked?.command)
        : { kind: 'unreachable', detail: `no answer within ${unansweredMs} ms` };
    const image = asked?.programImage ?? this.#options.image;
    const { unreachableHint, forbiddenHint } = this.#dialect;
    const retryNow = this.#learn(failure, image, this.#omittedFrom.get(sandbox));
    const pullCommand = this.#pullCommand(image);
    return startError(failure, exit, {
      engine: this.name,
      image,
      program: asked?.programImage === undefined ? undefined : asked.command,
      pullCommand,
      unreachableHint,
      forbiddenHint,
      retryNow,
    });
  }

  async sweep(options: SweepOptions = {}): Promise<number> {
    const { logger, instanceId } = this.#options;
    if (options.own === true && this.#startedCount === 0) {
      // This bridge has started nothing, and leftovers of others must not delay its shutdown.
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
      // One at a time: after a crash there may be many, and the user is working on this machine.
      for (const { id } of leftovers) {
        await removeContainer(this.#command, id);
      }
      if (leftovers.length > 0) {
        logger.info(`${this.name}: removed ${leftovers.length} leftover container(s)`);
      }
      return leftovers.length;
    } catch (error) {
      logger.debug(`${this.name}: removing leftover containers failed: ${messageOf(error)}`);
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

  /** What repairs a start with `image`. */
  #prepareFor(image: string): Preparation {
    const { revive } = this.#dialect;
    const { logger, pullPolicy } = this.#options;
    return createPreparation(
      {
        ...(revive === undefined ? {} : { unreachable: (onProgress) => revive(this.#command, onProgress) }),
        ...(pullPolicy === 'never' ? {} : { 'image-missing': (onProgress) => this.#pull(image, onProgress) }),
      },
      ({ message }) => logger.info(`${this.name}: ${message}`),
    );
  }

  #preparationFor(image: string | undefined): Preparation {
    if (image === undefined || image === this.#options.image) {
      return this.#preparation;
    }
    const known = this.#preparationOf.get(image) ?? this.#prepareFor(image);
    this.#preparationOf.set(image, known);
    return known;
  }

  /** Otherwise each frame goes through the engine's client and conmon, which wake up for it (decision 067). */
  #usesDescriptor({ isSupervised = false }: StartRequest): boolean {
    return isSupervised && this.#dialect.passesDescriptors && !this.#omittedFlags.has(DESCRIPTOR_FLAG);
  }

  #runArguments(name: string, request: StartRequest, usesDescriptor: boolean): string[] {
    const { env, instanceId, platform = process.platform } = this.#options;
    const labels = writeLabels({ instanceId, owner: this.#owner, session: request.session, createdAt: new Date() });
    return buildRunArguments({
      ...this.#options,
      engine: this.name,
      name,
      labels,
      command: [...request.command, ...(usesDescriptor ? [DESCRIPTOR_ARGUMENT] : [])],
      usesDescriptor,
      isBuilder: request.isBuilder,
      isOffline: request.isOffline,
      program: request.program,
      // A remote podman would read the file on its own machine; docker's command sends it.
      seccompProfile: this.name === 'podman' && isRemote(platform, env) ? undefined : SECCOMP_PROFILE,
      omit: this.#omittedFlags,
      hardLimits: readHardLimits(),
    });
  }

  async #open(runArguments: readonly string[], usesDescriptor: boolean): Promise<PipeProcess> {
    try {
      return await openPipe(this.#command, runArguments, { usesDescriptor });
    } catch (error) {
      throw new BridgeError('ENGINE_UNAVAILABLE', `${this.#command.executable} cannot be run: ${messageOf(error)}`, {
        cause: error,
        data: { engine: this.name },
        hint: `Install ${this.name}, or set MCP_BRIDGE_RUNTIME to an engine that is installed.`,
      });
    }
  }

  /**
   * If nothing is printed, finds out whether the engine hangs or the program is silent. Kills the client if the engine hangs, but
   * never sooner because the bridge ends: on a busy machine that killed healthy starts, whose container and conmon stayed behind.
   */
  #watchSilence(sandbox: Sandbox, child: PipeProcess): void {
    const isSilent = () => !hasEnded(child) && !hasSpoken(child);
    const check = async (): Promise<void> => {
      if (!isSilent()) {
        return;
      }
      const timeoutMs = answerTimeoutMs(this.#options.env, currentLoadPerCore());
      if (!(await this.#answers(timeoutMs)) && isSilent()) {
        this.#unanswered.set(sandbox, SILENCE_MS + timeoutMs);
        endTree(child, 'SIGKILL');
      }
    };
    const timer = setTimeout(() => void check(), SILENCE_MS).unref();
    child.once('exit', () => clearTimeout(timer));
  }

  async #answers(timeoutMs: number): Promise<boolean> {
    const filter = `--filter=label=${INSTANCE_LABEL}=${this.#options.instanceId}`;
    const result = await runEngineCommand(this.#command, ['ps', '--quiet', filter], {
      timeoutMs,
      endsWithProcess: true,
    });
    return !result.isTimedOut;
  }

  /** Never rejects: the sweep at shutdown finds what is left by its label. */
  async #remove(sandbox: Sandbox, child: PipeProcess): Promise<void> {
    if (this.#unanswered.has(sandbox)) {
      return;
    }
    try {
      await removeContainer(this.#command, sandbox.id);
      if (!hasSpoken(child)) {
        // The client was killed during the start, and docker's daemon may still be creating the container.
        await wait(LATE_CREATION_MS);
        await removeContainer(this.#command, sandbox.id);
      }
    } catch (error) {
      this.#options.logger.warning(`${this.name}: ${sandbox.id} could not be removed yet: ${messageOf(error)}`);
    }
  }

  /** Remembers what the failure of a start showed that omitted some flags. Returns whether the next one may succeed because of it. */
  #learn(failure: StartFailure, image: string, omitted: ReadonlySet<string> = this.#omittedFlags): boolean {
    if (failure.kind !== 'flags-refused') {
      return this.#preparationFor(image).note(failure.kind);
    }
    const learned = failure.flags.filter((flag) => !this.#omittedFlags.has(flag));
    for (const flag of learned) {
      this.#omittedFlags.add(flag);
    }
    if (learned.length > 0) {
      this.#options.logger.daily(`${this.name} refuses ${learned.join(' ')}; omitted from the next start`);
    }
    // Another start may have learned it since.
    return failure.flags.some((flag) => !omitted.has(flag));
  }

  async #pull(image: string, onProgress: ProgressListener): Promise<void> {
    const { env } = this.#options;
    // The user may have loaded the image meanwhile, perhaps on a machine without network access.
    const found = await runEngineCommand(this.#command, ['image', 'inspect', image], {
      timeoutMs: INSPECT_TIMEOUT_MS,
      endsWithProcess: true,
    });
    if (found.exitCode !== 0) {
      const command = { ...this.#command, env: clientEnvironment(env, true) };
      await pullImage(this.name, command, this.#dialect.pullReference(image), onProgress);
    }
  }

  #pullCommand(image: string): string {
    return `${this.name} pull ${this.#dialect.pullReference(image)}`;
  }
}
