/**
 * Which engine is used: the one asked for, or of several the first that works. What is installed is looked up on PATH;
 * whether it works shows at the first start (see failover.ts). Every refusal keeps its reason.
 */
import { createBubblewrapEngine } from './bubblewrap/bubblewrap.ts';
import type { ContainerEngineOptions } from './container/container-engine.ts';
import { createDockerEngine } from './container/docker.ts';
import { createPodmanEngine } from './container/podman.ts';
import { createEmbeddedEngine, hasEmbeddedFiles } from './embedded/embedded.ts';
import { CONTAINER_ENGINE_NAMES, ENGINE_NAMES, type Engine, type EngineName, type Refusal } from './engine.ts';
import { findExecutable } from './executable.ts';
import { createFailoverEngine, noEngine } from './failover.ts';

/** One engine; `auto` for any, the strongest first; `container` for podman or docker. */
export type RequestedEngine = EngineName | 'auto' | 'container';

export interface DetectOptions extends Omit<ContainerEngineOptions, 'executable'> {
  readonly requested: RequestedEngine;
}

interface EngineKind {
  readonly create: (options: ContainerEngineOptions) => Engine;
  /** Looked for on PATH; nothing when left out. */
  readonly command?: string;
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
  embedded: {
    create: createEmbeddedEngine,
    installHint: 'Install mcp-server-code-execution-mode again; in a checkout, run: npm run build',
  },
};

/** What is there to be used, the strongest first, and what is not. */
export interface FoundEngines {
  readonly engines: readonly Engine[];
  readonly absent: readonly Refusal[];
}

/** The engine to use; starts no process. Throws as `findEngines`, and `ENGINE_UNAVAILABLE` listing why there is none. */
export function detectEngine(options: DetectOptions): Engine {
  const { absent, engines } = findEngines(options);
  const [first, ...others] = engines;
  if (first === undefined) {
    throw noEngine(absent);
  }
  return createFailoverEngine([first, ...others], absent, options.logger);
}

/** Looks for what was asked for; starts no process. Throws `CONFIG_INVALID` when an option is refused. */
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
    return { engine: name, reason: 'the embedded engine was not built', hint: installHint };
  }
  const executable = command && findExecutable(command, options.env);
  if (command !== undefined && executable === undefined) {
    return { engine: name, reason: `${command} is not on PATH`, hint: installHint };
  }
  return create({ ...options, executable });
}

function namesOf(requested: RequestedEngine): readonly EngineName[] {
  if (requested === 'auto') {
    return ENGINE_NAMES;
  }
  return requested === 'container' ? CONTAINER_ENGINE_NAMES : [requested];
}
