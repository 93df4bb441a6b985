/**
 * Which engines can be used. `detectEngine` looks up commands on PATH and starts no process; whether an engine works shows at the
 * first start of a sandbox (see failover.ts and probe.ts). Every refusal keeps its reason.
 */

import {
  AUTO_ENGINE_NAMES,
  CONTAINER_ENGINE_NAMES,
  type Engine,
  type EngineName,
  type Refusal,
} from '../../core/session/engine.ts';
import { createBubblewrapEngine } from './bubblewrap/bubblewrap.ts';
import { createDockerEngine } from './container/docker.ts';
import { createPodmanEngine } from './container/podman.ts';
import { createEmbeddedEngine, hasEmbeddedFiles } from './embedded/embedded.ts';
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
