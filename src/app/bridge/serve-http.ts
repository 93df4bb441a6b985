/**
 * `serve --http`: one process for several principals. Each has its own bridge, so that what belongs to one has no name for another;
 * they share the settings, the server files and the policy of the operator.
 */
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { BridgeError } from '../../core/base/errors.ts';
import { MAX_CHECKPOINT_AGE_MS } from '../../core/base/limits.ts';
import type { Logger } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { LazyBridge } from '../../core/session/lazy-bridge.ts';
import { SessionRoom } from '../../core/session/session-room.ts';
import { stateFolders } from '../../core/state/principals.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { closeInTime, type Lifecycle, watchProcess } from '../../edges/terminal/lifecycle.ts';
import { createProfiles } from '../../features/policy/index.ts';
import { LoginPages } from '../../front/login-pages/index.ts';
import { HttpFront } from '../../front/server/http/http-front.ts';
import { isLoopback, type ListenAddress } from '../../front/server/http/listen-address.ts';
import { type Gauge, Metrics } from '../../front/server/http/metrics.ts';
import { createIdentify, TokenFile } from '../../front/tokens/index.ts';
import {
  openTelemetry,
  PROMETHEUS_METRICS,
  type Telemetry,
  toPrometheus,
  withMeasure,
} from '../../record/telemetry/index.ts';
import { wakeSchedules } from '../schedule/index.ts';
import { HttpTenant } from './http-tenant.ts';
import { startPreinstall } from './preinstall.ts';
import { logStartFailures } from './start-failures.ts';

export interface ServeHttpLine {
  readonly command: 'serve-http';
  readonly address: ListenAddress;
  /** Host names, besides that of the address, under which clients reach the bridge. */
  readonly hosts: readonly string[];
  /** How long cells that run may take after SIGTERM. */
  readonly drainMs: number;
}

/** After the drain. Nobody kills a service as fast as a client does the bridge. Chosen. */
const CLOSE_LIMIT_MS = 10_000;
/** Chosen: the first requests do not wait for it. */
const SWEEP_DELAY_MS = 1_000;
const SWEEP_EVERY_MS = 24 * 60 * 60 * 1000;

/**
 * Serves until a signal arrives. Resolves with the exit code. Rejects with `CONFIG_INVALID` if it cannot listen, or if others could
 * connect without a token.
 */
export async function serveHttp(line: ServeHttpLine, context: CommandContext): Promise<number> {
  const { settings, logger } = context;
  const tokens = new TokenFile(settings.stateDir);
  const stored = await tokens.list();
  const oauth = oauthOf(settings);
  const isRequired = isPublic(line) || oauth !== undefined;
  if (isRequired && stored === undefined && oauth === undefined) {
    throw tokenRequired(line.address.host);
  }
  const lifecycle = watchProcess(logger);
  const { front, listening } = createFront(line, context, {
    identify: createIdentify(tokens, {
      isRequired,
      profile: settings.profile,
      identifyOthers: await othersBy(oauth, context),
    }),
    oauth,
    telemetry: await openTelemetry(process.env, settings, logger),
  });
  logger.info(`Serving MCP over HTTP at ${await listening}.`);
  logMemory(settings, logger);
  const stopSweeps = startSweeps(settings, logger);
  const stopWaking = wakeSchedules(settings.stateDir, logger);
  if (oauth === undefined && (stored === undefined || stored.length === 0)) {
    logger.warning(`${stored === undefined ? OPEN : LOCKED} ${COMMAND} tokens add NAME`);
  }
  const store = new LazyBridge(() => context.createBridge());
  const stopPreinstall = settings.preinstall && startPreinstall(store, settings.preinstall, logger);
  // Loads what the first cell needs. A failure is reported when there is one.
  void import('./bridge.ts').catch(() => undefined);
  const { exitCode } = await lifecycle.ended;
  stopPreinstall?.();
  stopSweeps();
  stopWaking();
  await drain(front, lifecycle, line.drainMs, logger);
  await closeInTime(() => Promise.all([front.close(), store.close()]).then(() => undefined), logger, CLOSE_LIMIT_MS);
  return exitCode;
}

/** Removes old checkpoints and code packs of all principals, at the start and then daily: a service runs for months, and some do not come back. */
function startSweeps({ stateDir }: Settings, logger: Logger): () => void {
  const sweep = async (): Promise<void> => {
    // Not before it is needed: loading it takes longer than a request.
    const { sweepAllCheckpoints } = await import('../../core/session/checkpoint-store.ts');
    await sweepAllCheckpoints(stateDir, logger, MAX_CHECKPOINT_AGE_MS);
    const { removeOldPacks } = await import('../../core/session/code-packs.ts');
    for (const { path } of await stateFolders(stateDir)) {
      await removeOldPacks(join(path, '.cache', 'python'));
    }
  };
  const first = setTimeout(() => void sweep(), SWEEP_DELAY_MS).unref();
  const others = setInterval(() => void sweep(), SWEEP_EVERY_MS).unref();
  return () => {
    clearTimeout(first);
    clearInterval(others);
  };
}

/** What the sessions may need together, so that the operator learns it before they do. */
function logMemory({ maxSessions, memoryBytes }: Settings, logger: Logger): void {
  const [needed, there] = [maxSessions * memoryBytes, totalmem()];
  const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
  const text = `${maxSessions} sessions may use ${gib(needed)} of memory together; this machine has ${gib(there)}.`;
  const hint = ' Lower MCP_BRIDGE_MAX_SESSIONS or MCP_BRIDGE_MEMORY unless most sessions stay small.';
  logger[needed > there ? 'warning' : 'info'](needed > there ? text + hint : text);
}

