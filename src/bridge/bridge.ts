/** Builds the bridge from settings, engines, servers, sessions and features. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCellApprovals } from '../approvals/index.ts';
import { type Artifacts, artifactMethods, createArtifacts } from '../artifacts/index.ts';
import { type AuditTrail, openAuditTrail, recordProgram, withAuditNotices } from '../audit/index.ts';
import type { CellAnswer, CellRequest } from '../base/cell.ts';
import { renderIssue } from '../base/config-issue.ts';
import { Countdown } from '../base/countdown.ts';
import { toBridgeError } from '../base/errors.ts';
import { COPY_SHARE, MAX_CHECKPOINT_AGE_MS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { PACKAGE_ROOT } from '../base/package.ts';
import type { ProgramRequest, ProgramResult } from '../base/program.ts';
import type { Approvals } from '../calls/contract.ts';
import { createHostCalls } from '../calls/host-calls.ts';
import { type CallPipeline, createCallPipeline } from '../calls/tool-calls.ts';
import { resolveName } from '../catalog/names.ts';
import { DryRun } from '../dry-run/index.ts';
import { detectEngine } from '../engines/detect.ts';
import type { Engine } from '../engines/engine.ts';
import { programMethods, readLanguages, runProgram, Snippets, sharedSnippets } from '../languages/index.ts';
import {
  createPackageInstaller,
  type PackageInstaller,
  readBuilderProgram,
  readPackageIndex,
} from '../packages/index.ts';
import { openRun, Recording, type Replay, type ResumableRun, RunAnswers } from '../recordings/index.ts';
import { createSavedTools, type SavedTools, type SavedToolsOptions, savedToolMethods } from '../saved-tools/index.ts';
import { createSecretMask } from '../secrets/index.ts';
import { AUTOLOAD_SUMMARY, CAPABILITY_SUMMARY, PACKAGES_SUMMARY } from '../server/capabilities.ts';
import type { Bridge, ServerNames } from '../server/lazy-bridge.ts';
import { CellAsker } from '../session/asker.ts';
import { readKernelSources } from '../session/boot.ts';
import {
  CHECKPOINTS,
  CheckpointStore,
  COMMAND_LINE,
  lastingStore,
  sweepCheckpoints,
} from '../session/checkpoint-store.ts';
import { createCodePackStore } from '../session/code-packs.ts';
import type { HandleCall } from '../session/dispatch.ts';
import { describeEngine } from '../session/engine-report.ts';
import type { RecordedCell, SessionRecorder } from '../session/recorder.ts';
import { Sessions } from '../session/sessions.ts';
import { engineOptions, limitsOf } from '../settings/engine-options.ts';
import type { Settings } from '../settings/settings.ts';
import type { BridgeOptions } from '../terminal/command.ts';
import { preloadClient } from '../upstream/handshake.ts';
import { createConfiguredServers, createGatedCalls, type GateParts } from './build-servers.ts';
import { createReplayedServers, type ServersToCall } from './replayed-servers.ts';

const KERNEL_FOLDER = fileURLToPath(new URL('sandbox-runtime/bridge_kernel', PACKAGE_ROOT));

interface CreateOptions extends BridgeOptions {
  /** Answers all calls, instead of servers. Nothing is recorded or kept. */
  readonly replay?: Replay;
}

/** Rejects with `ENGINE_UNAVAILABLE` if no engine is installed; the next cell tries again. */
export async function createBridge(settings: Settings, logger: Logger, options: CreateOptions = {}): Promise<Bridge> {
  const parts = await createParts(settings, logger, options);
  const { artifacts, checkpoints, dryRun, engine, packages, records, savedTools, servers, sessions } = parts;
  const askAboutShared = createQuestions(savedTools, settings);
  let hasSwept = false;
  let hasRunProgram = false;

  return {
    async runCell(request) {
      offerElicitation(servers.pool, request);
      await askAboutShared(request);
      const answered = dryRun.withNotice(await runInSession(request, sessions, records.trail));
      const answer = await records.withNotices(answered);
      if (!hasSwept) {
        hasSwept = true;
        // After the first answer, so that it does not slow down a cold start.
        void sweep(engine, logger);
        void sweepCheckpoints(join(settings.stateDir, CHECKPOINTS), logger, MAX_CHECKPOINT_AGE_MS);
      }
      return answer;
    },
    async runProgram(request, context) {
      hasRunProgram = true;
      return parts.runProgram(request, context);
    },
    listSessions: async () => sessions.list(),
    resetSession: (name) => sessions.reset(name),
    describeEngine: async () => (hasSwept ? describeEngine(engine) : undefined),
    listServers: async () => listServers(servers),
    preload: preloadClient,
    preinstall: () => packages.preinstall(),
    async close() {
      await Promise.all([sessions.close(), closeServers(servers)]);
      const isUsed = hasSwept || hasRunProgram || settings.preinstall !== undefined;
      const swept = isUsed ? engine.sweep({ own: true }) : 0;
      await Promise.all([artifacts.close(), checkpoints.clear(), records.close(), swept]);
    },
  };
}

