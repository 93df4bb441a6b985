/**
 * The embedded engine: Python compiled to WebAssembly in a child process of this Node, for machines without a container
 * engine. The way out of WebAssembly is a handful of functions of ours; where the system has them, a layer of its own is
 * put around the child (layers.ts). Needs nothing but the files of this package.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { endTree, hasEnded } from '../../base/process-tree.ts';
import { hasSpoken, openPipe, type PipeProcess } from '../client.ts';
import type { Environment } from '../client-env.ts';
import type { Engine, Mount, Sandbox, SandboxExit, SandboxLimits, StartRequest } from '../engine.ts';
import { createSandbox } from '../sandbox.ts';
import { BUILT_FILES_FOLDER, createBuiltFilesCheck } from './built-files.ts';
import { MANIFEST } from './child/built-files.ts';
import { childArguments } from './child-command.ts';
import { type HostMachine, LAYER_NAMES, type LayerRefusal, type Surroundings } from './layer.ts';
import { chooseSurroundings, readMachine } from './layers.ts';
import { embeddedStartError, missingFiles, noMounts } from './start-failure.ts';

export interface EmbeddedOptions {
  readonly limits: SandboxLimits;
  /** Folders the user wants in the sandbox; with any, the engine refuses to start one. */
  readonly mounts?: readonly Mount[] | undefined;
  /** Id of this bridge; sandboxes are named with it. */
  readonly instanceId: string;
  readonly env: Environment;
  readonly logger: Logger;
  /** Folder of the built files; that of this package when left out. */
  readonly folder?: string | undefined;
  /** Path of the Node that runs the child; this one when left out. */
  readonly node?: string | undefined;
  /** Whether no layer of the operating system is put around the child. Tests of the inner boundary want that. */
  readonly isBare?: boolean | undefined;
  /** How long a child may say nothing; `SILENCE_LIMIT_MS` when left out. */
  readonly silenceLimitMs?: number | undefined;
}

/** A start takes 0.1 to 0.3 s, a loaded laptop some seconds. Chosen: clients give up after 60 s. */
const SILENCE_LIMIT_MS = 20_000;

/** Exit code of a child that could not set Python up; the same as in `src/engines/embedded/child/child.ts`. */
const CHILD_FAILED = 70;

const MISSING =
  'Threads, child processes, sockets, ctypes and packages with C code: Python runs in WebAssembly. ' +
  'They need a container engine (podman or docker) on the machine of the bridge.';

/** Whether the built files are there at all. */
export function hasEmbeddedFiles(folder: string = BUILT_FILES_FOLDER): boolean {
  return existsSync(join(folder, MANIFEST));
}

/** An engine that needs nothing installed. */
export function createEmbeddedEngine(options: EmbeddedOptions): Engine {
  return new EmbeddedEngine(options);
}

/** What is known of a sandbox of ours. */
interface Start {
  readonly surroundings: Surroundings;
  fault?: string | undefined;
  silentMs?: number;
}

class EmbeddedEngine implements Engine {
  readonly name = 'embedded';
  readonly missing = MISSING;
  readonly #options: EmbeddedOptions;
  readonly #folder: string;
  readonly #check: ReturnType<typeof createBuiltFilesCheck>;
  readonly #refusedLayers: LayerRefusal[];
  readonly #starts = new WeakMap<Sandbox, Start>();
  readonly #running = new Set<Sandbox>();
  #machine: HostMachine | undefined;
  #choosing: Promise<Surroundings> | undefined;
  #surroundings: Surroundings | undefined;
  #startedCount = 0;

  constructor(options: EmbeddedOptions) {
    this.#options = options;
    this.#folder = options.folder ?? BUILT_FILES_FOLDER;
    this.#check = createBuiltFilesCheck(this.#folder);
    this.#refusedLayers = options.isBare === true ? LAYER_NAMES.map((layer) => ({ layer, reason: 'not wanted' })) : [];
  }

  get description(): string {
    const reasons = this.#refusedLayers.map(({ layer, reason }) => `${layer} not used: ${reason}`).join('; ');
    return reasons === '' ? this.isolation : `${this.isolation} (${reasons})`;
  }

  get isolation(): string {
    const words = this.#surroundings === undefined ? '' : `, ${this.#surroundings.words}`;
    return `Python in WebAssembly, in a process of its own${words}`;
  }

  async prepare(): Promise<void> {
    // Nothing to pull and nothing to wake.
  }

