/** `servers login` and `servers logout`: a person and a remote server. */
import { CancelSource } from '../base/cancel.ts';
import { BridgeError } from '../base/errors.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import { countOf } from '../terminal/table.ts';
import { browserCommand, openBrowser } from '../upstream/oauth/browser.ts';
import type { RemoteDefinition } from '../upstream/pool.ts';
import { loginWishes, type ServersCommand } from './command-line.ts';

export interface LoginContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly writeError: (text: string) => void;
  readonly print: (json: unknown, text: () => string) => void;
}

/** Logs in, and asks the server for its tools, which shows that it worked. Rejects with `LOGIN_FAILED` and as both do. */
export async function logIn(
  command: ServersCommand,
  configured: ConfiguredServers,
  { env, writeError, print }: LoginContext,
): Promise<number> {
  const { opensBrowser, port, scope, timeoutSeconds } = command.login ?? loginWishes();
  const server = await configured.known.find(command.names[0] ?? '');
  const { login } = await import('../upstream/oauth/login.ts');
  const outcome = await login(await remoteOf(configured, server.name), {
    store: configured.logins,
    env,
    port,
    scope,
    timeoutMs: timeoutSeconds * 1000,
    async onAddress({ href }) {
      const browser = opensBrowser ? browserCommand(href, process.platform, env) : undefined;
      const isOpen = browser !== undefined && (await openBrowser(browser));
      writeError(`${isOpen ? 'Log in in your browser. If none opened, open' : 'Open'} this address:\n${href}\n`);
    },
  });
  const { tools } = await configured.known.refresh(server, new CancelSource().signal);
  print({ server: server.name, outcome, tools: tools.length }, () => {
    const what = outcome === 'logged-in' ? 'Logged in at' : 'No login is needed at';
    return `${what} server '${server.name}', which has ${countOf(tools.length)}.\n`;
  });
  return 0;
}

/** Forgets a login, also of a server that is disabled. */
export async function logOut(name: string, configured: ConfiguredServers, { print }: LoginContext): Promise<number> {
  const { url } = await remoteOf(configured, name);
  const { logins } = configured;
  const key = { name, url };
  // A renewal that is under way must not bring it back.
  const wasThere = await logins.exclusively(key, () => logins.remove(key));
  print({ server: name, removed: wasThere }, () =>
    wasThere ? `The login at server '${name}' is forgotten here.\n` : `There was no login at server '${name}'.\n`,
  );
  return 0;
}

/** With the values of files and commands, as calls use it: a login belongs to the address that is really asked. */
async function remoteOf(configured: ConfiguredServers, name: string): Promise<RemoteDefinition> {
  const definition = configured.definitions().get(name);
  if (definition?.url === undefined) {
    throw new BridgeError('USAGE_INVALID', `Server '${name}' is started here; a login is for servers with a "url".`, {
      hint: `Its keys go into "env" of its entry in ${definition?.file ?? 'the file of the server'}.`,
    });
  }
  if (Object.keys(definition.headers).some((header) => header.toLowerCase() === 'authorization')) {
    throw new BridgeError('USAGE_INVALID', `Server '${name}' has an Authorization header of its own, which is used.`, {
      hint: `To log in instead, remove that header from its entry in ${definition.file}.`,
    });
  }
  return configured.prepare(definition);
}