async function createParts(settings: Settings, logger: Logger, { client, isDryRun, replay, resume }: CreateOptions) {
  const options = engineOptions(settings, logger);
  const engine = detectEngine(options);
  const { stateDir } = settings;
  const { servers, makeCalls } = await createServers(settings, logger, replay);
  const run = resume === undefined ? undefined : await openRun(resume);
  const records = openRecords(options.instanceId, settings, { servers, replay, run, logger });
  const dryRun = new DryRun(records.mask);
  const { mask, trail } = records;
  const savedTools = createSavedTools({ ...savedToolsOptions(settings, servers, trail), logger });
  const approvals = createCellApprovals({ mask, policyFile: join(stateDir, 'policy.json') });
  const calls = makeCalls(approvals, { ...records, dryRun, isDryRun });
  const artifacts = createArtifacts(stateDir);
  const packages = createPackages({ engine, policies: servers.policies, settings, trail });
  const parts = { artifacts, engine, packages, savedTools, servers };
  const { handleCall, run: runForCall } = answerCalls({ ...parts, calls, settings, logger, trail });
  const checkpoints = new CheckpointStore(join(stateDir, CHECKPOINTS, options.instanceId), logger, { isOwn: true });
  const sessions = new Sessions({
    engine,
    checkpoints: replay === undefined ? keeperOptions(settings, checkpoints, { logger, client, isDryRun }) : undefined,
    ...(await sessionSettings(settings, logger)),
    handleCall,
    recorder: records.recorder,
    onSandboxEnd: (session) => void artifacts.endSession(session),
    logger,
    discoverServers: async () => servers.refresh(),
    startingServers: () => startingServers(servers.pool),
    savedTools: () => savedTools.list(),
  });
  return { ...parts, checkpoints, dryRun, records, runProgram: runForCall, sessions };
}

interface CallParts {
  readonly artifacts: Artifacts;
  readonly calls: CallPipeline;
  readonly engine: Engine;
  readonly packages: PackageInstaller;
  readonly savedTools: SavedTools;
  readonly servers: ServersToCall;
  readonly settings: Settings;
  readonly logger: Logger;
  readonly trail: AuditTrail | undefined;
}

/** What code may ask of the host, and how programs run: what they ask is answered as for the code that starts them. */
function answerCalls({ artifacts, calls, logger, packages, savedTools, servers, settings, ...parts }: CallParts) {
  const run = programRunner({ ...parts, settings, logger });
  const directory = servers.known;
  const handleCall: HandleCall = createHostCalls({
    pool: servers.pool,
    directory,
    logger,
    autoload: settings.autoload,
    calls,
    methods: [
      ...savedToolMethods(savedTools),
      ...artifactMethods(artifacts),
      ...packages.methods,
      ...programMethods({ run, directory, handleCall: async (...call) => handleCall(...call) }),
    ],
    extraTools: () => savedTools.extraTools(),
  });
  return { handleCall, run };
}

type RunOptions = Parameters<typeof runProgram>[1];

/**
 * Runs programs with what the settings say, and records them; the table of languages is read for each, so that changes apply at
 * once. Without a cell, a client asked for the program.
 */
function programRunner({
  engine,
  settings,
  logger,
  trail,
}: Pick<CallParts, 'engine' | 'settings' | 'logger' | 'trail'>) {
  const { maxTimeoutSeconds, stateDir, timeoutSeconds } = settings;
  const languages = () => readLanguages(stateDir);
  const run = async (
    request: ProgramRequest,
    call: Pick<RunOptions, 'callTool' | 'onProgress' | 'onSource' | 'servers' | 'session' | 'signal'>,
  ): Promise<ProgramResult> =>
    runProgram(request, {
      engine,
      languages: await languages(),
      snippets: new Snippets(stateDir, languages, sharedSnippets(settings, languages, logger.warning)),
      defaultTimeoutMs: timeoutSeconds * 1000,
      maxTimeoutMs: maxTimeoutSeconds * 1000,
      limits: limitsOf(settings),
      env: process.env,
      logger,
      ...call,
    });
  return async (
    request: ProgramRequest,
    call: Parameters<typeof run>[1],
    cell?: RecordedCell,
  ): Promise<ProgramResult> =>
    trail === undefined
      ? run(request, call)
      : recordProgram(trail, cell, request, (onSource) => run(request, { ...call, onSource }));
}

/** The servers that code may call, and how calls reach them. */
async function createServers(settings: Settings, logger: Logger, replay: Replay | undefined) {
  if (replay !== undefined) {
    const servers: ServersToCall = createReplayedServers(replay, settings.stateDir, logger);
    // Whatever the gates decided is in the recording.
    return { servers, makeCalls: () => createCallPipeline() };
  }
  const servers = await createConfiguredServers(settings, logger, { hidesDenied: true });
  const makeCalls = (approvals: Approvals, parts: GateParts) => createGatedCalls(servers, approvals, parts);
  return { servers, makeCalls };
}

