/** The docker engine: any `docker` command, with the daemon or context that its environment and settings name. */
import { type ContainerEngineOptions, createContainerEngine, type Dialect } from './container-engine.ts';
import type { Engine } from './engine.ts';

const docker: Dialect = {
  name: 'docker',
  description: 'docker',
  pullReference: (image) => image,
  unreachableHint: 'Start Docker (Docker Desktop, or: sudo systemctl start docker), or set MCP_BRIDGE_RUNTIME=podman.',
  forbiddenHint:
    'Let this user use docker (sudo usermod -aG docker $USER, then log in again), or set MCP_BRIDGE_RUNTIME=podman.',
};

/** An engine that runs sandboxes with docker. Throws `CONFIG_INVALID` when an option is refused. */
export function createDockerEngine(options: ContainerEngineOptions): Engine {
  return createContainerEngine(docker, options);
}
