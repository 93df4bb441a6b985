/** Opens the connection to a server, whichever way it is reached. */
import type { Connection, ConnectOptions } from './connection.ts';
import type { UpstreamDefinition } from './definition.ts';
import { openProcess } from './open-process.ts';

/**
 * Starts the server, or reaches it, and shakes hands. Rejects with `SERVER_START_FAILED`, for a remote server with
 * `SERVER_UNREACHABLE`, `SERVER_PROTOCOL` or `LOGIN_REQUIRED`; nothing is left running then.
 */
export async function openConnection(definition: UpstreamDefinition, options: ConnectOptions): Promise<Connection> {
  if (definition.url === undefined) {
    return openProcess(definition, options);
  }
  // Most users have no remote server, and pay for none.
  const { openRemote } = await import('./http/open-remote.ts');
  return openRemote(definition, options);
}
