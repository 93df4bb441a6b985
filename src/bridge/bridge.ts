/** Builds the bridge from settings, engines, servers, sessions and features. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCellApprovals } from '../approvals/index.ts';
import { artifactMethods, createArtifacts } from '../artifacts/index.ts';
import { type AuditTrail, openAuditTrail, withAuditNotices } from '../audit/index.ts';
import type { CellAnswer, CellRequest } from '../base/cell.ts';
import { renderIssue } from '../base/config-issue.ts';
import { toBridgeError } from '../base/errors.ts';
import { COPY_SHARE, MAX_CHECKPOINT_AGE_MS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { PACKAGE_ROOT } from '../base/package.ts';
import { createHostCalls } from '../calls/host-calls.ts';
import { resolveName } from '../catalog/names.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import { detectEngine } from '../engines/detect.ts';
import type { Engine } from '../engines/engine.ts';
import {
  createPackageInstaller,
  type PackageInstaller,
  readBuilderProgram,
  readPackageIndex,
} from '../packages/index.ts';
import { createSavedTools, type SavedToolsOptions, savedToolMethods } from '../saved-tools/index.ts';
import { createSecretMask } from '../secrets/index.ts';
import { AUTOLOAD_SUMMARY, CAPABILITY_SUMMARY, PACKAGES_SUMMARY } from '../server/capabilities.ts';
import type { Bridge, ServerNames } from '../server/lazy-bridge.ts';
import { readKernelSources } from '../session/boot.ts';
import { CheckpointStore, sweepCheckpoints } from '../session/checkpoint-store.ts';
import { createCodePackStore } from '../session/code-packs.ts';
import { describeEngine } from '../session/engine-report.ts';
import { Sessions } from '../session/sessions.ts';
import { engineOptions, limitsOf } from '../settings/engine-options.ts';
import type { Settings } from '../settings/settings.ts';
import { preloadClient } from '../upstream/handshake.ts';
import type { UpstreamPool } from '../upstream/pool.ts';
import { type BridgeServers, createConfiguredServers, createGatedCalls } from './build-servers.ts';

/** In the state directory. */
const CHECKPOINTS = 'checkpoints';
const KERNEL_FOLDER = fileURLToPath(new URL('sandbox-runtime/bridge_kernel', PACKAGE_ROOT));

/** Rejects with `ENGINE_UNAVAILABLE` if no engine is installed; the next cell tries again. */
export async function createBridge(settings: Settings, logger: Logger): Promise<Bridge> {
  const options = engineOptions(settings, logger);
  const engine = detectEngine(options);
  const { autoload, stateDir } = settings;
  const servers = await createConfiguredServers(settings, logger, { hidesDenied: true });
  const mask = createSecretMask(servers.secrets);
  const trail = openAuditTrail(options.instanceId, settings, { mask, logger });
  const savedTools = createSavedTools({ ...savedToolsOptions(settings, servers, trail), logger });
  const approvals = createCellApprovals({ mask, policyFile: join(stateDir, 'policy.json') });
  const calls = createGatedCalls(servers, approvals, trail);
  const artifacts = createArtifacts(stateDir);
  const packages = createPackages({ engine, policies: servers.policies, settings, trail });
  const methods = [...savedToolMethods(savedTools), ...artifactMethods(artifacts), ...packages.methods];
  const checkpoints = new CheckpointStore(join(stateDir, CHECKPOINTS, options.instanceId), logger, { isOwn: true });
  const sessions = new Sessions({
    engine,
    checkpoints: keeperOptions(settings, checkpoints, logger),
    ...(await sessionSettings(settings, logger)),
    handleCall: createHostCalls({ pool: servers.pool, directory: servers.known, logger, autoload, calls, methods }),
    recorder: trail,
    onSandboxEnd: (session) => void artifacts.endSession(session),
    logger,
    discoverServers: async () => servers.refresh(),
    startingServers: () => startingServers(servers.pool),
    savedTools: () => savedTools.list(),
  });
  let hasSwept = false;

  return {
    async runCell(request) {
      offerElicitation(servers.pool, request);
      const answer = await withAuditNotices(trail, await runInSession(request, sessions, trail));
      if (!hasSwept) {
        hasSwept = true;
        // After the first answer, so that it does not slow down a cold start.
        void sweep(engine, logger);
        void sweepCheckpoints(join(stateDir, CHECKPOINTS), logger, MAX_CHECKPOINT_AGE_MS);
      }
      return answer;
    },
    describeEngine: async () => (hasSwept ? describeEngine(engine) : undefined),
    listServers: async () => listServers(servers),
    preload: preloadClient,
    preinstall: () => packages.preinstall(),
    async close() {
      await Promise.all([sessions.close(), closeServers(servers)]);
      const isUsed = hasSwept || settings.preinstall !== undefined;
      const swept = isUsed ? engine.sweep({ own: true }) : 0;
      await Promise.all([artifacts.close(), checkpoints.clear(), trail?.close(), swept]);
    },
  };
}

