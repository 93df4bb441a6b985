/** The docker engine: any `docker` command, with the daemon or context that its environment and settings name. */
import { type Environment, withoutPassword } from './client-env.ts';
import { type ContainerEngineOptions, createContainerEngine, type Dialect } from './container-engine.ts';
import type { Engine } from './engine.ts';

function docker(options: ContainerEngineOptions): Dialect {
  return {
    name: 'docker',
    description: describeDocker(options.env),
    pullReference: (image) => image,
    unreachableHint:
      'Start Docker (Docker Desktop, or: sudo systemctl start docker), or set MCP_BRIDGE_RUNTIME=podman.',
    forbiddenHint:
      'Let this user use docker (sudo usermod -aG docker $USER, then log in again), or set MCP_BRIDGE_RUNTIME=podman.',
  };
}

/** An engine that runs sandboxes with docker. Throws `CONFIG_INVALID` when an option is refused. */
export function createDockerEngine(options: ContainerEngineOptions): Engine {
  return createContainerEngine(docker(options), options);
}

/** Which docker it is, for people. A context chosen with `docker context use` is not looked up. */
export function describeDocker(env: Environment): string {
  if (env['DOCKER_HOST']) {
    return `docker at ${withoutPassword(env['DOCKER_HOST'])}`;
  }
  return env['DOCKER_CONTEXT'] ? `docker, context ${env['DOCKER_CONTEXT']}` : 'docker';
}
