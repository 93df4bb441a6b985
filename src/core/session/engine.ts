/**
 * The contract between sessions and engines. An engine gives a session a byte pipe to an isolated process, and a reliable way to
 * end that process. Engines know nothing about MCP, frames or Python. Sessions know nothing about containers.
 */
import type { Readable, Writable } from 'node:stream';
import type { BridgeError } from '../base/errors.ts';

/** Engines that run containers. Both isolate equally well. */
export const CONTAINER_ENGINE_NAMES = ['podman', 'docker'] as const;
/** Engines of this machine, in the order in which `auto` tries them. */
export const AUTO_ENGINE_NAMES = [...CONTAINER_ENGINE_NAMES, 'bubblewrap', 'embedded'] as const;
/** All engines. A cluster is used only by those who ask for it: it costs money, and others use it too. */
export const ENGINE_NAMES = [...AUTO_ENGINE_NAMES, 'kubernetes'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

/** The engines of this machine whose Python is an ordinary process, for people: it runs programs and packages with compiled parts. */
export const NATIVE_ENGINES = 'Podman, Docker or (on Linux) bubblewrap';

/** Why an engine cannot be used. */
export interface Refusal {
  readonly engine: EngineName;
  /** One clause that names the engine. */
  readonly reason: string;
  /** One next step for a person. */
  readonly hint: string;
}

/** The limits of one sandbox. The engine applies them; the supervisor inside the sandbox measures whether they hold. */
export interface SandboxLimits {
  readonly memoryBytes: number;
  readonly pids: number;
  /** How many sandboxes there may be at once; 16 by default. Some limits of the kernel are for all of a user. */
  readonly sandboxes?: number | undefined;
  /** CPU cores; undefined means no limit. */
  readonly cpus?: number | undefined;
  /** Size of the tmpfs on /tmp. */
  readonly tmpBytes: number;
  /** Size of the tmpfs on /workspace. */
  readonly workspaceBytes: number;
}

/** A host folder that is visible in the sandbox. */
export interface Mount {
  /** Absolute path on the host. */
  readonly source: string;
  /** Absolute path in the sandbox. */
  readonly target: string;
  readonly isWritable: boolean;
}

/** The user of builders: neither root nor the user of sessions, which therefore cannot write what a builder has written. */
export const BUILDER_UID = 65_533;
/** Where every sandbox sees the package store, and a builder fills it. */
export const PACKAGES_FOLDER = '/packages';
/** Where a builder of a principal sees the store of the operator, whose packages it copies. No session sees it. */
export const OPERATORS_PACKAGES_FOLDER = '/packages-of-operator';

/** Where a store of packages is. */
export interface StorePlace {
  /** Name of the volume, on engines with volumes. */
  readonly volume: string;
  /** Absolute path of the folder, on engines without. */
  readonly folder: string;
}

/** What sandboxes have that are made from an image. */
export const PROVIDED_BY_IMAGE = "the image's packages and a shell (`!ls`)";

/** Where packages are kept, and how a builder reaches an index. Sandboxes of different principals have no store in common. */
export interface PackageStore extends StorePlace {
  /** The store of the operator, if this is that of a principal. */
  readonly operators?: StorePlace | undefined;
  /** `host` reaches an index that listens on this machine only. */
  readonly network: 'default' | 'host';
}

/** What a sandbox for one program has instead of what a session has. */
export interface ProgramSandbox {
  /** Which interpreter of its own an engine starts, if it has such; JavaScript if undefined. */
  readonly interpreter?: 'javascript' | 'python' | undefined;
  /** Image on engines with images; undefined for that of sessions. */
  readonly image?: string | undefined;
  /** Undefined for those of sessions. */
  readonly limits?: SandboxLimits | undefined;
  /** Files and folders of this machine that it sees, read-only, on engines whose programs come from this machine. */
  readonly binds?: readonly string[] | undefined;
  /** Whether files in /workspace and /tmp can be executed: compiled programs. */
  readonly canExecuteFiles?: boolean | undefined;
  /**
   * Whether the command is our runner, which starts the program as a child of the same user. Engines of containers and namespaces
   * then keep the child from opening the pipes and the memory of the runner, which helps as `BRIDGE_UID` or `BRIDGE_SETPRIV` says.
   */
  readonly hasRunner?: boolean | undefined;
}

export interface StartRequest {
  /** The command that PID 1 of the sandbox runs, for example `['python3', '-I', …]`. */
  readonly command: readonly string[];
  /** Whether the command is Python code (`python3 … -c CODE`) that is made to be PID 1, and ends when its input does. */
  readonly isSupervised?: boolean | undefined;
  /** Name of the session; engines that label their sandboxes include it. */
  readonly session: string;
  /**
   * Starts a builder instead of the sandbox of a session: it has a network and may write to the package store, and has none of the
   * folders of `MCP_BRIDGE_MOUNTS`. Its program starts as root with no capabilities except those for giving the store to
   * `BUILDER_UID` and becoming that user, where the engine needs that; the program must do so first.
   */
  readonly isBuilder?: boolean | undefined;
  /** Of a builder that needs no network. */
  readonly isOffline?: boolean | undefined;
  /**
   * Starts a sandbox for one program instead of that of a session: without a network, without the folders of `MCP_BRIDGE_MOUNTS`,
   * and without the package store. There is no supervisor in it, so the engine itself applies every restriction that it can.
   */
  readonly program?: ProgramSandbox | undefined;
}

/** How a sandbox ended, as far as the engine can tell from outside. */
export interface SandboxExit {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

/** One running sandbox. */
export interface Sandbox {
  /** The engine's name for it; also used in logs. */
  readonly id: string;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Reports from the supervisor and output of the engine itself; never protocol frames. */
  readonly stderr: Readable;
  /** Whether the kernel is already loaded, so the session does not send its sources before the first frame. */
  readonly isPreloaded?: boolean | undefined;
  /** Resolves when the client process has ended and both output streams have been read to the end or destroyed. Never rejects. */
  readonly exited: Promise<SandboxExit>;
  /** Ends the sandbox and everything in it, and resolves when all of it is gone. Can be called repeatedly, in any state. */
  kill(): Promise<void>;
}

/** A sandbox that an engine lists. It may belong to another bridge. */
export interface ListedSandbox {
  /** The engine's name for it. */
  readonly id: string;
  readonly session: string;
  readonly createdAt: Date;
  readonly isRunning: boolean;
  /** Process id of the bridge that started it, on that bridge's machine. */
  readonly bridgePid: number;
  /** Whether that bridge is certainly gone. */
  readonly isLeftover: boolean;
}

/** A finding about an engine, shown to people. */
export interface EngineFact {
  readonly level: 'ok' | 'warning' | 'problem';
  /** One clause. */
  readonly text: string;
  /** One next step, if there is one. */
  readonly hint?: string | undefined;
}

/** What the engine is doing before a sandbox can start, shown to people who wait. */
export interface PrepareProgress {
  readonly message: string;
  /** 0 … 100, if known. */
  readonly percent?: number | undefined;
}

export interface SweepOptions {
  /** Also removes the sandboxes of this bridge. */
  readonly own?: boolean;
  /** Keeps the sandboxes of bridges that are gone. */
  readonly keepsOthers?: boolean;
}

export interface Engine {
  readonly name: EngineName;
  /** One line for people: the kind, the version if known, whether it is rootless, and where it runs. */
  readonly description: string;
  /** How code is isolated, in one short line without a full stop. After a start it describes what was actually applied. */
  readonly isolation: string;
  /**
   * Where programs come from in sandboxes for programs: from images, from this machine, or the engine's own interpreters of
   * JavaScript and Python; undefined if it has no such sandboxes.
   */
  readonly programs?: 'images' | 'machine' | 'own' | undefined;
  /** Whether `start` can start a builder. */
  readonly canBuild?: boolean | undefined;
  /**
   * If sandboxes see no package store but take wheels of pure Python through their pipe: the Python that they run, as the kernel
   * says it.
   */
  readonly wheelsFor?: string | undefined;
  /** What code finds besides the standard library, as the end of a list; undefined if there is nothing more. */
  readonly provides?: string | undefined;
  /** What Python lacks here and what to do about it, for the author of the code; undefined if nothing is missing. */
  readonly missing?: string | undefined;
  /** Engines that come before this one but cannot be used; empty if this engine was requested by name. */
  readonly refused?: readonly Refusal[] | undefined;
  /**
   * Fixes problems that an earlier start revealed: pulls the image, or starts a stopped Podman machine. Does nothing if no problem
   * is known. Runs outside the deadline of any cell. Concurrent callers share one attempt. Rejects with `ENGINE_FAILED` or
   * `ENGINE_UNAVAILABLE`. With `program`, it prepares for the sandbox of that program, which may need another image.
   */
  prepare(onProgress: (progress: PrepareProgress) => void, program?: ProgramSandbox): Promise<void>;
  /**
   * Starts a sandbox without waiting for the program inside. Rejects with `ENGINE_UNAVAILABLE` if the engine's command cannot be
   * run. If the engine fails later, `exited` resolves early; pass it to `explainStartFailure`.
   */
  start(request: StartRequest): Promise<Sandbox>;
  /**
   * Explains why a sandbox ended before anything ran in it: `IMAGE_MISSING`, `IMAGE_UNSUITABLE`, `ENGINE_UNAVAILABLE` or
   * `ENGINE_FAILED`, each with a next step. A start asks the engine nothing beforehand, so failures are also how the engine learns
   * what to change. If it learned something, `data.retryNow` is true, and the caller should run `prepare` and `start` again at
   * once. The number of such rounds is finite.
   */
  explainStartFailure(sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError;
  /** Adds to an error of a start which other engine works here, if the image is missing and one does. It is not used. Never rejects. */
  advise?(error: BridgeError): Promise<BridgeError>;
  /** Call it when a sandbox is ready to run code, which shows that the engine works. */
  noteReady?(sandbox: Sandbox): void;
  /** Removes sandboxes left behind by bridges that are gone, and on request those of this bridge. Returns how many. Never rejects. */
  sweep(options?: SweepOptions): Promise<number>;
  /**
   * Lists the sandboxes of all bridges. Absent if the engine keeps no list because its sandboxes end with their bridge. Rejects
   * if the engine does not answer.
   */
  list?(): Promise<ListedSandbox[]>;
  /** Removes a sandbox by id, running or not. Resolves if there is no such sandbox; rejects if it is still there afterwards. */
  remove?(id: string): Promise<void>;
  /** Asks the engine about its version, limits and known problems. Never rejects. */
  examine?(): Promise<EngineFact[]>;
}

/** Whether packages can be installed on an engine. */
export function takesPackages({ canBuild, wheelsFor }: Pick<Engine, 'canBuild' | 'wheelsFor'>): boolean {
  return canBuild === true || wheelsFor !== undefined;
}
