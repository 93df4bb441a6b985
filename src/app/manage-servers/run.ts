/** Runs the actions of `servers`, except those that edit server files. Needs no engine. */
import { BridgeError } from '../../core/base/errors.ts';
import { isServer } from '../../core/catalog/names.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { StartTimes } from '../../edges/configured/server-test.ts';
import type { ServerDefinition } from '../../edges/servers/discover.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { runWithServers } from '../../edges/terminal/lifecycle.ts';
import { type CallOptions, call } from './call.ts';
import type { ServersCommand } from './command.ts';
import { list } from './list.ts';
import { logIn, logOut } from './login.ts';
import { createOutput } from './output.ts';
import { show } from './show.ts';
import { test } from './test.ts';
import { listTools, refresh, search } from './tools.ts';

export interface ServersOptions extends CommandContext, CallOptions {
  readonly writeOut: (text: string) => void;
}

/** Resolves with the exit code once every server that was started has been stopped. */
export async function servers(command: ServersCommand, options: ServersOptions): Promise<number> {
  const { logger, openServers } = options;
  const times = new StartTimes();
  const configured = await openServers({
    // A person who calls a tool sees the same tools as code does.
    hidesDenied: command.action === 'call',
    owner: 'principal' in command ? command.principal : undefined,
    concerns: concernedBy(command),
    onStep: times.note,
    // Failures are already part of the output.
    failureLevel: 'debug',
  });
  return runWithServers(configured, logger, () => runAction(command, configured, times, options));
}

async function runAction(
  command: ServersCommand,
  configured: ConfiguredServers,
  times: StartTimes,
  options: ServersOptions,
): Promise<number> {
  const output = createOutput(command, options);
  switch (command.action) {
    case 'list':
      return list(configured, output);
    case 'show':
      return show(await findDefinition(configured, command.server), configured, output);
    case 'tools':
      return listTools(command.server, configured, output);
    case 'login':
      return logIn(command, configured, output);
    case 'logout':
      return logOut((await findDefinition(configured, command.server)).name, command, configured, output);
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

/** The definition of a server by name, including disabled servers, which the directory does not find. */
async function findDefinition({ definitions, known }: ConfiguredServers, wanted: string): Promise<ServerDefinition> {
  const name = definitions().has(wanted) ? wanted : (await known.find(wanted)).name;
  const definition = definitions().get(name);
  if (definition === undefined) {
    throw new BridgeError('INTERNAL', `server '${name}' has no definition`);
  }
  return definition;
}

/** Tells which servers a command is about. A command that names none is about all of them. */
export function concernedBy(command: ServersCommand): (server: string) => boolean {
  const names = 'server' in command ? [command.server] : 'names' in command ? command.names : [];
  const matches = names.map(isServer);
  return (server) => matches.length === 0 || matches.some((isNamed) => isNamed(server));
}