  async start(_request: StartRequest): Promise<Sandbox> {
    this.#checkPossible();
    // Begun before everything else: it takes about as long as the start.
    const fault = this.#check.run();
    const surroundings = await this.#findSurroundings();
    const { instanceId, limits } = this.#options;
    this.#startedCount += 1;
    const name = `mcp-bridge-${instanceId}-${this.#startedCount}`;
    const nodeArguments = childArguments({ ...surroundings, limits, name, nodeVersion: process.versions.node });
    const launch = surroundings.launch(nodeArguments);
    const child = await openPipe({ ...launch, env: {} }, launch.arguments, launch.input).catch((error: unknown) => {
      throw unstartable(launch.executable, error);
    });
    return this.#watch(name, child, { surroundings }, fault);
  }

  explainStartFailure(sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError {
    const start = this.#starts.get(sandbox);
    const explain = (retryNow: boolean) => embeddedStartError({ ...start, exit, stderrTail }, retryNow);
    const error = explain(false);
    const layer = start?.surroundings.layer;
    const isOwnFault = error.code === 'ENGINE_UNAVAILABLE' || start?.silentMs !== undefined || saidWhy(exit);
    if (layer === undefined || isOwnFault) {
      return error;
    }
    // The probe passed and the start did not: the layer may be the reason, which a start without it shows.
    if (!this.#refusedLayers.some((refusal) => refusal.layer === layer)) {
      this.#refusedLayers.push({ layer, reason: error.message });
    }
    this.#choosing = undefined;
    return explain(true);
  }

  /** Sandboxes end with the pipe of their bridge; only own ones can be left. */
  async sweep(options: { readonly own?: boolean } = {}): Promise<number> {
    const running = options.own === true ? [...this.#running] : [];
    await Promise.all(running.map((sandbox) => sandbox.kill()));
    return running.length;
  }

  #checkPossible(): void {
    if (!hasEmbeddedFiles(this.#folder)) {
      throw missingFiles(this.#folder);
    }
    if ((this.#options.mounts ?? []).length > 0) {
      throw noMounts();
    }
  }

  #findSurroundings(): Promise<Surroundings> {
    this.#choosing ??= this.#chooseSurroundings();
    return this.#choosing;
  }

  async #chooseSurroundings(): Promise<Surroundings> {
    const { env, logger, node } = this.#options;
    this.#machine ??= { ...readMachine(this.#folder, env), ...(node !== undefined && { node }) };
    this.#surroundings = await chooseSurroundings(this.#machine, this.#refusedLayers);
    logger.debug(`embedded: ${this.description}`);
    return this.#surroundings;
  }

  #watch(name: string, child: PipeProcess, start: Start, fault: Promise<string | undefined>): Sandbox {
    // Nothing is sent before the files are known to be right, so nothing is answered either.
    child.stdin.cork();
    const checked = fault.then((found) => {
      start.fault = found;
      if (found === undefined) {
        child.stdin.uncork();
      } else {
        endTree(child, 'SIGKILL');
      }
    });
    this.#limitSilence(child, start);
    // There is nothing to remove: the child is all there is.
    const inner = createSandbox(name, child, async () => undefined, 0);
    const exited = Promise.all([inner.exited, checked]).then(([exit]) => exit);
    const sandbox = { ...inner, isPreloaded: true, exited };
    this.#starts.set(sandbox, start);
    this.#running.add(sandbox);
    void exited.then(() => this.#running.delete(sandbox));
    return sandbox;
  }

  #limitSilence(child: PipeProcess, start: Start): void {
    const limitMs = this.#options.silenceLimitMs ?? SILENCE_LIMIT_MS;
    const timer = setTimeout(() => {
      if (!hasEnded(child) && !hasSpoken(child)) {
        start.silentMs = limitMs;
        endTree(child, 'SIGKILL');
      }
    }, limitMs).unref();
    child.once('exit', () => clearTimeout(timer));
  }
}

/** Whether the child came as far as to say itself why it cannot go on. */
function saidWhy({ exitCode }: SandboxExit): boolean {
  return exitCode === CHILD_FAILED;
}

function unstartable(executable: string, error: unknown): BridgeError {
  return new BridgeError('ENGINE_UNAVAILABLE', `the embedded engine cannot start ${executable}: ${messageOf(error)}`, {
    cause: error,
    data: { engine: 'embedded', retryNow: false },
    hint: 'Check that this program is still there, and restart the bridge.',
  });
}
