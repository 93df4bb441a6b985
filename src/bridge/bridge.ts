/** Builds the bridge from settings, engines, servers, sessions and features. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCellApprovals } from '../approvals/index.ts';
import { type Artifacts, artifactMethods, createArtifacts } from '../artifacts/index.ts';
import {
  type AuditTrail,
  createAuditWatcher,
  openAuditTrail,
  recordProgram,
  withAuditNotices,
} from '../audit/index.ts';
import { callOnce } from '../base/call-once.ts';
import { CappedMap } from '../base/capped-map.ts';
import type { AbsentPerson, CellAnswer, CellRequest, Person } from '../base/cell.ts';
import { renderIssue } from '../base/config-issue.ts';
import { Countdown } from '../base/countdown.ts';
import { BridgeError, toBridgeError } from '../base/errors.ts';
import { collectWhenIdle } from '../base/garbage.ts';
import { COPY_SHARE, MAX_CHECKPOINT_AGE_MS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { type MaybePromise, useWhenThere } from '../base/maybe-promise.ts';
import { PACKAGE_ROOT } from '../base/package.ts';
import type { ProgramRequest, ProgramResult } from '../base/program.ts';
import type { Approvals } from '../calls/contract.ts';
import { BridgeEvents, type Watcher } from '../calls/events.ts';
import { createHostCalls } from '../calls/host-calls.ts';
import { LastAnswers } from '../calls/last-answers.ts';
import { type CallPipeline, createCallPipeline } from '../calls/pipeline.ts';
import { resolveName } from '../catalog/names.ts';
import { CellViews } from '../chat-view/index.ts';
import { DryRun } from '../dry-run/index.ts';
import { detectEngine } from '../engines/detect.ts';
import { type Engine, takesPackages } from '../engines/engine.ts';
import {
  programMethods,
  readLanguages,
  readLanguagesHere,
  runProgram,
  Snippets,
  sharedSnippets,
} from '../languages/index.ts';
import {
  createPackageInstaller,
  type PackageInstaller,
  readBuilderProgram,
  readPackageIndex,
} from '../packages/index.ts';
import { createProfiles } from '../policy/index.ts';
import {
  createKeptShapes,
  createModulesAhead,
  createServersAhead,
  type KeptShapes,
  type ModulesAhead,
  type ServersAhead,
} from '../prestart/index.ts';
import { openRun, Recording, type Replay, type ResumableRun, RunAnswers } from '../recordings/index.ts';
import { createSavedTools, type SavedTools, type SavedToolsOptions, savedToolMethods } from '../saved-tools/index.ts';
import { createSecretMask } from '../secrets/index.ts';
import { AUTOLOAD_SUMMARY, CAPABILITY_SUMMARY, packagesSummary } from '../server/capabilities.ts';
import type { Bridge, ServerNames } from '../server/lazy-bridge.ts';
import { CellAsker } from '../session/asker.ts';
import { readKernelSources } from '../session/boot.ts';
import type { StartingServer } from '../session/cell-progress.ts';
import {
  CHECKPOINTS,
  CheckpointStore,
  COMMAND_LINE,
  lastingStore,
  type SessionUser,
  sweepCheckpoints,
} from '../session/checkpoint-store.ts';
import { createCodePackStore } from '../session/code-packs.ts';
import type { HandleCall } from '../session/dispatch.ts';
import { describeEngine, surroundings } from '../session/engine-report.ts';
import type { CellIdentity, EmitSessionEvent } from '../session/events.ts';
import { SavePace } from '../session/save-pace.ts';
import { claimSession } from '../session/session-claim.ts';
import { SessionRoom } from '../session/session-room.ts';
import { Sessions } from '../session/sessions.ts';
import { StandbyPool } from '../session/standby.ts';
import { engineOptions, limitsOf } from '../settings/engine-options.ts';
import type { Settings } from '../settings/settings.ts';
import { isDueToday } from '../state/said-today.ts';
import {
  type BridgeTelemetry,
  createBridgeTelemetry,
  openTelemetry,
  type Telemetry,
  watchServers,
  withMeasure,
  withTraceIds,
} from '../telemetry/index.ts';
import type { BridgeOptions } from '../terminal/command.ts';
import { preloadClient } from '../upstream/handshake.ts';
import { createConfiguredServers, createGatedCalls, type GateParts } from './build-servers.ts';
import { createLoginQuestions } from './login-questions.ts';
import { createReplayedServers, type ServersToCall } from './replayed-servers.ts';
import { watchBridge } from './watch-bridge.ts';

/** Sessions whose person was asked about shared functions; clients choose their names. Chosen: as many as are remembered otherwise. */
const MAX_ASKED_SESSIONS = 1_000;
/** A process may have many bridges, which share its cores. */
const SAVE_PACE = SavePace.ofProcess();
const KERNEL_FOLDER = fileURLToPath(new URL('sandbox-runtime/bridge_kernel', PACKAGE_ROOT));

