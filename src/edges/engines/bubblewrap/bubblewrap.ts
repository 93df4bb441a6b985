/**
 * The bubblewrap engine: this machine's Python in Linux namespaces, without images and without a daemon. It isolates less than a
 * container: code sees the host's /usr, and the supervisor instead of a cgroup enforces the limits.
 */
import { lstatSync, readlinkSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { homedir, release, userInfo } from 'node:os';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import type { Logger } from '../../../core/base/log.ts';
import {
  BUILDER_UID,
  type Engine,
  type Mount,
  type PackageStore,
  type Sandbox,
  type SandboxExit,
  type SandboxLimits,
  type StartRequest,
  type StorePlace,
  type SweepOptions,
} from '../../../core/session/engine.ts';
import { makeFolders } from '../../../core/state/file-system.ts';
import { type EngineCommand, openPipe, runEngineCommand } from '../client.ts';
import type { Environment } from '../client-env.ts';
import { findExecutable, findExecutables, findSetpriv } from '../executable.ts';
import { systemCallFilter } from '../filter.ts';
import { readNamespaceSettings } from '../namespace-settings.ts';
import { readHardLimits } from '../process-limits.ts';
import { createSandbox, RunningSandboxes } from '../sandbox.ts';
import {
  type BubblewrapRequest,
  type BubblewrapTools,
  buildBubblewrapCommand,
  launcher,
  type SystemFolder,
} from './argv.ts';
import { ownFiles } from './etc-files.ts';
import { FACTS_PROGRAM, type Interpreter, judgeInterpreter, parseFacts, systemInterpreter } from './interpreter.ts';
import { bubblewrapStartError } from './start-failure.ts';

export interface BubblewrapOptions {
  readonly limits: SandboxLimits;
  /** `UID[:GID]` in the sandbox. If the bridge runs as root, the sandbox has this user on the host, too. */
  readonly user: string;
  /** Host folders to mount; none by default. */
  readonly mounts?: readonly Mount[] | undefined;
  /** The package store; none by default. */
  readonly packages?: PackageStore | undefined;
  /** Id of this bridge, part of the names of its sandboxes. */
  readonly instanceId: string;
  /** Path of `bwrap`; by default it is looked up on PATH. */
  readonly executable?: string | undefined;
  readonly env: Environment;
  readonly logger: Logger;
}

/** How long a Python may take to print its version and paths. */
const ANSWER_TIMEOUT_MS = 10_000;
/** Folders outside /usr that programs in /usr need. */
const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** If the bridge runs as root, the users of its sandboxes cannot enter root's home. */
export const ROOT_STORES = '/var/lib/mcp-server-code-execution-mode';

/** Creates the engine. A start throws `CONFIG_INVALID` if `user` is invalid. */
export function createBubblewrapEngine(options: BubblewrapOptions): Engine {
  return new BubblewrapEngine(options);
}

class BubblewrapEngine implements Engine {
  readonly name = 'bubblewrap';
  readonly description = 'bubblewrap with the Python of this machine';
  readonly isolation =
    "the host's Python in separate Linux namespaces, with read access to the host's /usr and without cgroups";
  readonly provides = "this machine's packages and a shell (`!ls`)";
  readonly canBuild: boolean;
  readonly programs = 'machine';
  readonly #options: BubblewrapOptions;
  readonly #running = new RunningSandboxes();
  /** What sandboxes of programs run. */
  readonly #programs = new WeakMap<Sandbox, string>();
  #parts: Promise<Pick<BubblewrapRequest, 'tools' | 'interpreter' | 'folders'>> | undefined;
  #startedCount = 0;

  constructor(options: BubblewrapOptions) {
    this.#options = options;
    this.canBuild = options.packages !== undefined;
  }

  async prepare(): Promise<void> {
    // Nothing to pull and nothing to start.
  }

  async start(request: StartRequest): Promise<Sandbox> {
    const { instanceId, limits, mounts } = this.#options;
    const user = request.isBuilder === true ? String(BUILDER_UID) : this.#options.user;
    const parts = await this.#findParts();
    this.#startedCount += 1;
    const name = `mcp-bridge-${instanceId}-${this.#startedCount}`;
    const hardLimits = readHardLimits();
    const files = ownFiles(user, request.isBuilder);
    const filter = filterFor(request);
    const command = buildBubblewrapCommand({
      ...parts,
      name,
      limits,
      user,
      mounts,
      packages: request.program === undefined ? await this.#packageFolder(request.isBuilder === true) : undefined,
      operatorsPackages: this.#options.packages?.operators && folderOf(this.#options.packages.operators),
      isBuilder: request.isBuilder,
      isOffline: request.isOffline,
      program: request.program,
      countsProcesses: countsProcesses(release()),
      hardLimits,
      files,
      hasFilter: filter !== undefined,
      command: request.command,
    });
    const inputs = [...files.map(({ text }) => Buffer.from(text)), filter];
    const child = await openPipe(...toCommand(command), { inputs }).catch((error: unknown) => {
      throw unavailable(`bubblewrap cannot be run: ${messageOf(error)}`, 'Check that "bwrap --version" works.');
    });
    // There is nothing to remove: the sandbox ends with its bwrap process.
    const sandbox = createSandbox(name, child, async () => undefined);
    this.#running.add(sandbox);
    if (request.program !== undefined) {
      this.#programs.set(sandbox, request.command[0] ?? '');
    }
    return sandbox;
  }

  explainStartFailure(sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError {
    // The tools or the interpreter may have been removed since they were found.
    this.#parts = undefined;
    return bubblewrapStartError(exit, stderrTail, readNamespaceSettings(), this.#programs.get(sandbox));
  }

  async sweep(options?: SweepOptions): Promise<number> {
    return this.#running.sweep(options);
  }

  /** The folder of the package store, which is made if it is missing. Without it, sessions have no packages, and builders fail. */
  async #packageFolder(isBuilder: boolean): Promise<string | undefined> {
    const { packages } = this.#options;
    if (packages === undefined) {
      return undefined;
    }
    const folder = folderOf(packages);
    try {
      await makeStore(folder);
      return folder;
    } catch (error) {
      const text = `packages cannot be stored in ${folder}: ${messageOf(error)}`;
      if (isBuilder) {
        throw unavailable(text, 'Make the folder writable, or set MCP_BRIDGE_PACKAGES=off.');
      }
      this.#options.logger.daily(text);
      return undefined;
    }
  }

  /** Searches at the first start, and again after a failure. */
  #findParts() {
    this.#parts ??= this.#searchParts().catch((error: unknown) => {
      this.#parts = undefined;
      throw error;
    });
    return this.#parts;
  }

  async #searchParts() {
    const { env, executable, user } = this.#options;
    const tools = findTools(env, executable);
    const interpreter = systemInterpreter() ?? (await askInterpreters(env, launcher({ tools, user })));
    return { tools, interpreter, folders: findSystemFolders() };
  }
}

