/** `servers search`: finds tools by words. */

import { CancelSource } from '../base/cancel.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import { createToolSearch } from '../directory/tool-search.ts';
import type { Output } from '../terminal/output.ts';
import { renderTable } from '../terminal/table.ts';
import type { ServersCommand } from './command-line.ts';
import { renderToolLine } from './server-text.ts';

/** Resolves with 0. */
export async function search(command: ServersCommand, { known }: ConfiguredServers, output: Output): Promise<number> {
  const query = command.names.join(' ');
  const result = await createToolSearch(known)(query, command.limit, new CancelSource().signal);
  const hits = result.found.map(({ server, tool }) => ({ server: server.name, ...tool }));
  output.print({ tools: hits, notSearched: result.notSearched, notices: result.notices }, () => {
    const rows = result.found.map(({ server, tool }) => [server.name, ...renderToolLine(tool)]);
    return renderTable(rows, known.servers().length === 0 ? output.nothing : 'No tool fits.');
  });
  if (!command.isJson) {
    for (const { server, reason } of result.notSearched) {
      output.writeError(`not searched: ${server} (${reason})\n`);
    }
  }
  return 0;
}
