/** The podman engine: rootful, rootless, in a Podman machine, or a remote service selected by the environment. */
import { BridgeError } from '../../../core/base/errors.ts';
import type { Engine } from '../../../core/session/engine.ts';
import { type Environment, withoutPassword } from '../client-env.ts';
import { type ContainerEngineOptions, createContainerEngine, type Dialect } from './container-engine.ts';
import { hasPodmanMachine, isRemote, startPodmanMachine } from './machine.ts';
import { examinePodmanMachine } from './machine-facts.ts';

function podman({ env, platform = process.platform }: ContainerEngineOptions): Dialect {
  const usesMachine = hasPodmanMachine(platform, env);
  return {
    name: 'podman',
    description: describePodman(platform, env, process.getuid?.()),
    passesDescriptors: !isRemote(platform, env),
    pullReference: qualifyImage,
    unreachableHint: usesMachine
      ? 'Run: podman machine start (after podman machine init, if there is no machine yet).'
      : 'Check that "podman info" works, or set MCP_BRIDGE_RUNTIME=docker.',
    forbiddenHint: 'Check the permissions of the podman socket that CONTAINER_HOST names.',
    revive: usesMachine ? startPodmanMachine : undefined,
    examineHost: usesMachine ? examinePodmanMachine : undefined,
  };
}

/** Creates the podman engine. Throws `CONFIG_INVALID` if an option is invalid. */
export function createPodmanEngine(options: ContainerEngineOptions): Engine {
  if (options.ociRuntime !== undefined && isRemote(options.platform ?? process.platform, options.env)) {
    throw new BridgeError(
      'CONFIG_INVALID',
      `a remote podman does not let clients choose the OCI runtime (${options.ociRuntime})`,
      {
        hint: 'Unset MCP_BRIDGE_OCI_RUNTIME and set "runtime" in containers.conf where the podman service runs.',
      },
    );
  }
  return createContainerEngine(podman(options), options);
}

/**
 * The full image name, which podman can pull even on a machine without search registries. As with docker, a name without a registry
 * refers to Docker Hub. The first part is a registry if it contains `.` or `:`, or is `localhost`.
 */
export function qualifyImage(image: string): string {
  const [first = '', ...rest] = image.split('/');
  if (rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')) {
    return image;
  }
  return rest.length === 0 ? `docker.io/library/${image}` : `docker.io/${image}`;
}

/** Where podman runs, for people. `userId` is undefined on Windows. */
export function describePodman(platform: NodeJS.Platform, env: Environment, userId: number | undefined): string {
  if (hasPodmanMachine(platform, env)) {
    return 'podman in its machine';
  }
  if (isRemote(platform, env)) {
    return `podman at ${withoutPassword(env['CONTAINER_HOST'] ?? env['CONTAINER_CONNECTION'] ?? '')}`;
  }
  return userId === 0 ? 'podman as root' : 'podman, rootless';
}
