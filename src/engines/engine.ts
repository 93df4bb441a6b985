/**
 * What a session needs from an engine: a byte pipe to an isolated process, and a way to end it for certain.
 * Engines know nothing of MCP, frames or Python; sessions know nothing of containers.
 */
import type { Readable, Writable } from 'node:stream';
import type { BridgeError } from '../base/errors.ts';

/** Engines that run containers; equally strong. */
export const CONTAINER_ENGINE_NAMES = ['podman', 'docker'] as const;
/** In the order in which `auto` tries them. */
export const ENGINE_NAMES = [...CONTAINER_ENGINE_NAMES, 'bubblewrap', 'embedded'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

/** An engine that was tried or looked for and cannot be used, and why. */
export interface Refusal {
  readonly engine: EngineName;
  /** One clause that names the engine. */
  readonly reason: string;
  /** One next step for a person. */
  readonly hint: string;
}

/** The bounds of one sandbox. The engine applies them; the supervisor inside measures whether they hold. */
export interface SandboxLimits {
  readonly memoryBytes: number;
  readonly pids: number;
  /** CPU cores; undefined means no bound. */
  readonly cpus?: number | undefined;
  /** Size of the tmpfs on /tmp. */
  readonly tmpBytes: number;
  /** Size of the tmpfs on /workspace. */
  readonly workspaceBytes: number;
}

/** A folder of the host that the sandbox sees. */
export interface Mount {
  /** Absolute path on the host. */
  readonly source: string;
  /** Absolute path in the sandbox. */
  readonly target: string;
  readonly isWritable: boolean;
}

export interface StartRequest {
  /** What PID 1 of the sandbox runs, for example `['python3', '-I', …]`. */
  readonly command: readonly string[];
  /** Name of the session, for labels. */
  readonly session: string;
}

/** How a sandbox ended, as far as the engine can tell from outside. */
export interface SandboxExit {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

/** One running sandbox. */
export interface Sandbox {
  /** Name by which the engine knows it; also in logs. */
  readonly id: string;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** The supervisor's reports and the engine's own noise; never protocol frames. */
  readonly stderr: Readable;
  /** Whether the kernel is in it already: then frames are all it is sent, and no sources. */
  readonly isPreloaded?: boolean | undefined;
  /** Resolves when the client process has ended and both streams were read to their end or destroyed. Never rejects. */
  readonly exited: Promise<SandboxExit>;
  /** Ends the sandbox and everything in it; resolves when it is gone. May be called more than once, in any state. */
  kill(): Promise<void>;
}

/** A sandbox that an engine lists, of whichever bridge. */
export interface ListedSandbox {
  /** Name by which the engine knows it. */
  readonly id: string;
  readonly session: string;
  readonly createdAt: Date;
  readonly isRunning: boolean;
  /** Process id of its bridge, on the machine of that bridge. */
  readonly bridgePid: number;
  /** Whether that bridge is certainly gone. */
  readonly isLeftover: boolean;
}

/** Something worth knowing of an engine, for people. */
export interface EngineFact {
  readonly level: 'ok' | 'warning' | 'problem';
  /** One clause. */
  readonly text: string;
  /** One next step, when there is one. */
  readonly hint?: string | undefined;
}

/** What is being done before a sandbox can start, for people who wait. */
export interface PrepareProgress {
  readonly message: string;
  /** 0 … 100 when known. */
  readonly percent?: number | undefined;
}

export interface SweepOptions {
  /** Whether those of this bridge are removed, too. */
  readonly own?: boolean;
  /** Whether those of bridges that are gone are left alone. */
  readonly keepsOthers?: boolean;
}

export interface Engine {
  readonly name: EngineName;
  /** One line for people: kind, version if known, rootless or not, where it runs. */
  readonly description: string;
  /** What keeps code in, in one short line without a full stop; of a sandbox that was started, what was applied to it. */
  readonly isolation: string;
  /** What Python lacks in it and the way out, in one sentence for the code's author; undefined when it lacks nothing. */
  readonly missing?: string | undefined;
  /** Engines that would have come first and are not used; none when this one was asked for. */
  readonly refused?: readonly Refusal[] | undefined;
  /**
   * Makes a start possible: pulls an image known to be missing, starts a stopped Podman machine (steps of their own,
   * outside any cell's deadline). Costs nothing while nothing is known to be wrong; callers at the same time share
   * one pull. Rejects with `IMAGE_MISSING`, `ENGINE_FAILED`, `ENGINE_UNAVAILABLE`.
   */
  prepare(onProgress: (progress: PrepareProgress) => void): Promise<void>;
  /**
   * Starts a sandbox without waiting for what runs in it. Rejects with `ENGINE_UNAVAILABLE` when the engine's command
   * cannot be run at all; whatever the engine refuses later shows as an early `exited`.
   */
  start(request: StartRequest): Promise<Sandbox>;
  /**
   * Why a sandbox ended before anything ran in it, from what the engine left behind: `IMAGE_MISSING`,
   * `IMAGE_UNSUITABLE`, `ENGINE_UNAVAILABLE` or `ENGINE_FAILED`, each with a next step. Starts are optimistic (nothing
   * is asked of the engine beforehand), so this is also how the engine learns. `data.retryNow === true` says that it
   * learned something and that `prepare` and `start` are worth one more round at once; a round may follow a round, but
   * never without end.
   */
  explainStartFailure(sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError;
  /** Removes sandboxes of bridges that are gone, and of this one if asked to. Returns how many. Never rejects. */
  sweep(options?: SweepOptions): Promise<number>;
  /** Sandboxes of ours, of all bridges; left out where an engine keeps no list, because there they end with their bridge. Rejects when it cannot be asked. */
  list?(): Promise<ListedSandbox[]>;
  /** Removes a sandbox by its id, running or not; that there is none is success. Rejects when it is still there. */
  remove?(id: string): Promise<void>;
  /** Asks the engine what it is and does. Never rejects. */
  examine?(): Promise<EngineFact[]>;
}