interface CreateOptions extends BridgeOptions {
  /** Answers all calls, instead of servers. Nothing is recorded or kept. */
  readonly replay?: Replay;
}

/** Rejects with `ENGINE_UNAVAILABLE` if no engine is installed; the next cell tries again. */
export async function createBridge(given: Settings, log: Logger, options: CreateOptions = {}): Promise<Bridge> {
  const settings = { ...given, profile: options.profile ?? given.profile };
  refuseUnknownProfile(settings);
  const telemetry = await telemetryOf(settings, log, options);
  const logger = withTraceIds(log, telemetry?.tracing, settings.logLevel);
  const parts = await createParts(settings, logger, { ...options, telemetry, sharedLog: log });
  const { ahead, artifacts, checkpoints, engine, folder, live, modules, packages, records, savedTools, servers } =
    parts;
  const { sessions, shapes, standby } = parts;
  const askFirst = createQuestions(savedTools, settings, parts.askToLogIn);
  live?.watched.runWith((request) => runNoticed(request, parts, askFirst));
  let hasSwept = false;
  let hasRunProgram = false;
  const noteFirst = afterFirst(() => {
    hasSwept = true;
    // Not before, so that it does not slow down a cold start.
    void sweep(engine, folder, logger);
  });

  return {
    runCell(request) {
      offerElicitation(servers.pool, request);
      const answer = runNoticed(request, parts, askFirst);
      return hasSwept ? answer : answer.then(noteFirst);
    },
    async runProgram(request, context) {
      hasRunProgram = true;
      return parts.runProgram(request, context);
    },
    listSessions: async () => sessions.list(),
    resetSession: (name) => sessions.reset(name),
    describeEngine: async () => (hasSwept ? describeHere(engine, settings) : undefined),
    listServers: () => listServers(servers),
    preload: preloadClient,
    startSandboxesAhead: () => standby.fill(),
    preinstall: () => fetchPackages(packages, standby),
    async startServersAhead(person) {
      // A server learns at its start what it may ask.
      offerElicitation(servers.pool, { person });
      await ahead?.start();
    },
    async close() {
      ahead?.stop();
      await Promise.all([sessions.close(), closeServers(servers), standby.close()]);
      const isUsed = hasSwept || hasRunProgram || standby.hasStarted || settings.preinstall !== undefined;
      const swept = isUsed ? engine.sweep({ own: true }) : 0;
      const left = live?.hub.leave(live.watched);
      const learned = [ahead, modules, shapes].map((memory) => memory?.close());
      await Promise.all([...learned, artifacts.close(), checkpoints.clear(), records.close(), swept, left]);
      await telemetry?.flush();
    },
  };
}

/** A sandbox that was started ahead before the packages were there is replaced by one that has them. */
async function fetchPackages(packages: PackageInstaller, standby: StandbyPool): Promise<void> {
  await packages.preinstall();
  standby.noteUse();
}

/** Passes answers on, and calls `act` with the first. */
function afterFirst(act: () => void): (answer: CellAnswer) => CellAnswer {
  const once = callOnce(act);
  return (answer) => {
    once();
    return answer;
  };
}

/**
 * The answer of a cell, with what the features say about it. Every cell takes this way, so it is one function, and nothing is awaited
 * that is no promise.
 */
