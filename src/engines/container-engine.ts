/**
 * What the podman and docker engines have in common. They differ in a few values (`Dialect`), not in behaviour.
 *
 * Starts are optimistic: nothing is asked of the engine before `run`, because every question costs 20–30 ms of a 180 ms
 * cold start (measured). A start that fails is explained afterwards, and what was learned is used by the next round.
 */
import { BridgeError, messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';
import { buildRunArguments, checkOptions, type SandboxOptions } from './argv.ts';
import {
  type EngineCommand,
  hasEnded,
  hasSpoken,
  killGroup,
  openPipe,
  type PipeProcess,
  runCommand,
} from './client.ts';
import { clientEnvironment, type Environment } from './client-env.ts';
import type { Engine, EngineName, PrepareProgress, Sandbox, SandboxExit, StartRequest } from './engine.ts';
import { INSTANCE_LABEL, writeLabels } from './labels.ts';
import { currentOwner } from './owner.ts';
import { pullImage } from './pull.ts';
import { createSandbox } from './sandbox.ts';
import { classifyStartFailure, type StartFailure } from './start-failure.ts';
import { isOrphan, listContainers, removeContainers } from './sweep.ts';

export type PullPolicy = 'missing' | 'never';

export interface ContainerEngineOptions extends SandboxOptions {
  readonly pullPolicy: PullPolicy;
  /** Id of this bridge, of lower-case letters, digits and `-`; containers are named and labelled with it. */
  readonly instanceId: string;
  /** Path or name of the engine's command. */
  readonly executable?: string | undefined;
  /** Variables of this process; only named ones reach the engine's command. */
  readonly env: Environment;
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
  readonly revive?:
    | ((command: EngineCommand, onProgress: (progress: PrepareProgress) => void) => Promise<void>)
    | undefined;
}

/** A sandbox that said nothing for this long makes us ask whether the engine answers at all. */
const SILENCE_MS = 1_000;
/** How long that answer may take; with the silence before it a hanging engine is reported within 5 s. */
const ANSWER_TIMEOUT_MS = 3_800;
/** The sweep for others' leftovers comes this long after the first start, so that it takes nothing from it. */
const FIRST_SWEEP_DELAY_MS = 3_000;

/** An engine that runs `dialect`'s command. Throws `CONFIG_INVALID` when an option is refused. */
export function createContainerEngine(dialect: Dialect, options: ContainerEngineOptions): Engine {
  checkOptions(options);
  return new ContainerEngine(dialect, options);
}

class ContainerEngine implements Engine {
  readonly name: EngineName;
  readonly description: string;
  readonly #dialect: Dialect;
  readonly #options: ContainerEngineOptions;
  readonly #command: EngineCommand;
  readonly #owner = currentOwner();
  /** What failed starts taught. */
  readonly #omittedFlags = new Set<string>();
  readonly #unanswered = new WeakSet<Sandbox>();
  #isImageMissing = false;
  /** One pull is worth one more round; an image that is missing after it will not come by another at once. */
  #hasPulled = false;
  #needsRevival = false;
  #preparing: Promise<void> | undefined;
  readonly #progressListeners = new Set<(progress: PrepareProgress) => void>();
  #startedCount = 0;

  constructor(dialect: Dialect, options: ContainerEngineOptions) {
    this.name = dialect.name;
    this.description = dialect.description;
    this.#dialect = dialect;
    this.#options = options;
    this.#command = { executable: options.executable ?? dialect.name, env: clientEnvironment(options.env) };
  }

  async prepare(onProgress: (progress: PrepareProgress) => void): Promise<void> {
    if (!this.#isImageMissing && !this.#needsRevival) {
      return;
    }
    this.#progressListeners.add(onProgress);
    this.#preparing ??= this.#repair().finally(() => {
      this.#preparing = undefined;
      this.#progressListeners.clear();
    });
    await this.#preparing;
  }

  async start(request: StartRequest): Promise<Sandbox> {
    const [program, ...programArguments] = request.command;
    if (program === undefined) {
      throw new BridgeError('INTERNAL', 'a sandbox was to be started without a command');
    }
    this.#startedCount += 1;
    const name = `mcp-bridge-${this.#options.instanceId}-${this.#startedCount}`;
    const runArguments = buildRunArguments({
      ...this.#options,
      engine: this.name,
      name,
      labels: writeLabels({
        instanceId: this.#options.instanceId,
        owner: this.#owner,
        session: request.session,
        createdAt: new Date(),
      }),
      command: [program, ...programArguments],
      omit: this.#omittedFlags,
    });
    const child = await this.#open(runArguments);
    const sandbox = createSandbox(name, child, () => this.#remove(sandbox));
    this.#watchSilence(sandbox, child);
    if (this.#startedCount === 1) {
      setTimeout(() => void this.sweep(), FIRST_SWEEP_DELAY_MS).unref();
    }
    return sandbox;
  }

  explainStartFailure(sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError {
    if (this.#unanswered.has(sandbox)) {
      return this.#unreachable(`it did not answer within ${SILENCE_MS + ANSWER_TIMEOUT_MS} ms`, exit);
    }
    const failure = classifyStartFailure(exit, stderrTail);
    const data = { engine: this.name, exitCode: exit.exitCode, signal: exit.signal, stderr: failure.words };
    switch (failure.kind) {
      case 'flags-refused':
        return this.#learnFlags(failure, data);
      case 'image-missing':
        this.#isImageMissing = true;
        return this.#imageMissing({ ...data, retryNow: this.#options.pullPolicy === 'missing' && !this.#hasPulled });
      case 'python-missing':
        return new BridgeError(
          'IMAGE_UNSUITABLE',
          `the image ${this.#options.image} has no python3 on its PATH: ${failure.words}`,
          {
            data,
            hint: 'Set MCP_BRIDGE_IMAGE to an image with Python 3.10 or newer, for example python:3.14-slim.',
          },
        );
      case 'forbidden':
        return new BridgeError('ENGINE_UNAVAILABLE', `${this.name} refused this user: ${failure.words}`, {
          data,
          hint: this.#dialect.forbiddenHint,
        });
      case 'unreachable':
        return this.#unreachable(failure.words, exit);
      case 'other':
        return this.#failed(failure.words, exit, data);
    }
  }

  async sweep(options: { readonly own?: boolean } = {}): Promise<number> {
    let removed = 0;
    try {
      const now = new Date();
      for (const container of await listContainers(this.name, this.#command)) {
        const isOwn = container.labels.instanceId === this.#options.instanceId;
        if (isOwn ? options.own === true : isOrphan(container, now)) {
          await removeContainers(this.#command, [container.id]);
          removed += 1;
        }
      }
    } catch (error) {
      this.#options.logger.debug(`${this.name}: the sweep for leftover containers stopped: ${messageOf(error)}`);
    }
    if (removed > 0) {
      this.#options.logger.info(`${this.name}: removed ${removed} leftover container(s)`);
    }
    return removed;
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
    const timer = setTimeout(async () => {
      if (isSilent() && !(await this.#answers()) && isSilent()) {
        this.#unanswered.add(sandbox);
        killGroup(child.pid, child);
      }
    }, SILENCE_MS);
    child.once('exit', () => clearTimeout(timer));
    timer.unref();
  }

  async #answers(): Promise<boolean> {
    const filter = `--filter=label=${INSTANCE_LABEL}=${this.#options.instanceId}`;
    const result = await runCommand(this.#command, ['ps', '--quiet', filter], { timeoutMs: ANSWER_TIMEOUT_MS });
    return !result.isTimedOut;
  }

  /** Never rejects: what is left, the sweep at the end finds by its label. */
  async #remove(sandbox: Sandbox): Promise<void> {
    if (this.#unanswered.has(sandbox)) {
      return;
    }
    try {
      await removeContainers(this.#command, [sandbox.id]);
    } catch (error) {
      this.#options.logger.warning(
        `${this.name}: container ${sandbox.id} could not be removed yet: ${messageOf(error)}`,
      );
    }
  }

  async #repair(): Promise<void> {
    const report = (progress: PrepareProgress): void => {
      this.#options.logger.info(`${this.name}: ${progress.message}`);
      for (const listener of this.#progressListeners) {
        listener(progress);
      }
    };
    if (this.#needsRevival) {
      await this.#dialect.revive?.(this.#command, report);
      this.#needsRevival = false;
    }
    if (this.#isImageMissing) {
      if (this.#options.pullPolicy === 'never') {
        throw this.#imageMissing({ engine: this.name });
      }
      const command = { ...this.#command, env: clientEnvironment(this.#options.env, true) };
      await pullImage(this.name, command, this.#dialect.pullReference(this.#options.image), report);
      this.#isImageMissing = false;
      this.#hasPulled = true;
    }
  }

  #learnFlags(failure: StartFailure & { kind: 'flags-refused' }, data: Readonly<Record<string, unknown>>): BridgeError {
    const isNew = failure.flags.some((flag) => !this.#omittedFlags.has(flag));
    for (const flag of failure.flags) {
      this.#omittedFlags.add(flag);
    }
    this.#options.logger.warning(
      `${this.name} does not take every flag; the next start leaves out ${failure.flags.join(' ')}`,
    );
    return new BridgeError('ENGINE_FAILED', `${this.name} refused to start the sandbox: ${failure.words}`, {
      data: { ...data, retryNow: isNew },
      hint: `Update ${this.name}, or set MCP_BRIDGE_RUNTIME to another engine.`,
    });
  }

  #imageMissing(data: Readonly<Record<string, unknown>>): BridgeError {
    const pull = `${this.name} pull ${this.#dialect.pullReference(this.#options.image)}`;
    return new BridgeError('IMAGE_MISSING', `the image ${this.#options.image} is not on this machine (${this.name})`, {
      data: { ...data, image: this.#options.image, pullCommand: pull },
      hint: `Run: ${pull}`,
    });
  }

  #unreachable(words: string, exit: SandboxExit): BridgeError {
    this.#needsRevival = this.#dialect.revive !== undefined;
    return new BridgeError('ENGINE_UNAVAILABLE', `${this.name} does not answer: ${words}`, {
      data: { engine: this.name, exitCode: exit.exitCode, signal: exit.signal, retryNow: this.#needsRevival },
      hint: this.#dialect.unreachableHint,
    });
  }

  #failed(words: string, exit: SandboxExit, data: Readonly<Record<string, unknown>>): BridgeError {
    const how = exit.signal === undefined ? `exit code ${exit.exitCode}` : `signal ${exit.signal}`;
    const said = words === '' ? 'it said nothing' : words;
    return new BridgeError('ENGINE_FAILED', `${this.name} did not start the sandbox (${how}): ${said}`, {
      data,
      hint: `Check that this works: ${this.name} run --rm ${this.#options.image} python3 --version`,
    });
  }
}
