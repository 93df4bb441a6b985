/**
 * Why a server must wait for its first call: what it takes may need a person, and whoever changed its entry or its tools may not be
 * the person who used it.
 */
import type { CatalogServer } from '../../core/catalog/known.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import type { ServerDefinition } from '../../edges/servers/discover.ts';
import { referenceKinds } from '../../edges/servers/expand.ts';
import { loginKeyOf } from '../../edges/upstream/oauth/login-store.ts';
import type { LoginStore } from '../../edges/upstream/pool.ts';
import type { UsedServer } from './used-servers.ts';

export interface WhatIsKnown {
  /** How it was used last; undefined if it never was. */
  readonly last: UsedServer | undefined;
  readonly servers: Pick<ConfiguredServers, 'known' | 'failures' | 'logins'>;
}

/** One clause; undefined if it may be started ahead. Asks no server, reads no secret and runs no command. */
export async function whyNotAhead(
  server: CatalogServer,
  definition: ServerDefinition,
  { last, servers: { known, failures, logins } }: WhatIsKnown,
): Promise<string | undefined> {
  if (known.whyHidden(server) !== undefined) {
    return 'the policy allows no call to it';
  }
  if (last !== undefined && last.definition !== definition.definitionHash) {
    return 'its entry has changed since it was last used';
  }
  if (last?.asksFirst === true) {
    return 'it asks you something before its first call';
  }
  if (referenceKinds(definition).has('cmd')) {
    return 'its secrets come from a command, which may ask you something';
  }
  if (known.metadata(server)?.tools.some(({ change }) => change !== undefined) === true) {
    return 'its tools have changed, and you have not accepted them yet';
  }
  const failure = await failures.load(definition);
  return failure?.code === 'LOGIN_REQUIRED' || (await needsLogin(definition, last, logins))
    ? 'it needs a login'
    : undefined;
}

async function needsLogin(
  definition: ServerDefinition,
  last: UsedServer | undefined,
  logins: LoginStore,
): Promise<boolean> {
  const login = await loginOf(definition, logins);
  const isExpected =
    last?.hadLogin === true || (last === undefined && definition.url !== undefined && definition.oauth !== undefined);
  return login === 'expired' || (login === 'none' && isExpected);
}

/** The state of its login; undefined for a local server, and if the address comes from a file, which is not read for this. */
export async function loginOf(
  { name, file, url, owner }: ServerDefinition,
  logins: LoginStore,
): Promise<Awaited<ReturnType<LoginStore['standing']>> | undefined> {
  const isKnown = url !== undefined && referenceKinds({ name, file, url }).size === 0;
  return isKnown ? logins.standing(loginKeyOf({ name, url, owner })) : undefined;
}
