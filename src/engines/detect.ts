/**
 * Which engine is used: the one asked for, or of several the first that works. What is installed is looked up on PATH;
 * whether it works shows at the first start (see failover.ts). Every refusal keeps its reason.
 */
import { createBubblewrapEngine } from './bubblewrap.ts';
import type { ContainerEngineOptions } from './container-engine.ts';
import { createDockerEngine } from './docker.ts';
import { CONTAINER_ENGINE_NAMES, ENGINE_NAMES, type Engine, type EngineName } from './engine.ts';
import { findExecutable } from './executable.ts';
import { createFailoverEngine, noEngine, type Refusal } from './failover.ts';
import { createPodmanEngine } from './podman.ts';

/** One engine; `auto` for any, the strongest first; `container` for podman or docker. */
export type RequestedEngine = EngineName | 'auto' | 'container';

export interface DetectOptions extends Omit<ContainerEngineOptions, 'executable'> {
  readonly requested: RequestedEngine;
}

interface EngineKind {
  readonly create: (options: ContainerEngineOptions) => Engine;
  readonly command: string;
  readonly installHint: string;
  /** Where alone it can run; everywhere when left out. */
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
    installHint: 'Install bubblewrap (the package of that name) and Python 3.10 or newer.',
    platform: 'linux',
  },
};

/**
 * The engine to use; starts no process. Throws `ENGINE_UNAVAILABLE` listing each attempt with its reason, or
 * `CONFIG_INVALID` when an option is refused.
 */
export function detectEngine(options: DetectOptions): Engine {
  const engines: Engine[] = [];
  const absent: Refusal[] = [];
  for (const name of namesOf(options.requested)) {
    const { create, command, installHint, platform } = KINDS[name];
    const executable = findExecutable(command, options.env);
    if (platform !== undefined && (options.platform ?? process.platform) !== platform) {
      absent.push({ engine: name, reason: `${name} runs on Linux only`, hint: KINDS.podman.installHint });
    } else if (executable === undefined) {
      absent.push({ engine: name, reason: `${command} is not on PATH`, hint: installHint });
    } else {
      engines.push(create({ ...options, executable }));
    }
  }
  const [first, ...others] = engines;
  if (first === undefined) {
    throw noEngine(absent);
  }
  return createFailoverEngine([first, ...others], absent, options.logger);
}

function namesOf(requested: RequestedEngine): readonly EngineName[] {
  if (requested === 'auto') {
    return ENGINE_NAMES;
  }
  return requested === 'container' ? CONTAINER_ENGINE_NAMES : [requested];
}
