/** `servers tools`, `servers search` and `servers refresh`: the tools of one, several or all servers. */
import { CancelSource } from '../../core/base/cancel.ts';
import { ERROR_CODES, toBridgeError } from '../../core/base/errors.ts';
import type { CatalogServer, CatalogTool } from '../../core/catalog/known.ts';
import type { ServerDirectory } from '../../core/directory/server-directory.ts';
import { createToolSearch } from '../../core/directory/tool-search.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { askEach, preparationOf, serversNamed } from '../../edges/configured/server-test.ts';
import type { LineFor } from '../../edges/terminal/command.ts';
import { countOf, renderTable } from '../../edges/terminal/text-table.ts';
import type { ServersCommand } from './command.ts';
import type { Output } from './output.ts';

/** Lists the tools of one server. Resolves with 0. */
export async function listTools(name: string, { known }: ConfiguredServers, { print }: Output): Promise<number> {
  const server = await known.find(name);
  const tools = await known.tools(server, new CancelSource().signal);
  print(tools, () => renderTable(tools.map(renderTool), `Server '${server.name}' has no tools.`));
  return 0;
}

/** Finds tools by words. Resolves with 0. */
export async function search(
  command: LineFor<ServersCommand, 'search'>,
  { known }: ConfiguredServers,
  output: Output,
): Promise<number> {
  const query = command.words.join(' ');
  const result = await createToolSearch(known)(query, command.limit, new CancelSource().signal);
  const hits = result.found.map(({ server, tool }) => ({ server: server.name, ...tool }));
  output.print({ tools: hits, notSearched: result.notSearched, notices: result.notices }, () => {
    const rows = result.found.map(({ server, tool }) => [server.name, ...renderTool(tool)]);
    return renderTable(rows, known.servers().length === 0 ? output.noServers : 'No tools match.');
  });
  if (!command.isJson) {
    for (const { server, reason } of result.notSearched) {
      output.writeError(`not searched: ${server} (${reason})\n`);
    }
  }
  return 0;
}

/** The result of asking one server for its current tools. */
interface Refreshed {
  readonly name: string;
  readonly tools: number | null;
  readonly notices: readonly string[];
  /** Null if the server answered. */
  readonly error: string | null;
}

/** Asks servers for their current tools. Resolves with the exit code: that of `SERVER_START_FAILED` if a server did not answer. */
export async function refresh(
  { names }: LineFor<ServersCommand, 'refresh'>,
  configured: ConfiguredServers,
  { print, noServers, startProgress }: Output,
): Promise<number> {
  const { known } = configured;
  const servers = await serversNamed(names, known);
  const { stop, watch } = await startProgress();
  const refreshed = await askEach(servers, (server) =>
    watch(server.name, askForTools(server, known), preparationOf(configured, server.name)),
  ).finally(stop);
  print(refreshed, () => renderTable(refreshed.map(renderRefreshed), noServers));
  return refreshed.some(({ error }) => error !== null) ? ERROR_CODES.SERVER_START_FAILED.exitCode : 0;
}

async function askForTools(server: CatalogServer, known: ServerDirectory): Promise<Refreshed> {
  try {
    const { tools, notices } = await known.refresh(server, new CancelSource().signal);
    return { name: server.name, tools: tools.length, notices, error: null };
  } catch (error) {
    return { name: server.name, tools: null, notices: [], error: toBridgeError(error).message };
  }
}

function renderTool({ alias, description }: CatalogTool): string[] {
  return [alias, firstLine(description)];
}

function renderRefreshed({ name, tools, notices, error }: Refreshed): string[] {
  return [name, error === null ? [countOf(tools ?? 0), ...notices].join('; ') : `failed: ${firstLine(error)}`];
}

function firstLine(text: string): string {
  return text.split('\n')[0]?.trim() ?? '';
}