async function runNoticed(
  asked: CellRequest,
  { dryRun, lastAnswers, live, records, runTraced, standby, views }: Awaited<ReturnType<typeof createParts>>,
  askFirst: AskFirst,
): Promise<CellAnswer> {
  const request = live?.watched.open(asked) ?? asked;
  const end = collectWhenIdle();
  try {
    const asking = askFirst(request);
    if (asking !== undefined) {
      await asking;
    }
    const ran = await runTraced(request);
    const shown = views?.withView(request, ran) ?? ran;
    const ended = live?.watched.noticed(request, shown) ?? shown;
    lastAnswers.note(ended);
    const noticed = records.withNotices(dryRun.withNotice(ended));
    const answer = noticed instanceof Promise ? await noticed : noticed;
    standby.noteUse();
    return answer;
  } finally {
    // From now on, it can be seen what the bridge does.
    void live?.hub.open();
    end();
  }
}

/** Throws `CONFIG_INVALID`. Later changes of the file leave nothing of a profile that is gone. */
function refuseUnknownProfile({ profile, stateDir }: Settings): void {
  if (profile !== undefined && createProfiles(stateDir)(profile) === undefined) {
    throw new BridgeError('CONFIG_INVALID', `${join(stateDir, 'policy.json')} defines no profile '${profile}'`, {
      hint: 'Add it to `profiles` there, or correct MCP_BRIDGE_PROFILE.',
    });
  }
}

interface PartsOptions extends CreateOptions {
  /** The logger of the process, which the bridges of all principals share. */
  readonly sharedLog: Logger;
  readonly telemetry: Telemetry | undefined;
}

/** Undefined if nothing asks for it. */
async function telemetryOf(
  settings: Settings,
  logger: Logger,
  { measure }: CreateOptions,
): Promise<Telemetry | undefined> {
  const opened = await openTelemetry(process.env, settings, logger);
  return measure === undefined ? opened : withMeasure(opened, measure);
}

/** A part that cannot be made leaves the others closed: the next cell makes all of them again. */
async function createParts(settings: Settings, logger: Logger, given: PartsOptions) {
  const ends: (() => unknown)[] = [];
  try {
    return await openParts(settings, logger, given, (end) => void ends.push(end));
  } catch (error) {
    await Promise.allSettled(ends.map(async (end) => end()));
    throw error;
  }
}

/** @param ifFailed takes what ends a part, if a later one cannot be made. */
async function openParts(
  settings: Settings,
  logger: Logger,
  given: PartsOptions,
  ifFailed: (end: () => unknown) => void,
) {
  const { client, countedFor, isDryRun, onCall, principal, replay, resume } = given;
  const { stateDir } = settings;
  // What sessions leave is in the folder of the principal; what the operator decides, such as the policy, is shared.
  const folder = principal?.folder ?? stateDir;
  const options = engineOptions(settings, logger, folder);
  const engine = detectEngine(options);
  const personal = { ...settings, stateDir: folder };
  const { servers, makeCalls, ...byServers } = await createServers(options.instanceId, settings, logger, given);
  ifFailed(() => Promise.all([closeServers(servers), byServers.ahead?.close()]));
  const resumed = resume === undefined ? undefined : await openRun(resume, claimSession);
  const records = openRecords(options.instanceId, settings, { ...given, servers, run: resumed, logger });
  ifFailed(records.close);
  const dryRun = new DryRun(records.mask);
  const { mask, trail } = records;
  const traced = given.telemetry && createBridgeTelemetry(given.telemetry, mask);
  const savedTools = createSavedTools({ ...savedToolsOptions(personal, servers, trail), logger });
  const approvals = createCellApprovals({ mask, policyFile: join(stateDir, 'policy.json') });
  const shown = { instanceId: options.instanceId, servers, sessions: () => sessions, trail: () => trail };
  const live = watchBridge(settings, given.sharedLog, { ...given, ...shown });
  ifFailed(() => live?.hub.leave(live.watched));
  const views = client === undefined || !settings.apps ? undefined : new CellViews(mask);
  const modules = watchModules(personal, logger, { ...given, run: options.instanceId });
  const features = [live?.watched, views, modules, byServers.ahead].map((feature) => feature?.watch);
  const events = new BridgeEvents([...features, ...records.watches, ...(traced?.watches ?? []), countCalls(onCall)]);
  const calls = makeCalls(approvals, { ...records, dryRun, isDryRun, events, traceCall: traced?.traceCall });
  const artifacts = createArtifacts(folder);
  const lastAnswers = new LastAnswers(settings);
  const packages = createPackages({ countedFor, engine, policies: servers.policies, settings, trail, folder });
  const shapes = keepShapes(personal, logger, { ...given, mask, run: options.instanceId });
  ifFailed(() => shapes?.close());
  const parts = { artifacts, engine, lastAnswers, packages, records, savedTools, servers, shapes, traced, views };
  const { handleCall, run: runProgramForCall } = answerCalls({ ...parts, countedFor, calls, settings, logger, trail });
  const checkpoints = new CheckpointStore(join(folder, CHECKPOINTS, options.instanceId), logger, { isOwn: true });
  ifFailed(() => Promise.all([modules?.close(), artifacts.close(), checkpoints.clear()]));
  const { sessions, standby } = await createSessions(personal, logger, given, {
    ...parts,
    modules,
    checkpoints: replay === undefined ? keeperOptions(personal, checkpoints, { ...given, logger }) : undefined,
    handleCall,
    emit: events.emit,
  });
  const run = { runTraced: cellRunner(sessions, trail, traced), runProgram: runProgramForCall };
  return { ...parts, ...byServers, ...run, checkpoints, dryRun, folder, live, modules, sessions, standby };
}

