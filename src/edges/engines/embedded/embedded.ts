/**
 * The embedded engine: CPython and QuickJS compiled to WebAssembly, each in a child process of this Node, for machines without a
 * container engine. The only way out of WebAssembly is a small set of our own functions. If the operating system offers a
 * sandbox, the child runs inside it (layers.ts). The engine needs nothing but the files of this package.
 */

import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import type { Logger } from '../../../core/base/log.ts';
import { endTree, hasEnded } from '../../../core/base/process-tree.ts';
import {
  type Engine,
  type Mount,
  NATIVE_ENGINES,
  type ProgramSandbox,
  type Sandbox,
  type SandboxExit,
  type SandboxLimits,
  type StartRequest,
  type SweepOptions,
} from '../../../core/session/engine.ts';
import { hasSpoken, openPipe, type PipeProcess } from '../client.ts';
import type { Environment } from '../client-env.ts';
import { createSandbox, RunningSandboxes } from '../sandbox.ts';
import { BUILT_FILES_FOLDER, createBuiltFilesCheck } from './built-files.ts';
import { MANIFEST } from './child/built-files.ts';
import { type ChildRequest, childArguments, javascriptArguments } from './child-command.ts';
import { type HostMachine, LAYER_NAMES, type LayerRefusal, type Surroundings } from './layer.ts';
import { chooseSurroundings, readMachine } from './layers.ts';
import { embeddedStartError, missingFiles, noMounts } from './start-failure.ts';

export interface EmbeddedOptions {
  readonly limits: SandboxLimits;
  /** Host folders that the user wants mounted. The engine cannot do that, and refuses to start if there are any. */
  readonly mounts?: readonly Mount[] | undefined;
  /** Id of this bridge, part of the names of its sandboxes. */
  readonly instanceId: string;
  readonly env: Environment;
  readonly logger: Logger;
  /** Folder of the built files; by default that of this package. */
  readonly folder?: string | undefined;
  /** Path of the Node that runs the child; by default this one. */
  readonly node?: string | undefined;
  /** Starts the child without any layer, for tests of the inner boundary. */
  readonly isBare?: boolean | undefined;
  /** How long a child may print nothing; by default `SILENCE_LIMIT_MS`. */
  readonly silenceLimitMs?: number | undefined;
}

/** A start takes 0.1 to 0.3 s, and a few seconds on a busy laptop. Chosen, because clients give up after 60 s. */
const SILENCE_LIMIT_MS = 20_000;

/** Exit code of a child that could not set up Python; the same as in `src/edges/engines/embedded/child/child.ts`. */
const CHILD_FAILED = 70;

const MISSING =
  'A shell, threads, child processes, sockets, ctypes and packages with compiled parts (NumPy, pandas, Matplotlib), because ' +
  `Python runs in WebAssembly. They need ${NATIVE_ENGINES} on the machine of the bridge.`;

/** The Python of the built files. */
const PYTHON = 'cpython-314 wasi wasm32';

/** Whether the built files exist. */
export function hasEmbeddedFiles(folder: string = BUILT_FILES_FOLDER): boolean {
  return existsSync(join(folder, MANIFEST));
}

/** Creates the engine, which needs nothing installed. */
export function createEmbeddedEngine(options: EmbeddedOptions): Engine {
  return new EmbeddedEngine(options);
}

/** What is known about a start. */
interface Start {
  readonly surroundings: Surroundings;
  fault?: string | undefined;
  silentMs?: number;
}

function argumentsOf(wanted: ChildRequest, program: ProgramSandbox | undefined): string[] {
  if (program === undefined) {
    return childArguments(wanted);
  }
  return program.interpreter === 'python' ? childArguments(wanted, 'program') : javascriptArguments(wanted);
}

/** 128 and the number of SIGKILL. */
const KILLED = 137;

class EmbeddedEngine implements Engine {
  readonly name = 'embedded';
  readonly missing = MISSING;
  readonly wheelsFor = PYTHON;
  readonly programs = 'own';
  readonly #options: EmbeddedOptions;
  readonly #folder: string;
  readonly #check: ReturnType<typeof createBuiltFilesCheck>;
  readonly #refusedLayers: LayerRefusal[];
  readonly #starts = new WeakMap<Sandbox, Start>();
  readonly #running = new RunningSandboxes();
  #machine: HostMachine | undefined;
  #choosing: Promise<Surroundings> | undefined;
  #surroundings: Surroundings | undefined;
  /** A layer in which a sandbox has started is no reason why a later one did not. */
  #provenLayer: Surroundings['layer'];
  #startedCount = 0;

