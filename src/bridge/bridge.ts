/** Connects settings, engines, upstreams and sessions to the one thing the front needs: a runner of cells. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCellApprovals } from '../approvals/index.ts';
import { artifactMethods, createArtifacts } from '../artifacts/index.ts';
import { openAuditTrail, withAuditNotices } from '../audit/index.ts';
import { renderIssue } from '../base/config-issue.ts';
import type { Logger } from '../base/log.ts';
import { PACKAGE_ROOT } from '../base/package.ts';
import { createHostCalls } from '../calls/host-calls.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import { detectEngine } from '../engines/detect.ts';
import type { Engine } from '../engines/engine.ts';
import { createSavedTools, savedToolMethods } from '../saved-tools/index.ts';
import { createSecretMask } from '../secrets/index.ts';
import { AUTOLOAD_SUMMARY, CAPABILITY_SUMMARY } from '../server/capabilities.ts';
import type { Bridge } from '../server/cell-runner.ts';
import { readKernelSources } from '../session/boot.ts';
import { createCodePackStore } from '../session/code-packs.ts';
import { describeEngine } from '../session/engine-report.ts';
import { Sessions } from '../session/sessions.ts';
import { engineOptions, limitsOf } from '../settings/engine-options.ts';
import type { Settings } from '../settings/settings.ts';
import { preloadClient } from '../upstream/handshake.ts';
import type { UpstreamPool } from '../upstream/pool.ts';
import { createGatedCalls } from './call-pipeline.ts';
import { createConfiguredServers } from './configured-servers.ts';

const KERNEL_FOLDER = fileURLToPath(new URL('sandbox-runtime/bridge_kernel', PACKAGE_ROOT));

/** Rejects with `ENGINE_UNAVAILABLE` when no engine is installed; the next cell then tries again. */
export async function createBridge(settings: Settings, logger: Logger): Promise<Bridge> {
  const options = engineOptions(settings, logger);
  const engine = detectEngine(options);
  const directory = await createConfiguredServers(settings, logger, { hidesDenied: true });
  const mask = createSecretMask(directory.secrets);
  const trail = openAuditTrail(options.instanceId, settings, { mask, logger });
  const { autoload, stateDir } = settings;
  const savedTools = createSavedTools({ stateDir, logger });
  const approvals = createCellApprovals({ mask, policyFile: join(stateDir, 'policy.json') });
  const calls = createGatedCalls(directory, approvals, trail);
  const methods = [...savedToolMethods(savedTools), ...artifactMethods(createArtifacts(stateDir))];
  const sessions = new Sessions({
    engine,
    limits: limitsOf(settings),
    sources: await readKernelSources(KERNEL_FOLDER),
    packs: createCodePackStore(join(stateDir, '.cache', 'python'), logger),
    packKey: settings.image,
    handleCall: createHostCalls({ pool: directory.pool, directory: directory.known, logger, autoload, calls, methods }),
    recorder: trail,
    logger,
    capabilitySummary: CAPABILITY_SUMMARY + (autoload ? AUTOLOAD_SUMMARY : ''),
    autoload,
    idleTimeoutMs: settings.idleTimeoutMs,
    questionTimeoutMs: settings.approvalTimeoutMs,
    discoverServers: async () => directory.refresh(),
    startingServers: () => startingServers(directory.pool),
    savedTools: () => savedTools.list(),
  });
  let hasSwept = false;

  return {
    async runCell(request) {
      directory.pool.offerElicitation(
        request.person && { form: {}, ...(request.person.opensPages ? { url: {} } : {}) },
      );
      const answer = await withAuditNotices(trail, await sessions.run(request));
      if (!hasSwept) {
        hasSwept = true;
        // After the first answer, so that it costs no cold start.
        void sweep(engine, logger);
      }
      return answer;
    },
    describeEngine: async () => (hasSwept ? describeEngine(engine) : undefined),
    ...questionsAbout(directory),
    preload: preloadClient,
    async close() {
      await Promise.all([sessions.close(), closeServers(directory)]);
      await Promise.all([trail?.close(), hasSwept ? engine.sweep({ own: true }) : 0]);
    },
  };
}

async function closeServers({ pool, known }: ConfiguredServers): Promise<void> {
  await Promise.all([pool.close(), known.close()]);
}

function questionsAbout(
  servers: ConfiguredServers,
): Pick<Bridge, 'knownServers' | 'whyDisabled' | 'serverFileProblems'> {
  return {
    knownServers: async () => servers.refresh().map(({ name }) => name),
    whyDisabled: async (name) => servers.known.whyDisabled(name),
    serverFileProblems: async () => fileProblems(servers),
  };
}

/** Removes what bridges that are gone left behind. */
async function sweep(engine: Engine, logger: Logger): Promise<void> {
  const count = await engine.sweep();
  if (count > 0) {
    logger.info(`Removed ${count} sandboxes of bridges that are gone.`);
  }
}

function fileProblems({ issues }: ConfiguredServers): string[] {
  return issues()
    .filter(({ level }) => level === 'error')
    .map(renderIssue);
}

function startingServers(pool: UpstreamPool): string[] {
  return pool
    .states()
    .filter(({ state }) => state === 'starting')
    .map(({ name }) => name);
}
