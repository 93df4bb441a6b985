/** The settings as options for engines. */
import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { homeFolder } from '../../core/base/home.ts';
import { TMP_BYTES, WORKSPACE_BYTES } from '../../core/base/limits.ts';
import type { Logger } from '../../core/base/log.ts';
import { PACKAGE_ROOT } from '../../core/base/package.ts';
import type { PackageStore, SandboxLimits } from '../../core/session/engine.ts';
import { clientOf } from '../clients/table.ts';
import type { DetectOptions } from '../engines/detect.ts';
import { withInstallFolders } from '../engines/executable.ts';
import type { Placement } from '../engines/kubernetes/kubectl.ts';
import { thisSystem } from '../servers/sources.ts';
import { checkMounts } from './mounts.ts';
import { type Settings, usualStateDir } from './settings.ts';

const STORE_HASH_CHARS = 16;
/** So that engines take the name with the hash. */
const MAX_VOLUME_CHARS = 110;

/**
 * The options for the engines of this process. Throws `CONFIG_INVALID` for a mount that is refused.
 *
 * @param folder Of the principal whose sessions they run; by default the state directory, for those of the operator.
 */
export function engineOptions(settings: Settings, logger: Logger, folder = settings.stateDir): DetectOptions {
  return {
    requested: settings.runtime,
    image: settings.image,
    limits: limitsOf(settings),
    user: settings.containerUser,
    pullPolicy: settings.pull,
    ociRuntime: settings.ociRuntime,
    mounts: checkMounts(settings.mounts ?? [], {
      home: homeFolder(process.env),
      stateDir: settings.stateDir,
      serverFiles: serverFilesOf(settings),
      program: fileURLToPath(PACKAGE_ROOT),
    }),
    packages: packageStoreOf(settings, folder),
    placement: placementOf(settings),
    instanceId: randomUUID(),
    env: withInstallFolders(process.env, process.platform),
    logger,
  };
}

/** The files, and folders of files, outside the state directory that the bridge reads servers from, whether they exist or not. */
function serverFilesOf({ configSources, serversConfig }: Settings): string[] {
  const ofSources = configSources.flatMap((source) => {
    switch (source.kind) {
      case 'mcps':
        return [usualStateDir(process.env)];
      case 'client':
        return clientOf(source.id).userFiles(thisSystem(process.env));
      case 'file':
        return [source.path];
    }
  });
  return [...(serversConfig === undefined ? [] : [serversConfig]), ...ofSources];
}

/** Undefined if there are no packages at all: then no sandbox sees the store. */
function packageStoreOf(settings: Settings, folder: string): PackageStore | undefined {
  const { packages, packagesNetwork: network, packagesStore, preinstall, stateDir } = settings;
  if (packages === 'off' && preinstall === undefined) {
    return undefined;
  }
  const operators = { volume: packagesStore, folder: join(stateDir, '.cache', 'packages') };
  if (folder === stateDir) {
    return { ...operators, network };
  }
  // Never by the name, which a token or an issuer chooses. The state directory is part of it: two services may know an Alice.
  const suffix = createHash('sha256').update(folder).digest('hex').slice(0, STORE_HASH_CHARS);
  const own = {
    volume: `${packagesStore.slice(0, MAX_VOLUME_CHARS)}-${suffix}`,
    folder: `${operators.folder}-${suffix}`,
  };
  return { ...own, network, operators };
}

/** Where a cluster runs sandboxes. */
function placementOf(settings: Settings): Placement {
  return {
    kubectl: settings.kubectl,
    context: settings.kubernetesContext,
    namespace: settings.kubernetesNamespace,
    ...(settings.kubernetesPullPolicy !== undefined && { imagePullPolicy: settings.kubernetesPullPolicy }),
    imagePullSecrets: settings.kubernetesPullSecrets,
    nodeSelector: settings.kubernetesNodeSelector,
    tolerations: settings.kubernetesTolerations,
    runtimeClass: settings.kubernetesRuntimeClass,
    annotations: settings.kubernetesAnnotations,
    owner: settings.kubernetesOwner,
    warmPool: settings.kubernetesWarmPool,
  };
}

/** The limits of every sandbox. */
export function limitsOf(settings: Settings): SandboxLimits {
  return {
    memoryBytes: settings.memoryBytes,
    pids: settings.pids,
    sandboxes: settings.maxSessions,
    cpus: settings.cpus,
    tmpBytes: TMP_BYTES,
    workspaceBytes: WORKSPACE_BYTES,
  };
}