/** Counts every call, refused ones too. */
function countCalls(onCall: BridgeOptions['onCall']): Watcher {
  return (event) => {
    if (event.type === 'call_ended') {
      onCall?.(event.outcome.ok ? 'ok' : 'failed');
    }
  };
}

/** What results look like is kept for later runs in the folder, whatever the client is. Over HTTP, the folder is of the principal. */
function keepShapes(
  { stateDir }: Settings,
  logger: Logger,
  {
    client,
    mask,
    principal,
    replay,
    run,
  }: Pick<CreateOptions, 'client' | 'principal' | 'replay'> & {
    readonly mask: (text: string) => string;
    readonly run: string;
  },
): KeptShapes | undefined {
  const user = (): SessionUser => ({ ...userOf(client, principal), client: '' });
  return client === undefined || replay !== undefined
    ? undefined
    : createKeptShapes({ stateDir, user, run, mask, logger });
}

/** What sessions import is learned for the sandboxes of later ones. A command starts none ahead. */
function watchModules(
  { prewarm, prewarmImports: mode, stateDir }: Settings,
  logger: Logger,
  { client, principal, replay, run }: Pick<CreateOptions, 'client' | 'principal' | 'replay'> & { readonly run: string },
): ModulesAhead | undefined {
  const isOff = client === undefined || replay !== undefined || prewarm === 0 || mode === 'off';
  return isOff ? undefined : createModulesAhead(mode, { stateDir, user: () => userOf(client, principal), run, logger });
}

interface SessionParts extends Pick<CallParts, 'artifacts' | 'engine' | 'packages' | 'savedTools' | 'servers'> {
  readonly checkpoints: ReturnType<typeof keeperOptions>;
  readonly handleCall: HandleCall;
  readonly modules: ModulesAhead | undefined;
  readonly emit: EmitSessionEvent;
  readonly traced: BridgeTelemetry | undefined;
}

