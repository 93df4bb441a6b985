/** Makes the parts of a bridge, in the order in which they need each other, and plugs in the features. */
import { join } from 'node:path';
import type { CellRequest } from '../../core/base/cell.ts';
import type { Approvals } from '../../core/calls/contract.ts';
import { BridgeEvents, type Watcher } from '../../core/calls/events.ts';
import { LastAnswers } from '../../core/calls/last-answers.ts';
import { type CallPipeline, createCallPipeline } from '../../core/calls/pipeline.ts';
import { Steps } from '../../core/calls/steps.ts';
import { CHECKPOINTS, CheckpointStore } from '../../core/session/checkpoint-store.ts';
import type { Sessions } from '../../core/session/sessions.ts';
import type { StandbyPool } from '../../core/session/standby.ts';
import type { BridgeOptions } from '../../edges/terminal/command.ts';
import { createCellApprovals } from '../../features/approvals/index.ts';
import { type Artifacts, createArtifacts } from '../../features/artifacts/index.ts';
import { DryRun } from '../../features/dry-run/index.ts';
import type { PackageInstaller } from '../../features/packages/index.ts';
import {
  createKeptShapes,
  createModulesAhead,
  createServersAhead,
  type KeptShapes,
  type ModulesAhead,
  type ServersAhead,
} from '../../features/prestart/index.ts';
import { createSavedTools, type SavedTools } from '../../features/saved-tools/index.ts';
import type { AuditTrail } from '../../record/audit/index.ts';
import { CellViews } from '../../record/chat-view/index.ts';
import { type BridgeTelemetry, createBridgeTelemetry, watchServers } from '../../record/telemetry/index.ts';
import type { Basis } from './basis.ts';
import { answerCalls, createPackages, createRunProgram, type RunProgram } from './build-calls.ts';
import { buildEgress } from './build-egress.ts';
import { openRecords, type Records } from './build-records.ts';
import { createConfiguredServers, createGatedCalls, type GateParts } from './build-servers.ts';
import { createSessions } from './build-sessions.ts';
import { createLoginQuestions } from './login-questions.ts';
import { createReplayedServers, type ServersToCall } from './replayed-servers.ts';
import { createWaitingInChat, type WaitingInChat } from './waiting-questions.ts';
import { type LiveParts, watchBridge } from './watch-bridge.ts';

export interface BridgeParts extends CallableServers {
  readonly artifacts: Artifacts;
  readonly checkpoints: CheckpointStore;
  readonly dryRun: DryRun;
  readonly lastAnswers: LastAnswers;
  /** Undefined for a command. */
  readonly live: LiveParts | undefined;
  readonly modules: ModulesAhead | undefined;
  readonly packages: PackageInstaller;
  readonly records: Records;
  readonly runProgram: RunProgram;
  readonly savedTools: SavedTools;
  readonly sessions: Sessions;
  readonly shapes: KeptShapes | undefined;
  readonly standby: StandbyPool;
  readonly trace: BridgeTelemetry | undefined;
  readonly views: CellViews | undefined;
  /** Undefined if the questions of scheduled runs are not for this client. */
  readonly waiting: WaitingInChat | undefined;
}

/** A part that cannot be made leaves the others closed: the next cell makes all of them again. */
export async function createParts(basis: Basis): Promise<BridgeParts> {
  const ends: (() => unknown)[] = [];
  try {
    return await openParts(basis, (end) => void ends.push(end));
  } catch (error) {
    await Promise.allSettled(ends.map(async (end) => end()));
    throw error;
  }
}

