/** `servers`: shows what is known of the configured servers, and asks them anew. Needs no engine. */
import { CancelSource } from '../base/cancel.ts';
import { BridgeError } from '../base/errors.ts';
import { escapeControls } from '../base/log.ts';
import { noServerConfigured } from '../base/no-server.ts';
import { type ConfiguredServers, createConfiguredServers } from '../bridge/configured-servers.ts';
import type { CommandContext } from '../bridge/context.ts';
import { detailsOf } from '../directory/report.ts';
import { StartTimes } from '../directory/server-test.ts';
import { acceptTools } from '../pins/approve-tools.ts';
import type { ServerDefinition } from '../servers/discover.ts';
import { closeInTime, watchProcess } from '../terminal/lifecycle.ts';
import type { Output } from '../terminal/output.ts';
import { startProgress } from '../terminal/progress.ts';
import { renderServer, renderTable, renderToolLine } from '../terminal/servers-text.ts';
import { type CallOptions, call } from './call.ts';
import type { ServersCommand } from './command-line.ts';
import { concernedBy } from './concerned.ts';
import { list } from './list.ts';
import { type LoginContext, logIn, logOut } from './login.ts';
import { refresh } from './refresh.ts';
import { search } from './search.ts';
import { test } from './test.ts';

export interface ServersOptions extends CommandContext, CallOptions {}

/** Answers one question; resolves with the exit code once every server that was started is gone. */
export async function servers(command: ServersCommand, options: ServersOptions): Promise<number> {
  const { settings, logger } = options;
  const times = new StartTimes();
  const configured = await createConfiguredServers(settings, logger, {
    // Whoever calls a tool sees of it what code sees.
    hidesDenied: command.action === 'call',
    concerns: concernedBy(command),
    onStep: times.note,
    // What failed is the answer, or stands in it.
    failureLevel: 'debug',
  });
  configured.refresh();
  await configured.known.ready();
  const lifecycle = watchProcess(logger);
  const answered = answer(command, configured, times, options);
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
  times: StartTimes,
  options: ServersOptions,
): Promise<number> {
  const output = outputOf(command, options);
  const { print } = output;
  switch (command.action) {
    case 'list':
      return list(configured, output);
    case 'show': {
      const definition = await findDefinition(configured, command.names[0] ?? '');
      const details = await detailsOf(configured, definition);
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
      const { name } = await findDefinition(configured, command.names[0] ?? '');
      return logOut(name, configured, loginContext(options, print));
    }
    case 'approve':
      return acceptTools(command, configured, print);
    case 'search':
      return search(command, configured, output);
    case 'refresh':
      return refresh(command, configured, output);
    case 'test':
      return test(command, configured, times, output);
    case 'call':
      return call(command, configured, options);
  }
}

function outputOf({ isJson }: ServersCommand, { settings, writeOut, writeError }: ServersOptions): Output {
  return {
    print: (json, text) => writeOut(isJson ? `${JSON.stringify(json, undefined, 2)}\n` : text()),
    writeError,
    startProgress: () => startProgress({ isJson, tellPlain: (message) => writeError(`${escapeControls(message)}\n`) }),
    nothing: noServerConfigured(settings.stateDir),
  };
}

function loginContext({ writeError }: ServersOptions, print: Output['print']): LoginContext {
  return { env: process.env, writeError, print };
}

/** A disabled server is found too, though nothing else may be done with it. */
async function findDefinition({ definitions, known }: ConfiguredServers, wanted: string): Promise<ServerDefinition> {
  const name = definitions().has(wanted) ? wanted : (await known.find(wanted)).name;
  const definition = definitions().get(name);
  if (definition === undefined) {
    throw new BridgeError('INTERNAL', `server '${name}' has no definition`);
  }
  return definition;
}
