/**
 * Which engine is used: the one asked for, or in `auto` the first that works of an ordered list. What is installed is
 * looked up on PATH; whether it works shows at the first start (see failover.ts). Every refusal keeps its reason.
 */
import type { ContainerEngineOptions } from './container-engine.ts';
import { createDockerEngine } from './docker.ts';
import { ENGINE_NAMES, type Engine, type EngineName } from './engine.ts';
import { findExecutable } from './executable.ts';
import { createFailoverEngine, noEngine, type Refusal } from './failover.ts';
import { createPodmanEngine } from './podman.ts';

export interface DetectOptions extends Omit<ContainerEngineOptions, 'executable'> {
  readonly requested: EngineName | 'auto';
}

const createEngine: Readonly<Record<EngineName, (options: ContainerEngineOptions) => Engine>> = {
  podman: createPodmanEngine,
  docker: createDockerEngine,
};

const installHint: Readonly<Record<EngineName, string>> = {
  podman: 'Install Podman (https://podman.io/docs/installation).',
  docker: 'Install Docker (https://docs.docker.com/engine/install/).',
};

/**
 * The engine to use; starts no process. Throws `ENGINE_UNAVAILABLE` listing each attempt with its reason, or
 * `CONFIG_INVALID` when an option is refused.
 */
export function detectEngine(options: DetectOptions): Engine {
  const names = options.requested === 'auto' ? ENGINE_NAMES : [options.requested];
  const engines: Engine[] = [];
  const absent: Refusal[] = [];
  for (const name of names) {
    const executable = findExecutable(name, options.env);
    if (executable === undefined) {
      absent.push({ engine: name, reason: `${name} is not on PATH`, hint: installHint[name] });
    } else {
      engines.push(createEngine[name]({ ...options, executable }));
    }
  }
  const [first, ...others] = engines;
  if (first === undefined) {
    throw noEngine(absent);
  }
  return createFailoverEngine([first, ...others], absent, options.logger);
}