  constructor(options: EmbeddedOptions) {
    this.#options = options;
    this.#folder = options.folder ?? BUILT_FILES_FOLDER;
    this.#check = createBuiltFilesCheck(this.#folder);
    this.#refusedLayers =
      options.isBare === true ? LAYER_NAMES.map((layer) => ({ layer, reason: 'switched off' })) : [];
  }

  get description(): string {
    const reasons = this.#refusedLayers.map(({ layer, reason }) => `${layer} not used: ${reason}`).join('; ');
    return reasons === '' ? this.isolation : `${this.isolation} (${reasons})`;
  }

  get isolation(): string {
    const layer = this.#surroundings === undefined ? '' : `, ${this.#surroundings.description}`;
    return `Python in WebAssembly, in a separate process${layer}`;
  }

  async prepare(): Promise<void> {
    // Nothing to pull and nothing to start.
  }

  async start(request: StartRequest): Promise<Sandbox> {
    this.#checkSupported();
    // First, because the check takes about as long as the start and runs in parallel.
    const fault = this.#check.run();
    const surroundings = await this.#findSurroundings();
    const { instanceId } = this.#options;
    this.#startedCount += 1;
    const name = `mcp-bridge-${instanceId}-${this.#startedCount}`;
    const limits = request.program?.limits ?? this.#options.limits;
    const wanted = { ...surroundings, limits, name, nodeVersion: process.versions.node };
    const launch = surroundings.launch(argumentsOf(wanted, request.program));
    const inputs = [launch.input];
    const child = await openPipe({ ...launch, env: {} }, launch.arguments, { inputs }).catch((error: unknown) => {
      throw cannotRun(launch.executable, error);
    });
    return this.#watch(name, child, { surroundings }, fault);
  }

  explainStartFailure(sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError {
    const start = this.#starts.get(sandbox);
    const explain = (retryNow: boolean) => embeddedStartError({ ...start, exit, stderrTail }, retryNow);
    const error = explain(false);
    const layer = start?.surroundings.layer;
    const isOwnFault =
      error.code === 'ENGINE_UNAVAILABLE' ||
      start?.silentMs !== undefined ||
      saidWhy(exit) ||
      wasKilled(exit, stderrTail);
    if (layer === undefined || layer === this.#provenLayer || isOwnFault) {
      return error;
    }
    // The probe of the layer succeeded but the start failed. The layer may be the reason: the next start goes without it.
    if (!this.#refusedLayers.some((refusal) => refusal.layer === layer)) {
      this.#refusedLayers.push({ layer, reason: error.message });
    }
    this.#choosing = undefined;
    return explain(true);
  }

  noteReady(sandbox: Sandbox): void {
    this.#provenLayer = this.#starts.get(sandbox)?.surroundings.layer;
  }

  async sweep(options?: SweepOptions): Promise<number> {
    return this.#running.sweep(options);
  }

  #checkSupported(): void {
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
    // Nothing is sent until the files have been checked, so a damaged child gets no frames to answer.
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
    // There is nothing to remove apart from the child.
    const inner = createSandbox(name, child, async () => undefined, 0);
    const exited = Promise.all([inner.exited, checked]).then(([exit]) => exit);
    const sandbox = { ...inner, isPreloaded: true, exited };
    this.#starts.set(sandbox, start);
    this.#running.add(sandbox);
    return sandbox;
  }

  #limitSilence(child: PipeProcess, start: Start): void {
    const limitMs = this.#options.silenceLimitMs ?? SILENCE_LIMIT_MS;
    const timer = setTimeout(() => {
      if (!hasEnded(child) && !hasSpoken(child) && !hasReported(child)) {
        start.silentMs = limitMs;
        endTree(child, 'SIGKILL');
      }
    }, limitMs).unref();
    child.once('exit', () => clearTimeout(timer));
  }
}

/** Whether the child has reported its start. One that is started ahead then says nothing until a session needs it. */
function hasReported({ stderr }: PipeProcess): boolean {
  return (stderr as unknown as Socket).bytesRead > 0;
}

/** Whether the child itself reported why it cannot continue. */
function saidWhy({ exitCode }: SandboxExit): boolean {
  return exitCode === CHILD_FAILED;
}

/** From outside, such as by a machine without memory. A layer passes on the end of its child: unshare 2.38 with an error of its own. */
function wasKilled({ exitCode, signal }: SandboxExit, stderrTail: string): boolean {
  return signal === 'SIGKILL' || exitCode === KILLED || stderrTail.includes('sigprocmask unblock failed');
}

function cannotRun(executable: string, error: unknown): BridgeError {
  return new BridgeError('ENGINE_UNAVAILABLE', `the embedded engine cannot run ${executable}: ${messageOf(error)}`, {
    cause: error,
    data: { engine: 'embedded', retryNow: false },
    hint: 'Check that this program still exists, then restart the bridge.',
  });
}
