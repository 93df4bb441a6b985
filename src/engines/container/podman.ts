/** The podman engine: rootful, rootless, a Podman machine, or a remote service named by its environment. */
import { BridgeError } from '../../base/errors.ts';
import { type Environment, withoutPassword } from '../client-env.ts';
import type { Engine } from '../engine.ts';
import { type ContainerEngineOptions, createContainerEngine, type Dialect } from './container-engine.ts';
import { hasPodmanMachine, isRemote, startPodmanMachine } from './machine.ts';
import { examinePodmanMachine } from './machine-facts.ts';

function podman({ env, platform = process.platform }: ContainerEngineOptions): Dialect {
  const usesMachine = hasPodmanMachine(platform, env);
  return {
    name: 'podman',
    description: describePodman(platform, env, process.getuid?.()),
    pullReference: qualifyImage,
    unreachableHint: usesMachine
      ? 'Run: podman machine start (after podman machine init, if there is no machine yet).'
      : 'Check that "podman info" works, or set MCP_BRIDGE_RUNTIME=docker.',
    forbiddenHint: 'Check the permissions of the podman socket that CONTAINER_HOST names.',
    revive: usesMachine ? startPodmanMachine : undefined,
    examineHost: usesMachine ? examinePodmanMachine : undefined,
  };
}

/** An engine that runs sandboxes with podman. Throws `CONFIG_INVALID` when an option is refused. */
export function createPodmanEngine(options: ContainerEngineOptions): Engine {
  if (options.ociRuntime !== undefined && isRemote(options.platform ?? process.platform, options.env)) {
    throw new BridgeError(
      'CONFIG_INVALID',
      `a remote podman takes no OCI runtime from its clients (${options.ociRuntime})`,
      {
        hint: 'Unset MCP_BRIDGE_OCI_RUNTIME and set "runtime" in containers.conf where the podman service runs.',
      },
    );
  }
  return createContainerEngine(podman(options), options);
}

/**
 * An image name as podman can pull it on a machine without search registries: a name without a registry is Docker Hub's,
 * as docker reads it (the first part is a registry when it holds `.` or `:`, or is `localhost`).
 */
export function qualifyImage(image: string): string {
  const [first = '', ...rest] = image.split('/');
  if (rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')) {
    return image;
  }
  return rest.length === 0 ? `docker.io/library/${image}` : `docker.io/${image}`;
}

/** Which podman it is, for people; `userId` is undefined on Windows. */
export function describePodman(platform: NodeJS.Platform, env: Environment, userId: number | undefined): string {
  if (hasPodmanMachine(platform, env)) {
    return 'podman in its machine';
  }
  if (isRemote(platform, env)) {
    return `podman at ${withoutPassword(env['CONTAINER_HOST'] ?? env['CONTAINER_CONNECTION'] ?? '')}`;
  }
  return userId === 0 ? 'podman as root' : 'podman, rootless';
}