/** The sessions, and the sandboxes that are started ahead for them. */
async function createSessions(
  settings: Settings,
  logger: Logger,
  { client, principal, room }: Pick<CreateOptions, 'client' | 'principal' | 'room'>,
  { artifacts, checkpoints, emit, engine, handleCall, modules, packages, savedTools, servers, traced }: SessionParts,
) {
  const firstSet = () => packages.firstSet();
  const watching = { emit, traceStart: traced?.traceStart };
  const shared = { ...(await sessionSettings(settings, logger)), ...watching, engine, logger, packages: firstSet };
  const whyNoPackages = () => packages.whyNone();
  const { maxSessions, prewarm: count } = settings;
  const hasRoom = room && (() => room.hasSpare());
  const standby = new StandbyPool({ ...shared, count, hasRoom, modules: modules?.modules });
  const sessions = new Sessions({
    ...shared,
    whyNoPackages,
    room: room ?? new SessionRoom(maxSessions),
    maxSessions: principal?.maxSessions ?? maxSessions,
    owner: principal && (principal.name ?? ''),
    standby,
    checkpoints,
    handleCall,
    onSandboxEnd: (session) => void artifacts.endSession(session),
    isDue: (notice) => isDueToday(settings.stateDir, `${client?.() ?? COMMAND_LINE}\n${notice}`),
    discoverServers: () => servers.refresh(),
    startingServers: () => startingServers(servers.pool),
    savedTools: () => savedTools.list(),
  });
  return { sessions, standby };
}

interface CallParts extends Pick<CreateOptions, 'countedFor'> {
  readonly artifacts: Artifacts;
  readonly lastAnswers: LastAnswers;
  readonly calls: CallPipeline;
  readonly engine: Engine;
  readonly packages: PackageInstaller;
  readonly savedTools: SavedTools;
  readonly servers: ServersToCall;
  readonly settings: Settings;
  readonly shapes: KeptShapes | undefined;
  readonly logger: Logger;
  readonly traced: BridgeTelemetry | undefined;
  readonly trail: AuditTrail | undefined;
}

/** What code may ask of the host, and how programs run: what they ask is answered as for the code that starts them. */
function answerCalls({ calls, logger, packages, savedTools, servers, settings, shapes, traced, ...parts }: CallParts) {
  const run = programRunner({ ...parts, settings, logger });
  const directory = servers.known;
  const answer = createHostCalls({
    pool: servers.pool,
    directory,
    logger,
    autoload: settings.autoload,
    calls,
    shapes,
    methods: [
      ...savedToolMethods(savedTools),
      ...artifactMethods(parts.artifacts, (...saved) => parts.trail?.artifactSaved(...saved)),
      ...parts.lastAnswers.methods,
      ...packages.methods,
      ...programMethods({ run, directory, handleCall: async (...call) => handleCall(...call) }),
    ],
    extraTools: () => savedTools.extraTools(),
  });
  const handleCall: HandleCall = traced?.within(answer) ?? answer;
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
  countedFor,
}: Pick<CallParts, 'countedFor' | 'engine' | 'settings' | 'logger' | 'trail'>) {
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
      countedFor,
      ...call,
    });
  return async (
    request: ProgramRequest,
    call: Parameters<typeof run>[1],
    cell?: CellIdentity,
  ): Promise<ProgramResult> =>
    trail === undefined
      ? run(request, call)
      : recordProgram(trail, cell, request, (onSource) => run(request, { ...call, onSource }));
}

/** The servers that code may call, and how calls reach them. */
async function createServers(
  run: string,
  settings: Settings,
  logger: Logger,
  { client, countedFor, loginPages, principal, replay, telemetry }: PartsOptions,
) {
  if (replay !== undefined) {
    const servers: ServersToCall = createReplayedServers(replay, settings.stateDir, logger);
    // Whatever the gates decided is in the recording.
    return { servers, makeCalls: () => createCallPipeline(), ahead: undefined, askToLogIn: undefined };
  }
  const servers = await createConfiguredServers(settings, logger, {
    hidesDenied: true,
    owner: principal?.name,
    folder: principal?.folder,
    only: principal?.servers,
    countedFor,
    ...(telemetry && watchServers(telemetry)),
    inviteLogin: loginPages && ((...given) => loginPages.invite(...given)),
  });
  const { approvalTimeoutMs: timeoutMs } = settings;
  const askToLogIn = loginPages && createLoginQuestions({ servers, invitations: loginPages, timeoutMs, logger });
  const makeCalls = (approvals: Approvals, parts: GateParts) => createGatedCalls(servers, approvals, parts);
  const { prestart: mode, stateDir } = settings;
  // A command knows what it needs, and starts nothing else.
  const ahead: ServersAhead | undefined =
    client === undefined || mode === 'off'
      ? undefined
      : createServersAhead({
          mode,
          servers,
          stateDir: principal?.folder ?? stateDir,
          user: () => userOf(client, principal),
          run,
          logger,
        });
  return { servers, makeCalls, ahead, askToLogIn };
}

