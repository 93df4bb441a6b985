/**
 * Which engines can be used. `detectEngine` looks up commands on PATH and starts no process; whether an engine works shows at the
 * first start of a sandbox (see failover.ts). `whyUnusable` tests an engine by starting a sandbox, for `doctor`. Every refusal
 * keeps its reason.
 */
import { type BridgeError, toBridgeError } from '../base/errors.ts';
import { createBubblewrapEngine } from './bubblewrap/bubblewrap.ts';
import { createDockerEngine } from './container/docker.ts';
import { createPodmanEngine } from './container/podman.ts';
import { createEmbeddedEngine, hasEmbeddedFiles } from './embedded/embedded.ts';
import { AUTO_ENGINE_NAMES, CONTAINER_ENGINE_NAMES, type Engine, type EngineName, type Refusal } from './engine.ts';
import { findExecutable } from './executable.ts';
import { createFailoverEngine, noEngine } from './failover.ts';
import { createKubernetesEngine, type KubernetesOptions } from './kubernetes/kubernetes.ts';

/** The name of one engine, `auto` for the strongest one that works, or `container` for podman or docker. */
export type RequestedEngine = EngineName | 'auto' | 'container';

export interface DetectOptions extends Omit<KubernetesOptions, 'executable'> {
  readonly requested: RequestedEngine;
}

interface EngineKind {
  readonly create: (options: KubernetesOptions) => Engine;
  /** The command that must be on PATH, if the engine has one. */
  readonly command?: string;
  readonly installHint: string;
  /** The only platform on which it runs; any platform if undefined. */
  readonly platform?: NodeJS.Platform;
}

const KINDS: Readonly<Record<EngineName, EngineKind>> = {
  podman: {
    create: createPodmanEngine,
    command: 'podman',
    installHint: 'Install Podman (https://podman.io/docs/installation).',
  },
  docker: {
    create: createDockerEngine,
    command: 'docker',
    installHint: 'Install Docker (https://docs.docker.com/engine/install/).',
  },
  bubblewrap: {
    create: createBubblewrapEngine,
    command: 'bwrap',
    installHint: 'Install the package bubblewrap and Python 3.10 or newer.',
    platform: 'linux',
  },
  embedded: {
    create: createEmbeddedEngine,
    installHint: 'Install mcp-server-code-execution-mode again; in a checkout, run: npm run build',
  },
  kubernetes: {
    create: createKubernetesEngine,
    command: 'kubectl',
    installHint: 'Install kubectl (https://kubernetes.io/docs/tasks/tools/).',
  },
};

/** The requested engines that are installed, strongest first, and those that are not. */
export interface FoundEngines {
  readonly engines: readonly Engine[];
  readonly absent: readonly Refusal[];
}

/** The engine to use. Throws `ENGINE_UNAVAILABLE` with every reason if none is installed, and errors from `findEngines`. */
export function detectEngine(options: DetectOptions): Engine {
  const { absent, engines } = findEngines(options);
  const [first, ...others] = engines;
  if (first === undefined) {
    throw noEngine(absent);
  }
  return createFailoverEngine([first, ...others], absent, options.logger);
}

/** The requested engines. Throws `CONFIG_INVALID` if an option is invalid. */
export function findEngines(options: DetectOptions): FoundEngines {
  const engines: Engine[] = [];
  const absent: Refusal[] = [];
  for (const name of namesOf(options.requested)) {
    const found = find(name, options);
    if ('reason' in found) {
      absent.push(found);
    } else {
      engines.push(found);
    }
  }
  return { engines, absent };
}

function find(name: EngineName, options: DetectOptions): Engine | Refusal {
  const { command, create, installHint, platform } = KINDS[name];
  if (platform !== undefined && (options.platform ?? process.platform) !== platform) {
    return { engine: name, reason: `${name} runs on Linux only`, hint: KINDS.podman.installHint };
  }
  if (name === 'embedded' && !hasEmbeddedFiles()) {
    return { engine: name, reason: 'the embedded engine is not built', hint: installHint };
  }
  const given = name === 'kubernetes' ? options.placement?.kubectl : undefined;
  const executable = given ?? (command && findExecutable(command, options.env));
  if (command !== undefined && executable === undefined) {
    return { engine: name, reason: `${command} is not on PATH`, hint: installHint };
  }
  return create({ ...options, executable });
}

function namesOf(requested: RequestedEngine): readonly EngineName[] {
  if (requested === 'auto') {
    return AUTO_ENGINE_NAMES;
  }
  return requested === 'container' ? CONTAINER_ENGINE_NAMES : [requested];
}

/** An engine learns from a failed start (a flag to omit, a layer that fails) and may ask for another attempt. */
const MAX_ATTEMPTS = 4;
/** As for sessions: each engine may have to be prepared, too. */
const MAX_ROUNDS = 8;
/**
 * Printed when a preloaded program runs. Its input is closed only then. If it were closed at once, the sandbox would be killed on a
 * slow machine while still starting, which looks like an engine that does not work.
 */
const STARTED = /"report": ?"started"/;
/** Characters of stderr that are kept. */
const KEPT_CHARS = 4_096;

/**
 * Finds out which engine runs sessions, before there is one: starts a sandbox like theirs, and pulls the image if need be. From then
 * on nothing changes to a weaker engine. Rejects as the start of a session does.
 */
export async function settleEngine(engine: Engine): Promise<void> {
  for (let round = 1; ; round += 1) {
    await engine.prepare(() => undefined);
    const error = await tryOnce(engine);
    if (error === undefined) {
      return;
    }
    if (error.data['retryNow'] !== true || round === MAX_ROUNDS) {
      throw error;
    }
  }
}

/** Why `engine` cannot run a sandbox now; undefined if it can. Does not pull an image or start a machine. Never rejects. */
export async function whyUnusable(engine: Engine): Promise<BridgeError | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const error = await tryOnce(engine);
    if (error?.data['retryNow'] !== true || attempt === MAX_ATTEMPTS) {
      return error;
    }
  }
}

async function tryOnce(engine: Engine): Promise<BridgeError | undefined> {
  try {
    const sandbox = await engine.start({ command: ['python3', '-I', '-c', 'pass'], session: 'probe' });
    let stderr = '';
    let hasStarted = false;
    sandbox.stderr.on('data', (chunk: Buffer) => {
      stderr = `${stderr}${chunk.toString('utf8')}`.slice(-KEPT_CHARS);
      if (sandbox.isPreloaded === true && STARTED.test(stderr)) {
        hasStarted = true;
        sandbox.stdin.end();
      }
    });
    sandbox.stdout.resume();
    if (sandbox.isPreloaded !== true) {
      sandbox.stdin.end();
    }
    const exit = await sandbox.exited;
    await sandbox.kill();
    if (exit.exitCode !== 0 && !hasStarted) {
      return engine.explainStartFailure(sandbox, exit, stderr);
    }
    engine.noteReady?.(sandbox);
    return undefined;
  } catch (error) {
    return toBridgeError(error);
  }
}
