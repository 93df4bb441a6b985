/** The docker engine: any `docker` command, with the daemon or context selected by its environment and configuration. */

import type { Engine } from '../../../core/session/engine.ts';
import { type Environment, withoutPassword } from '../client-env.ts';
import { type ContainerEngineOptions, createContainerEngine, type Dialect } from './container-engine.ts';

function docker({ env, platform = process.platform }: ContainerEngineOptions): Dialect {
  return {
    name: 'docker',
    description: describeDocker(env),
    passesDescriptors: false,
    pullReference: (image) => image,
    ...dockerHints(platform),
  };
}

/** The next step if docker does not answer, or refuses this user. Pure. */
export function dockerHints(platform: NodeJS.Platform): Pick<Dialect, 'unreachableHint' | 'forbiddenHint'> {
  const isLinux = platform === 'linux';
  const start = isLinux ? 'Docker (Docker Desktop, or: sudo systemctl start docker)' : 'Docker Desktop';
  const allow = isLinux
    ? 'sudo usermod -aG docker $USER, then log in again'
    : 'on Windows: net localgroup docker-users %USERNAME% /add, as administrator, then log in again';
  return {
    unreachableHint: `Start ${start}, or set MCP_BRIDGE_RUNTIME=podman.`,
    forbiddenHint: `Let this user use docker (${allow}), or set MCP_BRIDGE_RUNTIME=podman.`,
  };
}

/** Creates the docker engine. Throws `CONFIG_INVALID` if an option is invalid. */
export function createDockerEngine(options: ContainerEngineOptions): Engine {
  return createContainerEngine(docker(options), options);
}

/** Where docker runs, for people. Does not look up a context selected with `docker context use`. */
export function describeDocker(env: Environment): string {
  if (env['DOCKER_HOST']) {
    return `docker at ${withoutPassword(env['DOCKER_HOST'])}`;
  }
  return env['DOCKER_CONTEXT'] ? `docker, context ${env['DOCKER_CONTEXT']}` : 'docker';
}
