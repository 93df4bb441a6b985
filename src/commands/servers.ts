/** `servers`: shows what is known of the configured servers, and asks them anew. Needs no engine. */
import { CancelSource } from '../cancel.ts';
import type { CatalogServer } from '../catalog/catalog.ts';
import type { ServerDefinition } from '../config/discover.ts';
import { ERROR_CODES, toBridgeError } from '../errors.ts';
import { noServerConfigured } from '../no-server.ts';
import { createMask } from '../upstream/mask.ts';
import { approve } from './approve-tools.ts';
import type { ServersCommand } from './cli/servers.ts';
import { type ConfiguredServers, createConfiguredServers } from './configured-servers.ts';
import type { CommandContext } from './context.ts';
import { closeInTime, watchProcess } from './lifecycle.ts';
import { type LoginContext, logIn, logOut } from './login.ts';
import { createPlaces } from './places.ts';
import { renderRefreshed, renderServer, renderServerLine, renderTable, renderToolLine } from './servers-text.ts';
import { createToolSearch, MAX_STARTS_AT_ONCE } from './tool-search.ts';

export interface ServersOptions extends CommandContext {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/** One server as `list` and `show` tell of it; also the JSON. */
export interface ServerReport {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly disabled: boolean;
  /** Null when the server was never asked. */
  readonly tools: number | null;
}

/** The same with everything that is known. */
export interface ServerDetails extends ServerReport {
  readonly file: string;
  /** How it is reached; what is tried first, as long as it was not asked. */
  readonly transport: 'stdio' | 'http' | 'sse';
  /** Secrets are masked. Empty for a remote server. */
  readonly command: readonly string[];
  /** Secrets are masked. Null for a server that is started here. */
  readonly url: string | null;
  /** Names of its variables. */
  readonly env: readonly string[];
  /** Names of its headers. */
  readonly headers: readonly string[];
  readonly cwd: string | null;
  readonly protocolVersion: string | null;
  readonly serverVersion: string | null;
  readonly instructions: string | null;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly notices: readonly string[];
}

/** How asking one server anew went. */
export interface Refreshed {
  readonly name: string;
  readonly tools: number | null;
  readonly notices: readonly string[];
  /** Null when it answered. */
  readonly error: string | null;
}

/** Answers one question; resolves with the exit code once every server that was started is gone. */
export async function servers(command: ServersCommand, options: ServersOptions): Promise<number> {
  const { settings, logger } = options;
  const configured = await createConfiguredServers(settings, logger);
  configured.refresh();
  await configured.known.ready();
  const lifecycle = watchProcess(logger);
  const answered = answer(command, configured, options);
  try {
    return await Promise.race([answered, lifecycle.ended.then(({ exitCode }) => exitCode)]);
  } finally {
    await closeInTime(async () => {
      await configured.pool.close();
      await configured.known.close();
    }, logger);
  }
}

async function answer(
  command: ServersCommand,
  configured: ConfiguredServers,
  options: ServersOptions,
): Promise<number> {
  const print = (json: unknown, text: () => string): void => {
    options.writeOut(command.isJson ? `${JSON.stringify(json, undefined, 2)}\n` : text());
  };
  const nothing = noServerConfigured(options.settings.stateDir);
  switch (command.action) {
    case 'list': {
      const reports = [...configured.definitions().keys()].map((name) => reportOf(configured, name));
      print(reports, () => renderTable(reports.map(renderServerLine), nothing));
      return 0;
    }
    case 'show': {
      const details = detailsOf(configured, await findName(configured, command.names[0] ?? ''));
      print(details, () => renderServer(details));
      return 0;
    }
    case 'tools': {
      const server = await configured.known.find(command.names[0] ?? '');
      const tools = await configured.known.tools(server, new CancelSource().signal);
      print(tools, () => renderTable(tools.map(renderToolLine), `Server '${server.name}' has no tools.`));
      return 0;
    }
    case 'login':
      return logIn(command, configured, loginContext(options, print));
    case 'logout': {
      const name = await findName(configured, command.names[0] ?? '');
      return logOut(name, configured, loginContext(options, print));
    }
    case 'approve':
      return approve(command, configured, print);
    case 'search':
      return search(command, configured, { print, writeError: options.writeError, nothing });
    case 'refresh': {
      const refreshed = await refreshAll(command.names, configured);
      print(refreshed, () => renderTable(refreshed.map(renderRefreshed), nothing));
      return refreshed.some(({ error }) => error !== null) ? ERROR_CODES.SERVER_START_FAILED.exitCode : 0;
    }
  }
}

function loginContext({ settings, writeError }: ServersOptions, print: Output['print']): LoginContext {
  return { stateDir: settings.stateDir, env: process.env, writeError, print };
}

interface Output {
  readonly print: (json: unknown, text: () => string) => void;
  readonly writeError: (text: string) => void;
  /** What is said when there is no server. */
  readonly nothing: string;
}

async function search(command: ServersCommand, { known }: ConfiguredServers, output: Output): Promise<number> {
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

/** Asks the named servers, or all of them, what they have now; a few at a time. */
async function refreshAll(names: readonly string[], { known }: ConfiguredServers): Promise<Refreshed[]> {
  const wanted = names.length === 0 ? known.servers() : await Promise.all(names.map((name) => known.find(name)));
  const withPlace = createPlaces(MAX_STARTS_AT_ONCE);
  const ask = async (server: CatalogServer): Promise<Refreshed> => {
    try {
      const { tools, notices } = await known.refresh(server, new CancelSource().signal);
      return { name: server.name, tools: tools.length, notices, error: null };
    } catch (error) {
      return { name: server.name, tools: null, notices: [], error: toBridgeError(error).message };
    }
  };
  return Promise.all([...new Set(wanted)].map((server) => withPlace(() => ask(server))));
}

/** The configured name; a disabled server is shown too, though nothing else may be done with it. */
async function findName(configured: ConfiguredServers, wanted: string): Promise<string> {
  return configured.definitions().has(wanted) ? wanted : (await configured.known.find(wanted)).name;
}

function reportOf({ definitions, known }: ConfiguredServers, name: string): ServerReport {
  const definition = definitions().get(name);
  const server = known.servers().find((candidate) => candidate.name === name);
  return {
    name,
    alias: server?.alias ?? name,
    description: definition?.description ?? '',
    disabled: server === undefined,
    tools: (server && known.metadata(server)?.tools.length) ?? null,
  };
}

/** Where a server runs and what it is given. */
function placeOf(
  definition: ServerDefinition | undefined,
  mask: (text: string) => string,
): Pick<ServerDetails, 'transport' | 'command' | 'url' | 'env' | 'headers' | 'cwd'> {
  const nothing = { transport: 'stdio' as const, command: [], url: null, env: [], headers: [], cwd: null };
  if (definition === undefined) {
    return nothing;
  }
  if (definition.url !== undefined) {
    const { transport, url, headers } = definition;
    return {
      ...nothing,
      transport: transport === 'sse' ? 'sse' : 'http',
      url: mask(url),
      headers: Object.keys(headers),
    };
  }
  const { command, args, env, cwd } = definition;
  return { ...nothing, command: [command, ...args].map(mask), env: Object.keys(env), cwd: cwd ?? null };
}

function detailsOf(configured: ConfiguredServers, name: string): ServerDetails {
  const definition = configured.definitions().get(name);
  const server = configured.known.servers().find((candidate) => candidate.name === name);
  const metadata = server && configured.known.metadata(server);
  const mask = definition === undefined ? String : createMask(definition);
  return {
    ...reportOf(configured, name),
    file: definition?.file ?? '',
    ...placeOf(definition, mask),
    protocolVersion: metadata?.protocolVersion ?? null,
    serverVersion: metadata?.serverVersion ?? null,
    instructions: metadata?.instructions ?? null,
    capabilities: metadata?.capabilities ?? {},
    notices: metadata?.notices ?? [],
  };
}
