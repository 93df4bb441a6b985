/** What serves one principal over HTTP: its own bridge, with its own sessions, servers and folder of state, and the front of it. */
import type { CellRequest } from '../../core/base/cell.ts';
import { BridgeError, messageOf, toBridgeError } from '../../core/base/errors.ts';
import { LAST_CHECKPOINT_OF_SERVICE_MS } from '../../core/base/limits.ts';
import type { Measure } from '../../core/base/measure.ts';
import { VERSION } from '../../core/base/version.ts';
import { type Bridge, LazyBridge } from '../../core/session/lazy-bridge.ts';
import type { SessionRoom } from '../../core/session/session-room.ts';
import { principalFolder, profileFolder } from '../../core/state/principals.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { BridgePrincipal, CommandContext } from '../../edges/terminal/command.ts';
import type { LoginPages } from '../../front/login-pages/index.ts';
import type { ObserveCall } from '../../front/server/call-observer.ts';
import { personBehind } from '../../front/server/client-facts.ts';
import type { Tenant, TenantParts } from '../../front/server/http/http-front.ts';
import type { Metrics } from '../../front/server/http/metrics.ts';
import type { Principal } from '../../front/server/http/principal.ts';
import { withSessionHeader } from '../../front/server/http/session-header.ts';
import { createFront, type Front } from './front.ts';
import type { logStartFailures } from './start-failures.ts';

/** The client to which the sessions belong that last: all clients of a principal share them. */
const CLIENT = 'http';

/** What all principals share. */
interface SharedParts extends CommandContext {
  readonly loginPages: LoginPages;
  readonly metrics: Metrics;
  readonly measure: Measure;
  readonly observeCall: ObserveCall;
  readonly observer: ReturnType<typeof logStartFailures>;
  readonly room: SessionRoom;
  readonly onClosed: () => void;
}

export class HttpTenant implements Tenant {
  readonly front: Tenant['front'];
  readonly #shared: SharedParts;
  readonly #bridge: LazyBridge;
  readonly #warmUp: Front['warmUp'];
  readonly #use: TenantParts['use'];
  #cells = 0;

  constructor(principal: Principal, { isValid, profile, use }: TenantParts, shared: SharedParts) {
    const { logger, loginPages, metrics, observer, room, settings } = shared;
    this.#shared = shared;
    this.#use = use;
    const own = ownPart(principal, profile, settings);
    this.#bridge = new LazyBridge(async () => {
      const bridge = await shared.createBridge({
        client: () => CLIENT,
        sharesDefault: true,
        lastCheckpointMs: LAST_CHECKPOINT_OF_SERVICE_MS,
        listedTools: () => this.front.tools.map(({ definition }) => definition),
        room,
        principal: own,
        countedFor: use,
        loginPages: {
          invite: (...given) => loginPages.invite(...given, isValid),
          ended: (address) => loginPages.ended(address),
        },
        profile,
        measure: shared.measure,
        onCall: (outcome) => metrics.count('calls_total', { outcome }),
      });
      if (own !== undefined && settings.preinstall !== undefined) {
        // Into the store of the principal. The first import that needs it says what is wrong.
        bridge.preinstall().catch((error: unknown) => logger.debug(`MCP_BRIDGE_PREINSTALL: ${messageOf(error)}`));
      }
      return this.#counted(bridge);
    });
    const front = createFront(shared, {
      bridge: this.#bridge,
      folder: own?.folder,
      observer,
      observeCall: shared.observeCall,
    });
    this.#warmUp = front.warmUp;
    this.front = {
      ...front.options,
      version: VERSION,
      tools: front.options.tools.map(withSessionHeader),
      onToolsListed({ modes }) {
        void front.preload();
        front.warmUp.toolsListed(personBehind(modes));
      },
    };
  }

  async isBusy(): Promise<boolean> {
    return this.#cells > 0;
  }

  async hasSessions(): Promise<boolean> {
    const { idle, busy } = await this.sessions();
    return idle + busy > 0;
  }

  /** The numbers of idle and of busy sessions. */
  async sessions(): Promise<{ readonly idle: number; readonly busy: number }> {
    const live = (await (await this.#bridge.made())?.listSessions()) ?? [];
    const busy = live.filter(({ isBusy }) => isBusy).length;
    return { idle: live.length - busy, busy };
  }

  async close(): Promise<void> {
    this.#warmUp.close();
    await this.#bridge.close();
    this.#shared.onClosed();
  }

  /** The bridge with a limit on cells, which are counted. */
  #counted(bridge: Bridge): Bridge {
    return {
      ...bridge,
      runCell: (request) => this.#runCell(bridge, request),
      runProgram: (...given) => this.#inRoom(() => bridge.runProgram(...given)),
    };
  }

  async #runCell(bridge: Bridge, request: CellRequest): ReturnType<Bridge['runCell']> {
    const { metrics } = this.#shared;
    try {
      const answer = await this.#inRoom(() => bridge.runCell(request));
      metrics.count('cells_total', { status: answer.status });
      return answer;
    } catch (error) {
      metrics.count('cells_total', { status: toBridgeError(error).code.toLowerCase() });
      throw error;
    }
  }

  /** Rejects with `SESSION_LIMIT` if as many cells and programs run or wait as one principal may have. */
  async #inRoom<Answer>(run: () => Promise<Answer>): Promise<Answer> {
    const { httpMaxCells } = this.#shared.settings;
    if (this.#use.cells >= httpMaxCells) {
      throw new BridgeError('SESSION_LIMIT', `${httpMaxCells} cells of this token run or wait, which is the limit`, {
        hint: 'Wait until some of them are done. The operator can raise MCP_BRIDGE_HTTP_MAX_CELLS.',
      });
    }
    this.#cells += 1;
    this.#use.cells += 1;
    try {
      return await run();
    } finally {
      this.#cells -= 1;
      this.#use.cells -= 1;
    }
  }
}

/**
 * Undefined for everyone on this machine with all servers, whose state is that of the user, as over stdio. A profile that the client
 * chooses has a state of its own: what is saved with all servers must not come into it.
 */
function ownPart(
  { name, maxSessions, profile: only, servers }: Principal,
  profile: string | undefined,
  { maxSessions: all, stateDir }: Settings,
): BridgePrincipal | undefined {
  const own = name === undefined ? undefined : principalFolder(stateDir, name);
  const folder = profile === undefined || profile === only ? own : profileFolder(own ?? stateDir, profile);
  return folder === undefined
    ? undefined
    : { name, folder, servers, maxSessions: name === undefined ? all : (maxSessions ?? Math.ceil(all / 2)) };
}