/** The folder in which the client started the bridge is usually that of a project; over HTTP, clients have started nothing. */
function userOf(client: BridgeOptions['client'], principal: BridgeOptions['principal']): SessionUser {
  return { folder: principal?.folder ?? process.cwd(), client: client?.() ?? COMMAND_LINE };
}

interface RecordsParts extends Pick<CreateOptions, 'client' | 'listedTools' | 'principal' | 'replay'> {
  readonly servers: ServersToCall;
  readonly run: ResumableRun | undefined;
  readonly logger: Logger;
}

/** The audit log and the recording, as the settings say. */
function openRecords(instanceId: string, settings: Settings, { servers, replay, run, logger, ...of }: RecordsParts) {
  const { known, secrets } = servers;
  const mask = createSecretMask(secrets);
  const maxAnswerChars = of.client === undefined ? undefined : settings.maxOutputChars;
  const whose = { client: of.client, principal: of.principal?.name };
  const trail = openAuditTrail(instanceId, settings, { mask, logger, ...whose, maxAnswerChars });
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
    watches: [trail && createAuditWatcher(trail, (server) => known.metadata(server)?.tools), recording?.watch],
    /** The answer of a cell, with notices about its records. */
    withNotices(answer: CellAnswer): MaybePromise<CellAnswer> {
      if (of.listedTools !== undefined) {
        trail?.definitionsUsed(answer.session, undefined, of.listedTools);
      }
      return useWhenThere(withAuditNotices(trail, answer), (audited) => {
        const recorded = recording?.withNotice(audited) ?? audited;
        return resume?.withNotice(recorded) ?? recorded;
      });
    },
    close: async () => {
      await Promise.all([trail?.close(), recording?.close()]);
      await run?.release();
    },
  };
}

interface KeeperParts
  extends Pick<BridgeOptions, 'client' | 'isDryRun' | 'lastCheckpointMs' | 'principal' | 'sharesDefault'> {
  readonly logger: Logger;
}

