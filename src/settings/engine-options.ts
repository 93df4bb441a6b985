/** The settings as options for engines. */
import { randomUUID } from 'node:crypto';
import { homeFolder } from '../base/home.ts';
import { TMP_BYTES, WORKSPACE_BYTES } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { DetectOptions } from '../engines/detect.ts';
import type { SandboxLimits } from '../engines/engine.ts';
import { withInstallFolders } from '../engines/executable.ts';
import { checkMounts } from '../settings/mounts.ts';
import type { Settings } from '../settings/settings.ts';

/** The options for the engines of this process. Throws `CONFIG_INVALID` for a mount that is refused. */
export function engineOptions(settings: Settings, logger: Logger): DetectOptions {
  return {
    requested: settings.runtime,
    image: settings.image,
    limits: limitsOf(settings),
    user: settings.containerUser,
    pullPolicy: settings.pull,
    ociRuntime: settings.ociRuntime,
    mounts: checkMounts(settings.mounts ?? [], { home: homeFolder(process.env), stateDir: settings.stateDir }),
    instanceId: randomUUID(),
    env: withInstallFolders(process.env, process.platform),
    logger,
  };
}

/** The limits of every sandbox. */
export function limitsOf(settings: Settings): SandboxLimits {
  return {
    memoryBytes: settings.memoryBytes,
    pids: settings.pids,
    cpus: settings.cpus,
    tmpBytes: TMP_BYTES,
    workspaceBytes: WORKSPACE_BYTES,
  };
}
