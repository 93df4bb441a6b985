/** `servers`: shows what is known of the configured servers, and asks them anew. Needs no engine. */
import { CancelSource } from '../cancel.ts';
import { noServerConfigured } from '../no-server.ts';
import { approve } from './approve-tools.ts';
import type { ServersCommand } from './cli/servers.ts';
import { type ConfiguredServers, createConfiguredServers } from './configured-servers.ts';
import type { CommandContext } from './context.ts';
import { closeInTime, watchProcess } from './lifecycle.ts';
import { type LoginContext, logIn, logOut } from './login.ts';
import type { Output } from './servers/output.ts';
import { refresh } from './servers/refresh.ts';
import { detailsOf, reportOf } from './servers/report.ts';
import { search } from './servers/search.ts';
import { renderServer, renderServerLine, renderTable, renderToolLine } from './servers-text.ts';

export interface ServersOptions extends CommandContext {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
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
  const output = outputOf(command, options);
  const { print, nothing } = output;
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
      return search(command, configured, output);
    case 'refresh':
      return refresh(command, configured, output);
  }
}

function outputOf({ isJson }: ServersCommand, { settings, writeOut, writeError }: ServersOptions): Output {
  return {
    print: (json, text) => writeOut(isJson ? `${JSON.stringify(json, undefined, 2)}\n` : text()),
    writeError,
    nothing: noServerConfigured(settings.stateDir),
  };
}

function loginContext({ settings, writeError }: ServersOptions, print: Output['print']): LoginContext {
  return { stateDir: settings.stateDir, env: process.env, writeError, print };
}

/** The configured name; a disabled server is shown too, though nothing else may be done with it. */
async function findName(configured: ConfiguredServers, wanted: string): Promise<string> {
  return configured.definitions().has(wanted) ? wanted : (await configured.known.find(wanted)).name;
}