function keeperOptions(settings: Settings, store: CheckpointStore, parts: KeeperParts) {
  const { client, isDryRun, lastCheckpointMs, logger, principal, sharesDefault } = parts;
  const { checkpoint: mode } = settings;
  return mode === 'off'
    ? undefined
    : {
        store,
        // MCP_BRIDGE_PREINSTALL may need the bridge before the client has said its name.
        lasting: () => lastingStore(join(settings.stateDir, CHECKPOINTS), userOf(client, principal), logger),
        mode,
        isTrial: isDryRun === true,
        pace: new SavePace(undefined, SAVE_PACE),
        leavesDefault: client !== undefined && sharesDefault !== true,
        defaultLasts: sharesDefault,
        lastMs: lastCheckpointMs,
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
    readManual: () => readManual(settings),
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

/** What `runtime.capability_summary()` returns on each engine. */
async function readManual(settings: Settings): Promise<(engine: Engine) => string> {
  const { autoload, packages } = settings;
  const describeSurroundings = await readSurroundings(settings);
  return (engine) => {
    const canInstall = packages !== 'off' && takesPackages(engine);
    return [
      CAPABILITY_SUMMARY,
      autoload ? AUTOLOAD_SUMMARY : '',
      canInstall ? packagesSummary(engine.wheelsFor !== undefined) : '',
      describeSurroundings(engine),
    ].join('');
  };
}

/** The engine in the manual as a resource. */
async function describeHere(engine: Engine, settings: Settings): Promise<string> {
  const describeSurroundings = await readSurroundings(settings);
  return `${describeEngine(engine)}\n${describeSurroundings(engine)}`.trimEnd();
}

/** The languages are those of now: the person may install one, or change the table. */
async function readSurroundings(settings: Settings): Promise<(engine: Engine) => string> {
  const languages = await readLanguagesHere(settings, process.env);
  return (engine) => surroundings(engine, languages?.(engine), settings.packages !== 'off');
}

interface PackageParts extends Pick<CreateOptions, 'countedFor'> {
  /** Of the principal, or the state directory. */
  readonly folder: string;
  readonly engine: Engine;
  readonly policies: ServersToCall['policies'];
  readonly settings: Settings;
  readonly trail: AuditTrail | undefined;
}

function createPackages({ countedFor, engine, folder, policies, settings, trail }: PackageParts): PackageInstaller {
  return createPackageInstaller({
    engine,
    mode: settings.packages,
    policy: policies,
    minAgeMs: settings.packagesMinAgeMs,
    maxBytes: settings.packagesMaxBytes,
    maxAgeMs: settings.packagesMaxAgeMs,
    readIndex: () => readPackageIndex(process.env),
    readProgram: readBuilderProgram,
    stateDir: folder,
    operatorsDir: folder === settings.stateDir ? undefined : settings.stateDir,
    image: settings.image,
    preinstall: settings.preinstall,
    countedFor,
    onInstalled: (call, installation) => trail?.packagesInstalled(call, installation),
    onRefused: (call, refused) => trail?.packagesRefused(call, refused),
  });
}

/** Undefined if there is nothing to ask before the cell. */
type AskFirst = (request: CellRequest) => Promise<void> | undefined;

/**
 * Asks what must be known before a cell: about shared functions before the first one of each session, so that the session defines those
 * that are allowed, and about logins.
 */
function createQuestions(
  savedTools: SavedTools,
  { approvalTimeoutMs: timeoutMs }: Settings,
  askToLogIn: ((request: CellRequest) => Promise<void>) | undefined,
): AskFirst {
  const sessions = new CappedMap<string, true>(MAX_ASKED_SESSIONS);
  const askAboutShared = async (person: Person, { code, signal }: CellRequest): Promise<void> => {
    const asker = new CellAsker({ person, code, clock: new Countdown(timeoutMs), timeoutMs });
    await savedTools.askAboutShared(asker, signal ?? new AbortController().signal);
    asker.close();
  };
  return (request) => {
    const { person, session } = request;
    if (person === undefined || sessions.has(session)) {
      return askToLogIn?.(request);
    }
    sessions.set(session, true);
    return askAboutShared(person, request).then(() => askToLogIn?.(request));
  };
}

function offerElicitation(
  pool: ServersToCall['pool'],
  { person }: { readonly person?: AbsentPerson | undefined },
): void {
  pool.offerElicitation(person && { form: {}, ...(person.opensPages ? { url: {} } : {}) });
}

/** Runs cells, each with its span if there are any. */
function cellRunner(sessions: Sessions, trail: AuditTrail | undefined, traced: BridgeTelemetry | undefined) {
  return (request: CellRequest): Promise<CellAnswer> => {
    const run = (): Promise<CellAnswer> => runInSession(request, sessions, trail);
    return traced?.runCell(request, run) ?? run();
  };
}

/** Throws or rejects if the cell does not run. */
function runInSession(request: CellRequest, sessions: Sessions, trail: AuditTrail | undefined): Promise<CellAnswer> {
  const refuse = (error: unknown): never => {
    trail?.cellRefused(request, toBridgeError(error));
    throw error;
  };
  try {
    return sessions.get(request.session).run(request).catch(refuse);
  } catch (error) {
    return refuse(error);
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

/** Removes sandboxes and checkpoints that bridges left behind. */
async function sweep(engine: Engine, folder: string, logger: Logger): Promise<void> {
  void sweepCheckpoints(join(folder, CHECKPOINTS), logger, MAX_CHECKPOINT_AGE_MS);
  const count = await engine.sweep();
  if (count > 0) {
    logger.info(`Removed ${count === 1 ? '1 sandbox' : `${count} sandboxes`} that earlier bridges left behind.`);
  }
}

function startingServers(pool: ServersToCall['pool']): StartingServer[] {
  return pool
    .states()
    .filter(({ state }) => state === 'starting')
    .map(({ name, preparing }) => ({ name, preparing }));
}