interface RecordsParts {
  readonly servers: ServersToCall;
  readonly replay: Replay | undefined;
  readonly run: ResumableRun | undefined;
  readonly logger: Logger;
}

/** The audit log and the recording, as the settings say. */
function openRecords(instanceId: string, settings: Settings, { servers, replay, run, logger }: RecordsParts) {
  const { known, secrets } = servers;
  const mask = createSecretMask(secrets);
  const trail = openAuditTrail(instanceId, settings, { mask, logger });
  const describeAll = () =>
    known.servers().map((server) => ({
      server,
      cwd: known.workingDirectory(server),
      metadata: known.metadata(server),
    }));
  const recording =
    (settings.record === undefined && run === undefined) || replay !== undefined
      ? undefined
      : new Recording({ folder: settings.record ?? '', instanceId, mask, servers: describeAll, logger, run });
  const resume = run && new RunAnswers(run, mask);
  return {
    resume,
    mask,
    trail,
    recording,
    recorder: recordBoth(trail, recording),
    /** The answer of a cell, with notices about its records. */
    async withNotices(answer: CellAnswer): Promise<CellAnswer> {
      const noticed = await withAuditNotices(trail, answer);
      const recorded = recording?.withNotice(noticed) ?? noticed;
      return resume?.withNotice(recorded) ?? recorded;
    },
    close: async () => Promise.all([trail?.close(), recording?.close()]),
  };
}

function recordBoth(trail: AuditTrail | undefined, recording: Recording | undefined): SessionRecorder | undefined {
  if (trail === undefined || recording === undefined) {
    return trail ?? recording;
  }
  return {
    sessionStarted: (...started) => trail.sessionStarted(...started),
    sessionEnded: (...ended) => trail.sessionEnded(...ended),
    cellStarted(run, request, servers) {
      recording.cellStarted(run, request);
      return trail.cellStarted(run, request, servers);
    },
    cellEnded(...ended) {
      trail.cellEnded(...ended);
      recording.cellEnded(...ended);
    },
  };
}

interface KeeperParts extends Pick<BridgeOptions, 'client' | 'isDryRun'> {
  readonly logger: Logger;
}

function keeperOptions(settings: Settings, store: CheckpointStore, { client, isDryRun, logger }: KeeperParts) {
  const { checkpoint: mode } = settings;
  return mode === 'off'
    ? undefined
    : {
        store,
        // The folder in which the client started the bridge is usually that of a project. MCP_BRIDGE_PREINSTALL may need the
        // bridge before the client has said its name.
        lasting: () =>
          lastingStore(
            join(settings.stateDir, CHECKPOINTS),
            { folder: process.cwd(), client: client?.() ?? COMMAND_LINE },
            logger,
          ),
        mode,
        isTrial: isDryRun === true,
        leavesDefault: client !== undefined,
        memoryBytes: Math.floor(limitsOf(settings).memoryBytes * COPY_SHARE),
      };
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
  { savedTools: mode, stateDir, toolbox }: Settings,
  { policies }: Pick<ServersToCall, 'policies'>,
  trail: AuditTrail | undefined,
): Omit<SavedToolsOptions, 'logger'> {
  return {
    stateDir,
    mode,
    folders: toolbox,
    fallback: () => policies()?.fallback,
    onSaved: (call, tool) => trail?.toolSaved(call, tool),
  };
}

function manualOf({ autoload, packages }: Settings): string {
  return CAPABILITY_SUMMARY + (autoload ? AUTOLOAD_SUMMARY : '') + (packages === 'off' ? '' : PACKAGES_SUMMARY);
}

interface PackageParts {
  readonly engine: Engine;
  readonly policies: ServersToCall['policies'];
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

/** Asks about shared functions before the first cell of each session, so that the session defines those that are allowed. */
function createQuestions(savedTools: SavedTools, { approvalTimeoutMs: timeoutMs }: Settings) {
  const sessions = new Set<string>();
  return async ({ code, person, session, signal }: CellRequest): Promise<void> => {
    if (person === undefined || sessions.has(session)) {
      return;
    }
    sessions.add(session);
    const asker = new CellAsker({ person, code, clock: new Countdown(timeoutMs), timeoutMs });
    await savedTools.askAboutShared(asker, signal ?? new AbortController().signal);
    asker.close();
  };
}

function offerElicitation(pool: ServersToCall['pool'], { person }: CellRequest): void {
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

async function closeServers({ pool, known }: ServersToCall): Promise<void> {
  await Promise.all([pool.close(), known.close()]);
}

function listServers(servers: ServersToCall): ServerNames {
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

function startingServers(pool: ServersToCall['pool']): string[] {
  return pool
    .states()
    .filter(({ state }) => state === 'starting')
    .map(({ name }) => name);
}
