/** The sessions of a bridge, and the sandboxes that are started ahead for them. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COPY_SHARE } from '../../core/base/limits.ts';
import { PACKAGE_ROOT } from '../../core/base/package.ts';
import { readKernelSources } from '../../core/session/boot.ts';
import { CHECKPOINTS, type CheckpointStore, lastingStore } from '../../core/session/checkpoint-store.ts';
import { createCodePackStore } from '../../core/session/code-packs.ts';
import type { HandleCall } from '../../core/session/dispatch.ts';
import { type Engine, takesPackages } from '../../core/session/engine.ts';
import { describeEngine, surroundings } from '../../core/session/engine-report.ts';
import type { EmitSessionEvent } from '../../core/session/events.ts';
import { SavePace } from '../../core/session/save-pace.ts';
import { SessionRoom } from '../../core/session/session-room.ts';
import { Sessions } from '../../core/session/sessions.ts';
import { StandbyPool } from '../../core/session/standby.ts';
import { isDueToday } from '../../core/state/said-today.ts';
import { limitsOf } from '../../edges/settings/engine-options.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { Artifacts } from '../../features/artifacts/index.ts';
import { readLanguagesHere } from '../../features/languages/index.ts';
import type { PackageInstaller } from '../../features/packages/index.ts';
import type { ModulesAhead } from '../../features/prestart/index.ts';
import type { SavedTools } from '../../features/saved-tools/index.ts';
import { AUTOLOAD_SUMMARY, CAPABILITY_SUMMARY, packagesSummary } from '../../front/server/capabilities.ts';
import type { BridgeTelemetry } from '../../record/telemetry/index.ts';
import type { Basis } from './basis.ts';
import type { Egress } from './build-egress.ts';
import type { ServersToCall } from './replayed-servers.ts';

/** A process may have many bridges, which share its cores. */
const SAVE_PACE = SavePace.ofProcess();
const KERNEL_FOLDER = fileURLToPath(new URL('sandbox-runtime/bridge_kernel', PACKAGE_ROOT));

interface SessionParts {
  readonly artifacts: Artifacts;
  readonly checkpoints: CheckpointStore;
  readonly egress: Egress;
  readonly emit: EmitSessionEvent;
  readonly handleCall: HandleCall;
  /** Masks secrets in code. */
  readonly mask: (text: string) => string;
  readonly modules: ModulesAhead | undefined;
  readonly packages: PackageInstaller;
  readonly savedTools: SavedTools;
  readonly servers: ServersToCall;
  readonly trace: BridgeTelemetry | undefined;
}

export async function createSessions(
  basis: Basis,
  {
    artifacts,
    checkpoints,
    egress,
    emit,
    handleCall,
    mask,
    modules,
    packages,
    savedTools,
    servers,
    trace,
  }: SessionParts,
): Promise<{ readonly sessions: Sessions; readonly standby: StandbyPool }> {
  const { engine, folder, logger, options, settings, user } = basis;
  const { principal, replay, room } = options;
  const { maxSessions } = settings;
  const shared = {
    ...(await sessionSettings(basis)),
    engine,
    logger,
    packages: () => packages.firstSet(),
    ...egress.ofSessions,
    emit,
    traceStart: trace?.traceStart,
  };
  const hasRoom = room && (() => room.hasSpare());
  const standby = new StandbyPool({ ...shared, count: settings.prewarm, hasRoom, modules: modules?.modules });
  const sessions = new Sessions({
    ...shared,
    whyNoPackages: () => packages.whyNone(),
    room: room ?? new SessionRoom(maxSessions),
    maxSessions: principal?.maxSessions ?? maxSessions,
    owner: principal && (principal.name ?? ''),
    standby,
    checkpoints: replay === undefined ? keeperOptions(basis, checkpoints, mask) : undefined,
    handleCall,
    onSandboxEnd: (session) => void artifacts.endSession(session),
    isDue: (notice) => isDueToday(folder, `${user().client}\n${notice}`),
    discoverServers: () => servers.refresh(),
    startingServers: () => startingServers(servers),
    savedTools: () => savedTools.list(),
  });
  return { sessions, standby };
}

function startingServers({ pool }: ServersToCall) {
  const starting = pool.states().filter(({ state }) => state === 'starting');
  return starting.map(({ name, preparing }) => ({ name, preparing }));
}

/** What sessions are like, whatever they may call. */
async function sessionSettings({ folder, logger, settings }: Basis) {
  const { approvalTimeoutMs, autoload, idleTimeoutMs, image } = settings;
  return {
    limits: limitsOf(settings),
    sources: await readKernelSources(KERNEL_FOLDER),
    packs: createCodePackStore(join(folder, '.cache', 'python'), logger),
    packKey: image,
    readManual: () => readManual(settings),
    autoload,
    idleTimeoutMs,
    questionTimeoutMs: approvalTimeoutMs,
  };
}

/** Undefined if no checkpoints are taken. */
function keeperOptions(
  { folder, logger, options, settings, user }: Basis,
  store: CheckpointStore,
  mask: SessionParts['mask'],
) {
  const { client, isDryRun, lastCheckpointMs, sharesDefault } = options;
  const { checkpoint: mode } = settings;
  return mode === 'off'
    ? undefined
    : {
        store,
        mask,
        // MCP_BRIDGE_PREINSTALL may need the bridge before the client has said its name.
        lasting: () => lastingStore(join(folder, CHECKPOINTS), user(), logger),
        mode,
        isTrial: isDryRun === true,
        pace: new SavePace(undefined, SAVE_PACE),
        leavesDefault: client !== undefined && sharesDefault !== true,
        defaultLasts: sharesDefault,
        lastMs: lastCheckpointMs,
        memoryBytes: Math.floor(limitsOf(settings).memoryBytes * COPY_SHARE),
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
export async function describeHere(engine: Engine, settings: Settings): Promise<string> {
  const describeSurroundings = await readSurroundings(settings);
  return `${describeEngine(engine)}\n${describeSurroundings(engine)}`.trimEnd();
}

/** The languages are those of now: the person may install one, or change the table. */
async function readSurroundings(settings: Settings): Promise<(engine: Engine) => string> {
  const languages = await readLanguagesHere(settings, process.env);
  return (engine) => surroundings(engine, languages?.(engine), settings.packages !== 'off');
}