const OPEN =
  'No token is required: everyone with an account on this machine can use the bridge. To change that, make a token:';
const LOCKED = 'There are no tokens left, so no one can use the bridge. Make one:';

/** Whether programs of other machines can connect. `--allow-host` is for those that a proxy brings. */
function isPublic({ address, hosts }: ServeHttpLine): boolean {
  return !isLoopback(address.host) || hosts.length > 0;
}

function tokenRequired(host: string): BridgeError {
  const why = isLoopback(host) ? '--allow-host lets clients of other machines in' : `others can reach ${host}`;
  return new BridgeError('CONFIG_INVALID', `serving over HTTP requires a token here, because ${why}`, {
    hint: `Make one: ${COMMAND} tokens add NAME`,
  });
}

type Identify = ReturnType<typeof createIdentify>;

/** Undefined if no issuer is set. Throws `CONFIG_INVALID` if a token for any other service would be accepted. */
function oauthOf({ httpOauthIssuer: issuer, httpOauthAudience: audience, httpOauthScopes: scopes = [] }: Settings) {
  if (issuer === undefined) {
    return undefined;
  }
  if (audience === undefined) {
    throw new BridgeError('CONFIG_INVALID', 'MCP_BRIDGE_HTTP_OAUTH_ISSUER is set, but not for which audience', {
      hint: 'Set MCP_BRIDGE_HTTP_OAUTH_AUDIENCE to what the issuer writes into tokens for this bridge, usually its address: https://mcp.example.com/mcp',
    });
  }
  return { issuer, audience, scopes };
}

type OAuth = ReturnType<typeof oauthOf>;

interface FrontParts {
  readonly identify: Identify;
  readonly oauth: OAuth;
  readonly telemetry: Telemetry | undefined;
}

async function othersBy(oauth: OAuth, { logger, settings: { profile } }: CommandContext) {
  // Without an issuer, nothing of it is loaded.
  return oauth && (await import('../../front/oauth-tokens/index.ts')).createTokenCheck({ ...oauth, profile, logger });
}

function createFront(
  { address, hosts }: ServeHttpLine,
  context: CommandContext,
  { identify, oauth, telemetry }: FrontParts,
) {
  const { logger, settings } = context;
  const measured = createMetrics(telemetry);
  const findProfile = createProfiles(settings.stateDir);
  const tenants = new Set<HttpTenant>();
  const room = new SessionRoom(settings.maxSessions);
  // Clients reach it by the first name, or on this machine.
  let origin = hosts[0] === undefined ? '' : `https://${hosts[0]}`;
  const loginPages = new LoginPages({ origin: () => origin, logger, env: process.env });
  const shared = { ...context, ...measured, loginPages, room, observer: logStartFailures(settings.stateDir, logger) };
  const front = new HttpFront({
    address,
    hosts,
    identify,
    protectedResource: oauth,
    answerPage: (...given) => loginPages.answer(...given),
    hasProfile: (name) => findProfile(name) !== undefined,
    createTenant(principal, given) {
      const tenant = new HttpTenant(principal, given, { ...shared, onClosed: () => tenants.delete(tenant) });
      tenants.add(tenant);
      return tenant;
    },
    metrics: measured.metrics,
    readGauges: () => gaugesOf(tenants),
    logger,
    limits: {
      maxRequestsPerSecond: settings.httpMaxRate,
      maxOpenRequests: settings.httpMaxStreams,
      maxBodyBytes: settings.httpMaxBodyBytes,
    },
  });
  const listening = front.listen().then((url) => {
    origin ||= new URL(url).origin;
    return url;
  });
  return { front, listening };
}

/** The metrics for Prometheus, and what gives them their values. */
function createMetrics(telemetry: Telemetry | undefined) {
  const metrics = new Metrics(PROMETHEUS_METRICS);
  const measure = toPrometheus(metrics);
  return { metrics, measure, observeCall: withMeasure(telemetry, measure).observeCall };
}

/** Waits for cells that run. A second signal ends the wait. */
async function drain(front: HttpFront, { ended }: Lifecycle, limitMs: number, logger: Logger): Promise<void> {
  let isHurried = false;
  const hurry = (): void => {
    isHurried = true;
  };
  process.once('SIGTERM', hurry).once('SIGINT', hurry);
  const { reason } = await ended;
  logger.info(`Shutting down: ${reason}. Cells that run have ${Math.round(limitMs / 1000)} s.`);
  if (!(await front.drain(limitMs, () => isHurried))) {
    logger.warning('Cells still run; they are ended.');
  }
}

async function gaugesOf(tenants: ReadonlySet<HttpTenant>): Promise<Gauge[]> {
  const each = await Promise.all([...tenants].map((tenant) => tenant.sessions()));
  const sum = (kind: 'idle' | 'busy'): number => each.reduce((all, sessions) => all + sessions[kind], 0);
  const sessions = (['idle', 'busy'] as const).map((state) => ({ labels: { state }, value: sum(state) }));
  return [
    {
      name: 'sessions',
      help: 'Sessions of Python that have a sandbox, or a cell that waits for one.',
      values: sessions,
    },
    {
      name: 'resident_memory_bytes',
      help: 'Memory of the bridge itself.',
      values: [{ value: process.memoryUsage.rss() }],
    },
  ];
}