/** The filter that bwrap applies. In a session the supervisor does. */
function filterFor({ isBuilder, program }: StartRequest): Uint8Array | undefined {
  if (program !== undefined) {
    return systemCallFilter(process.arch, false);
  }
  return isBuilder === true ? systemCallFilter(process.arch) : undefined;
}

/** Whether this version of the Linux kernel counts processes by user namespace. */
export function countsProcesses(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

/** Throws `ENGINE_UNAVAILABLE` naming a missing command. */
function findTools(env: Environment, bwrap: string | undefined): BubblewrapTools {
  const find = (name: string, packageName: string): string => {
    const path = findExecutable(name, env);
    if (path === undefined) {
      throw unavailable(`bubblewrap needs ${name}, which is not on PATH`, `Install the package ${packageName}.`);
    }
    return path;
  };
  return {
    bwrap: bwrap ?? find('bwrap', 'bubblewrap'),
    choom: find('choom', 'util-linux'),
    prlimit: find('prlimit', 'util-linux'),
    ...(process.getuid?.() === 0 && { setpriv: find('setpriv', 'util-linux') }),
    setprivOfRunner: findSetpriv(env),
  };
}

/** The first usable Python on PATH. Each is run as the sandbox's user. Rejects with `ENGINE_UNAVAILABLE` and every reason. */
async function askInterpreters(env: Environment, launch: readonly string[]): Promise<Interpreter> {
  const homes = [homedir() || userInfo().homedir, env['HOME'] || '/root'];
  const refusals: string[] = [];
  for (const path of findExecutables('python3', env)) {
    const [command, argv] = toCommand([...launch, path, '-I', '-c', FACTS_PROGRAM], env);
    const { stdout } = await runEngineCommand(command, argv, { timeoutMs: ANSWER_TIMEOUT_MS });
    const facts = parseFacts(stdout);
    const judged = facts === undefined ? `${path} cannot be run by this user` : judgeInterpreter(facts, homes);
    if (typeof judged !== 'string') {
      return judged;
    }
    refusals.push(judged);
  }
  const reason = refusals.length === 0 ? 'python3 is not on PATH' : refusals.join(', ');
  throw unavailable(`bubblewrap has no usable Python: ${reason}`, 'Install Python 3.10 or newer in /usr/bin.');
}

function findSystemFolders(): SystemFolder[] {
  return SYSTEM_FOLDERS.flatMap((path) => {
    const status = lstatSync(path, { throwIfNoEntry: false });
    if (status === undefined) {
      return [];
    }
    return [status.isSymbolicLink() ? { path, linkTarget: readlinkSync(path) } : { path }];
  });
}

/** bwrap needs no variables, but the `python3` of a version manager does, to find the real interpreter. */
function toCommand(argv: readonly string[], env: Environment = {}): [EngineCommand, string[]] {
  const [executable = '', ...rest] = argv;
  const { PATH, HOME, PYENV_ROOT } = env;
  const given = Object.entries({ PATH, HOME, PYENV_ROOT }).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined;
  });
  return [{ executable, env: Object.fromEntries(given) }, rest];
}

function unavailable(message: string, hint: string): BridgeError {
  return new BridgeError('ENGINE_UNAVAILABLE', message, { hint, data: { engine: 'bubblewrap', retryNow: false } });
}

function folderOf({ folder, volume }: StorePlace): string {
  return process.getuid?.() === 0 ? join(ROOT_STORES, volume) : folder;
}

async function makeStore(folder: string): Promise<void> {
  await makeFolders(join(folder, 'sets'), 0o755);
  if (process.getuid?.() === 0) {
    await Promise.all([folder, join(folder, 'sets')].map((path) => chown(path, BUILDER_UID, BUILDER_UID)));
  }
}
