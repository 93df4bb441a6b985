/** `servers login` and `servers logout`: a person's login at a remote server. */
import { CancelSource } from '../../core/base/cancel.ts';
import { BridgeError } from '../../core/base/errors.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import type { LineFor } from '../../edges/terminal/command.ts';
import { countOf } from '../../edges/terminal/text-table.ts';
import { browserCommand, openBrowser } from '../../edges/upstream/oauth/browser.ts';
import { loginKeyOf } from '../../edges/upstream/oauth/login-store.ts';
import type { RemoteDefinition } from '../../edges/upstream/pool.ts';
import type { ServersCommand } from './command.ts';
import type { Output } from './output.ts';

/** Logs in, then lists the tools to verify the login. Rejects with `LOGIN_FAILED`, and with the errors of listing tools. */
export async function logIn(
  command: LineFor<ServersCommand, 'login'>,
  configured: ConfiguredServers,
  { writeError, print }: Output,
): Promise<number> {
  const { opensBrowser, port, scope, issuer, timeoutSeconds } = command;
  const server = await configured.known.find(command.server);
  const { login } = await import('../../edges/upstream/oauth/login.ts');
  const outcome = await login(await remoteOf(configured, server.name, command), {
    store: configured.logins,
    env: process.env,
    port,
    scope,
    issuer,
    timeoutMs: timeoutSeconds * 1000,
    async onAddress({ href }) {
      const browser = opensBrowser ? browserCommand(href, process.platform, process.env) : undefined;
      const isOpen = browser !== undefined && (await openBrowser(browser));
      writeError(`${isOpen ? 'Continue in your browser. If none opened, open' : 'Open'} this address:\n${href}\n`);
    },
  });
  const { tools } = await configured.known.refresh(server, new CancelSource().signal);
  print({ server: server.name, outcome, tools: tools.length }, () => {
    const what = outcome === 'logged-in' ? 'Logged in to' : 'No login is needed for';
    return `${what} server '${server.name}', which has ${countOf(tools.length)}.\n`;
  });
  return 0;
}

/** Deletes the stored login of a server, which may be disabled. */
export async function logOut(
  name: string,
  command: LineFor<ServersCommand, 'logout'>,
  configured: ConfiguredServers,
  { print }: Output,
): Promise<number> {
  const { logins } = configured;
  const key = loginKeyOf(await remoteOf(configured, name, command));
  // Exclusive, so that a token refresh in progress cannot store the login again.
  const wasThere = await logins.exclusively(key, () => logins.remove(key));
  print({ server: name, removed: wasThere }, () =>
    wasThere
      ? `Deleted the login for server '${name}' from this machine.\n`
      : `There was no login for server '${name}'.\n`,
  );
  return 0;
}

/** The definition with all references resolved: a login is stored for the address that calls really use. */
async function remoteOf(
  configured: ConfiguredServers,
  name: string,
  { action, principal }: LineFor<ServersCommand, 'login' | 'logout'>,
): Promise<RemoteDefinition> {
  const definition = configured.definitions().get(name);
  if (definition !== undefined && principal !== undefined && definition.owner === undefined) {
    throw new BridgeError('USAGE_INVALID', `all users share the login at server '${name}'`, {
      hint: `Leave out --for, or add "per": "user" to '${name}' in ${definition.file} before you use \`servers ${action}\`.`,
    });
  }
  if (definition?.url === undefined) {
    throw new BridgeError(
      'USAGE_INVALID',
      `server '${name}' runs on this machine; logins are for remote servers, which have a "url"`,
      {
        hint: `Put its keys into the "env" of its entry in ${definition?.file ?? 'its server file'}.`,
      },
    );
  }
  if (Object.keys(definition.headers).some((header) => header.toLowerCase() === 'authorization')) {
    throw new BridgeError(
      'USAGE_INVALID',
      `server '${name}' uses the Authorization header of its entry instead of a login`,
      {
        hint: `To log in instead, remove that header from the entry in ${definition.file}.`,
      },
    );
  }
  return configured.prepare(definition);
}