function keeperOptions(settings: Settings, store: CheckpointStore, logger: Logger) {
  const { checkpoint: mode } = settings;
  return mode === 'off'
    ? undefined
    : {
        store,
        lasting: projectStore(settings, logger),
        mode,
        memoryBytes: Math.floor(limitsOf(settings).memoryBytes * COPY_SHARE),
      };
}

/** Sessions that last belong to the folder that the client started the bridge in: usually a project. */
function projectStore({ stateDir }: Settings, logger: Logger): CheckpointStore {
  const project = createHash('sha256').update(process.cwd()).digest('hex').slice(0, 32);
  return new CheckpointStore(join(stateDir, CHECKPOINTS, project), logger, { isOwn: false });
}

/** What sessions are like, whatever they may call. */
async function sessionSettings(settings: Settings, logger: Logger) {
  const { approvalTimeoutMs, autoload, idleTimeoutMs, image, stateDir } = settings;
  return {
    limits: limitsOf(settings),
    sources: await readKernelSources(KERNEL_FOLDER),
    packs: createCodePackStore(join(stateDir, '.cache', 'python'), logger),
    packKey: image,
    capabilitySummary: manualOf(settings),
    autoload,
    idleTimeoutMs,
    questionTimeoutMs: approvalTimeoutMs,
  };
}

function savedToolsOptions(
  { savedTools: mode, stateDir }: Settings,
  { policies }: Pick<BridgeServers, 'policies'>,
  trail: AuditTrail | undefined,
): Omit<SavedToolsOptions, 'logger'> {
  return {
    stateDir,
    mode,
    fallback: () => policies()?.fallback,
    onSaved: (call, tool) => trail?.toolSaved(call, tool),
  };
}

function manualOf({ autoload, packages }: Settings): string {
  return CAPABILITY_SUMMARY + (autoload ? AUTOLOAD_SUMMARY : '') + (packages === 'off' ? '' : PACKAGES_SUMMARY);
}

interface PackageParts {
  readonly engine: Engine;
  readonly policies: BridgeServers['policies'];
  readonly settings: Settings;
  readonly trail: AuditTrail | undefined;
}

function createPackages({ engine, policies, settings, trail }: PackageParts): PackageInstaller {
  return createPackageInstaller({
    engine,
    mode: settings.packages,
    policy: policies,
    minAgeMs: settings.packagesMinAgeMs,
    maxBytes: settings.packagesMaxBytes,
    maxAgeMs: settings.packagesMaxAgeMs,
    readIndex: () => readPackageIndex(process.env),
    readProgram: readBuilderProgram,
    stateDir: settings.stateDir,
    image: settings.image,
    preinstall: settings.preinstall,
    onInstalled: (call, installation) => trail?.packagesInstalled(call, installation),
    onRefused: (call, refused) => trail?.packagesRefused(call, refused),
  });
}

function offerElicitation(pool: UpstreamPool, { person }: CellRequest): void {
  pool.offerElicitation(person && { form: {}, ...(person.opensPages ? { url: {} } : {}) });
}

async function runInSession(
  request: CellRequest,
  sessions: Sessions,
  trail: AuditTrail | undefined,
): Promise<CellAnswer> {
  try {
    return await sessions.get(request.session).run(request);
  } catch (error) {
    trail?.cellRefused(request, toBridgeError(error));
    throw error;
  }
}

async function closeServers({ pool, known }: ConfiguredServers): Promise<void> {
  await Promise.all([pool.close(), known.close()]);
}

function listServers(servers: ConfiguredServers): ServerNames {
  const callable = servers.refresh();
  const errors = servers.issues().filter(({ level }) => level === 'error');
  return {
    names: callable.map(({ name }) => name),
    fileProblems: errors.map(renderIssue),
    resolve: (wanted) => resolveName(callable, wanted)?.name,
    whyDisabled: (name) => servers.known.whyDisabled(name),
  };
}

/** Removes sandboxes that bridges left behind. */
async function sweep(engine: Engine, logger: Logger): Promise<void> {
  const count = await engine.sweep();
  if (count > 0) {
    logger.info(`Removed ${count === 1 ? '1 sandbox' : `${count} sandboxes`} that earlier bridges left behind.`);
  }
}

function startingServers(pool: UpstreamPool): string[] {
  return pool
    .states()
    .filter(({ state }) => state === 'starting')
    .map(({ name }) => name);
}