/** @param ifFailed takes what ends a part, if a later one cannot be made. */
async function openParts(basis: Basis, ifFailed: (end: () => unknown) => void): Promise<BridgeParts> {
  const { folder, instanceId, logger, options, settings, telemetry } = basis;
  const { ahead, askToLogIn, makeCalls, servers } = await createServers(basis);
  ifFailed(() => Promise.all([closeServers(servers), ahead?.close()]));
  const records = await openRecords(basis, servers);
  ifFailed(records.close);
  const { mask, resume, trail } = records;

  const unattended = await options.unattended?.({ mask, calls: records.answered });
  const live = watchBridge(basis, { servers, sessions: () => sessions, trail });
  ifFailed(() => live?.hub.leave(live.watched));
  const views = options.client === undefined || !settings.apps ? undefined : new CellViews(mask);
  const trace = telemetry && createBridgeTelemetry(telemetry, mask);
  const modules = watchModules(basis);
  const features = [live?.watched, views, modules, ahead].map((feature) => feature?.watch);
  const count = countCalls(options.onCall);
  const steps = new Steps(
    () => events,
    resume?.keptResults((call) => unattended?.skip(call)),
  );
  const events = new BridgeEvents([steps.watch, ...features, ...records.watches, ...(trace?.watches ?? []), count]);

  const approvals = createCellApprovals({ mask, policyFile: join(settings.stateDir, 'policy.json') });
  const dryRun = new DryRun(mask);
  const { isDryRun } = options;
  const gates = { dryRun, isDryRun, resume, trail, unattended };
  const calls = makeCalls(approvals, { ...gates, events, traceCall: trace?.traceCall });

  const artifacts = createArtifacts(folder);
  const lastAnswers = new LastAnswers(settings);
  const packages = createPackages(basis, servers, trail);
  const savedTools = keepTools(basis, servers, trail);
  const shapes = keepShapes(basis, mask);
  const runProgram = createRunProgram(basis, trail);
  const forCalls = { artifacts, lastAnswers, packages, runProgram, savedTools, servers, shapes, steps, trace };
  const egress = buildEgress(basis, servers, calls);
  const handleCall = answerCalls(basis, { ...forCalls, calls, egress, trail });

  const checkpoints = new CheckpointStore(join(folder, CHECKPOINTS, instanceId), logger, { isOwn: true });
  ifFailed(() => Promise.all([shapes?.close(), modules?.close(), artifacts.close(), checkpoints.clear()]));
  const forSessions = { checkpoints, egress, emit: events.emit, handleCall, mask, modules };
  const { sessions, standby } = await createSessions(basis, { ...forCalls, ...forSessions });
  const all = { ahead, askToLogIn, checkpoints, dryRun, live, makeCalls, modules, records, sessions, standby, views };
  return { ...forCalls, ...all, waiting: createWaitingInChat(basis) };
}

interface CallableServers {
  readonly servers: ServersToCall;
  /** Starts servers before they are needed. Undefined for a command, which knows what it needs. */
  readonly ahead: ServersAhead | undefined;
  /** Asks what must be known before a cell about logins; undefined if nothing can. */
  readonly askToLogIn: ((request: CellRequest) => Promise<void>) | undefined;
  makeCalls(approvals: Approvals, parts: GateParts): CallPipeline;
}

/** The servers that code may call, and how calls reach them. */
async function createServers(basis: Basis): Promise<CallableServers> {
  const { folder, instanceId: run, logger, options, settings, telemetry, user } = basis;
  const { client, countedFor, loginPages, principal, replay } = options;
  if (replay !== undefined) {
    const replayed = createReplayedServers(replay, settings.stateDir, logger);
    // Whatever the gates decided is in the recording.
    return { servers: replayed, makeCalls: () => createCallPipeline(), ahead: undefined, askToLogIn: undefined };
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
  const { approvalTimeoutMs: timeoutMs, prestart: mode } = settings;
  const isAhead = client !== undefined && mode !== 'off';
  return {
    servers,
    makeCalls: (approvals, parts) => createGatedCalls(servers, approvals, parts),
    ahead: isAhead ? createServersAhead({ mode, servers, stateDir: folder, user, run, logger }) : undefined,
    askToLogIn: loginPages && createLoginQuestions({ servers, invitations: loginPages, timeoutMs, logger }),
  };
}

export async function closeServers({ pool, known }: ServersToCall): Promise<void> {
  await Promise.all([pool.close(), known.close()]);
}

/** Counts every call, refused ones too. */
function countCalls(onCall: BridgeOptions['onCall']): Watcher {
  return (event) => {
    if (event.type === 'call_ended') {
      onCall?.(event.outcome.ok ? 'ok' : 'failed');
    }
  };
}

/** What sessions import is learned for the sandboxes of later ones. A command starts none ahead. */
function watchModules({ folder, instanceId: run, logger, options, settings, user }: Basis): ModulesAhead | undefined {
  const { prewarm, prewarmImports: mode } = settings;
  const isOff = options.client === undefined || options.replay !== undefined || prewarm === 0 || mode === 'off';
  return isOff ? undefined : createModulesAhead(mode, { stateDir: folder, user, run, logger });
}

/** What results look like is kept for later runs in the folder, whatever the client is. */
function keepShapes(
  { folder, instanceId: run, logger, options, user }: Basis,
  mask: Records['mask'],
): KeptShapes | undefined {
  const isOff = options.client === undefined || options.replay !== undefined;
  const anyClient = () => ({ ...user(), client: '' });
  return isOff ? undefined : createKeptShapes({ stateDir: folder, user: anyClient, run, mask, logger });
}

function keepTools(
  { folder, logger, settings }: Basis,
  { policies }: Pick<ServersToCall, 'policies'>,
  trail: AuditTrail | undefined,
): SavedTools {
  return createSavedTools({
    stateDir: folder,
    mode: settings.savedTools,
    folders: settings.toolbox,
    fallback: () => policies()?.fallback,
    onSaved: (call, tool) => trail?.toolSaved(call, tool),
    logger,
  });
}
