/** Plugs the local API of `live/` into a bridge that serves clients. */

import type { Logger } from '../../core/base/log.ts';
import type { Sessions } from '../../core/session/sessions.ts';
import { createSecretMask } from '../../features/secrets/index.ts';
import type { AuditTrail } from '../../record/audit/index.ts';
import { LiveHub, WatchedBridge } from '../../record/live/index.ts';
import type { Basis } from './basis.ts';
import type { ServersToCall } from './replayed-servers.ts';
import { waitingQuestions } from './waiting-questions.ts';

/** A bridge that can be watched, with the API of its process. */
export interface LiveParts {
  readonly hub: LiveHub;
  readonly watched: WatchedBridge;
}

interface WatchedParts {
  readonly servers: ServersToCall;
  readonly sessions: () => Sessions;
  readonly trail: AuditTrail | undefined;
}

/** The bridges of a process have one logger, and share one API. */
const hubs = new WeakMap<Logger, LiveHub>();
/** As in the audit log. */
const BRIDGE_ID_CHARS = 13;

/** Undefined for a command, which runs its cells in front of its user, and if the setting says so. */
export function watchBridge(
  { instanceId, options, settings, sharedLog: logger }: Basis,
  { servers, sessions, trail }: WatchedParts,
): LiveParts | undefined {
  const { client, principal, room } = options;
  if (client === undefined || !settings.live) {
    return undefined;
  }
  const transport = room === undefined ? 'stdio' : 'http';
  const hub =
    hubs.get(logger) ?? new LiveHub({ settings, logger, transport, waiting: waitingQuestions(settings, logger) });
  hubs.set(logger, hub);
  const watched = new WatchedBridge({
    id: instanceId.slice(0, BRIDGE_ID_CHARS),
    principal: principal?.name,
    profile: options.profile,
    client,
    mask: createSecretMask(servers.secrets),
    events: hub.events,
    sessions,
    servers,
    timeoutMs: settings.timeoutSeconds * 1000,
    onAnswered: (answered) => trail?.questionAnswered(answered),
  });
  hub.join(watched);
  return { hub, watched };
}
