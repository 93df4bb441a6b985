/** Opens the connection to a server, whichever way it is reached. */

import type { RemoteDefinition, UpstreamDefinition } from '../base/server-definition.ts';
import type { ConnectOptions, ServerConnection } from './connection.ts';
import { openProcess } from './open-process.ts';

/**
 * Starts the server, or reaches it, and shakes hands. Rejects with `SERVER_START_FAILED`, for a remote server with
 * `SERVER_UNREACHABLE`, `SERVER_PROTOCOL` or `LOGIN_REQUIRED`; nothing is left running then.
 */
export async function openConnection(
  definition: UpstreamDefinition,
  options: ConnectOptions,
): Promise<ServerConnection> {
  options.onStep?.('resolved');
  const connection =
    definition.url === undefined ? await openProcess(definition, options) : await reach(definition, options);
  options.onStep?.('ready');
  return connection;
}

async function reach(definition: RemoteDefinition, options: ConnectOptions): Promise<ServerConnection> {
  // Most users have no remote server, and pay for none.
  const { openRemote } = await import('./http/open-remote.ts');
  return openRemote(definition, options);
}
