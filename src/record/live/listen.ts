/** Opens the socket of the local API, and removes it at the end; also sockets of bridges that were killed. */

import { createEndpoint, findEndpoints } from '../local-api/endpoints.ts';
import type { ApiParts } from './api.ts';
import { type ApiServer, serveApi } from './api-server.ts';
import type { EventStreams } from './event-streams.ts';

/** Rejects if it cannot listen. */
export async function listenLocally(parts: ApiParts, events: EventStreams): Promise<ApiServer> {
  const { mounts, stateDir } = parts.settings;
  const endpoint = await createEndpoint({ stateDir, hasMounts: mounts !== undefined && mounts.length > 0 });
  let server: ApiServer;
  try {
    server = await serveApi(endpoint.socket, parts, events);
    await endpoint.publish();
  } catch (error) {
    await endpoint.remove();
    throw error;
  }
  void findEndpoints(stateDir).catch(() => undefined);
  return {
    async close() {
      // Nobody must find a bridge that no longer answers.
      await endpoint.remove();
      await server.close();
    },
  };
}
