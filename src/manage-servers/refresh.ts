/** `servers refresh`: asks servers what they have now. */

import { CancelSource } from '../base/cancel.ts';
import { ERROR_CODES, toBridgeError } from '../base/errors.ts';
import type { CatalogServer } from '../catalog/known.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import { askEach, serversNamed } from '../directory/server-test.ts';
import type { Output } from '../terminal/output.ts';
import { renderTable } from '../terminal/table.ts';
import type { ServersCommand } from './command-line.ts';
import { type Refreshed, renderRefreshed } from './server-text.ts';

/** Resolves with the exit code: that of `SERVER_START_FAILED` when one did not answer. */
export async function refresh(
  { names }: ServersCommand,
  { known }: ConfiguredServers,
  { print, nothing, startProgress }: Output,
): Promise<number> {
  const servers = await serversNamed(names, known);
  const { stop, watch } = await startProgress();
  const refreshed = await askEach(servers, (server) => watch(server.name, askAnew(server, known))).finally(stop);
  print(refreshed, () => renderTable(refreshed.map(renderRefreshed), nothing));
  return refreshed.some(({ error }) => error !== null) ? ERROR_CODES.SERVER_START_FAILED.exitCode : 0;
}

async function askAnew(server: CatalogServer, known: ServerDirectory): Promise<Refreshed> {
  try {
    const { tools, notices } = await known.refresh(server, new CancelSource().signal);
    return { name: server.name, tools: tools.length, notices, error: null };
  } catch (error) {
    return { name: server.name, tools: null, notices: [], error: toBridgeError(error).message };
  }
}
