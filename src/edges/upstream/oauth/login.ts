/**
 * Logs in at a remote server with the user's browser (MCP specification 2026-07-28, "Authorization"). The SDK finds the
 * authorization server, registers the bridge there, and exchanges the code. This file listens for the redirect, opens the
 * browser, and saves the login.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { auth, UnauthorizedError } from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import { escapeControls } from '../../../core/base/log.ts';
import { COMMAND } from '../../../core/base/package.ts';
import type { RemoteDefinition } from '../../../core/base/server-definition.ts';
import { quoteShellWord } from '../../../core/base/shell-words.ts';
import type { Resolve } from '../http/addresses.ts';
import { proxiesOf } from '../http/proxies.ts';
import { createMask } from '../secrets.ts';
import { type CallbackServer, startCallbackServer } from './callback-server.ts';
import { type Challenge, readChallenge } from './challenge.ts';
import { IssuerRule } from './issuer-rule.ts';
import { LoginProvider } from './login-provider.ts';
import { type LoginRecord, type LoginStore, loginKeyOf } from './login-store.ts';
import { createOAuthFetch, type OAuthFetch } from './oauth-fetch.ts';

/** Providers may return whole pages. */
const MAX_REASON_CHARS = 500;

export interface LoginOptions {
  readonly store: LoginStore;
  /** Shows the address to the person, and may open it in the browser. */
  readonly onAddress: (url: URL) => Promise<void>;
  /** Waits for the browser instead of a port of this machine. Gets the `state` that the answer must have. */
  readonly listen?: ((state: string) => Promise<CallbackServer>) | undefined;
  /** Loopback port that the browser is redirected to; any port if undefined. */
  readonly port?: number | undefined;
  /** Scopes to request instead of those of the entry or the server. */
  readonly scope?: string | undefined;
  /** The authorization server that the person accepts for this login, even if it is another than last time. */
  readonly issuer?: string | undefined;
  /** The bridge's environment, which may name proxies. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How long the person may take. */
  readonly timeoutMs: number;
  /** Finds the addresses of names; by default as the system does. */
  readonly resolve?: Resolve | undefined;
}

/** `not-needed`: the server answers without a login. */
export type LoginOutcome = 'logged-in' | 'not-needed';

/** Logs in. Rejects with `LOGIN_FAILED`, `STATE_WRITE_FAILED` and `SERVER_UNREACHABLE`. */
export async function login(definition: RemoteDefinition, options: LoginOptions): Promise<LoginOutcome> {
  const url = new URL(definition.url);
  const http = createOAuthFetch(url, { proxies: proxiesOf(options.env), resolve: options.resolve });
  try {
    const challenge = await readChallenge(url, definition, http);
    if (challenge === undefined) {
      return 'not-needed';
    }
    await logInWith(definition, options, http, challenge);
    return 'logged-in';
  } catch (error) {
    throw error instanceof BridgeError
      ? error
      : failed(definition, messageOf(http.lastFailure() ?? error), { cause: error });
  } finally {
    http.close();
  }
}

async function logInWith(
  definition: RemoteDefinition,
  options: LoginOptions,
  http: OAuthFetch,
  challenge: Challenge,
): Promise<void> {
  const { store, timeoutMs } = options;
  const key = loginKeyOf(definition);
  const state = randomBytes(32).toString('base64url');
  const before = await store.load(key);
  const callback =
    (await options.listen?.(state)) ?? (await listen(state, options.port ?? definition.oauth?.callbackPort, before));
  try {
    const provider = new LoginProvider(definition, {
      state,
      redirectUrl: callback.redirectUrl,
      before,
      issuer: new IssuerRule({ definition, before, confirmed: options.issuer }),
      onAddress: async (address) => {
        await http.checkAddress(address);
        await options.onAddress(address);
      },
    });
    const scope = options.scope ?? definition.oauth?.scope;
    const request = {
      serverUrl: definition.url,
      fetchFn: http.fetch,
      ...challenge,
      ...(scope === undefined ? {} : { scope }),
    };
    await auth(provider, { ...request, forceReauthorization: true });
    const parameters = await answerInTime(callback, timeoutMs, definition);
    const iss = parameters.get('iss');
    // Also for an error, whose text would be shown as that of the authorization server.
    provider.checkAnswer(iss);
    if (parameters.has('error')) {
      const reason = parameters.get('error_description') ?? parameters.get('error') ?? '';
      throw failed(definition, `the authorization server refused it: ${reason.slice(0, 200)}`);
    }
    const authorizationCode = parameters.get('code') ?? '';
    const result = await auth(provider, { ...request, authorizationCode, ...(iss === null ? {} : { iss }) });
    if (result !== 'AUTHORIZED') {
      throw new UnauthorizedError('the code was not accepted');
    }
    // Exclusive, so that a renewal in progress cannot overwrite it with the old login.
    await store.exclusively(key, () => store.save(key, provider.record()));
  } finally {
    await callback.close();
  }
}

/** Listens on the port of the last login if it is free, because the client may be registered for that port only. */
async function listen(
  state: string,
  port: number | undefined,
  before: LoginRecord | undefined,
): Promise<CallbackServer> {
  if (port !== undefined) {
    return startCallbackServer(state, port);
  }
  const lastPort = before === undefined ? 0 : Number(new URL(before.redirectUrl).port);
  return startCallbackServer(state, lastPort).catch((error: unknown) => {
    if (lastPort === 0) {
      throw error;
    }
    return startCallbackServer(state, 0);
  });
}

async function answerInTime(
  { answered }: CallbackServer,
  timeoutMs: number,
  definition: RemoteDefinition,
): Promise<URLSearchParams> {
  const done = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: done.signal });
  try {
    const parameters = await Promise.race([answered, late]);
    if (parameters === undefined) {
      const { name } = definition;
      throw failed(definition, `the browser did not return from the login page within ${timeoutMs / 1000} s`, {
        // Deleting the login also forgets which authorization server may have the client secret.
        hint:
          definition.oauth?.clientId === undefined
            ? `If the page said that the client is unknown, run: ${COMMAND} servers logout ${quoteShellWord(name)}. The next login registers the client again.`
            : undefined,
      });
    }
    return parameters;
  } finally {
    done.abort();
    // The aborted wait rejects; the error is of no interest.
    late.catch(() => undefined);
  }
}

/** Hints for known errors of the SDK, the network and authorization servers. */
const HINTS: readonly (readonly [RegExp, (definition: RemoteDefinition) => string])[] = [
  [
    /does not support dynamic client registration/,
    ({ name, file }) =>
      `Register a client there by hand and write its id into "oauth": {"clientId": …} of '${name}' in ${file}. If the authorization server accepts client metadata documents, use "clientMetadataUrl" instead. More: ${COMMAND} help remote logging-in`,
  ],
  [
    /Dynamic Client Registration rejected/,
    ({ name, file }) =>
      `If the server requires a key and not a login, write the key into "headers" of '${name}' in ${file}. Otherwise register a client there by hand, and write its id into "oauth": {"clientId": …}. More: ${COMMAND} help remote logging-in`,
  ],
  [
    /EADDRINUSE/,
    ({ name }) =>
      `Another program uses this port. Choose another: ${COMMAND} servers login ${quoteShellWord(name)} --port PORT`,
  ],
];

/** The `LOGIN_FAILED` error. Secrets of the entry are masked, because the reason may come from a server or contain an address. */
function failed(
  definition: RemoteDefinition,
  reason: string,
  { hint, cause }: { readonly hint?: string | undefined; readonly cause?: unknown } = {},
): BridgeError {
  const { name } = definition;
  const shown = createMask(definition)(escapeControls(reason)).slice(0, MAX_REASON_CHARS);
  const known = HINTS.find(([pattern]) => pattern.test(shown))?.[1](definition);
  return new BridgeError('LOGIN_FAILED', `the login at server '${name}' did not succeed: ${shown}`, {
    hint: hint ?? known ?? `Try again: ${COMMAND} servers login ${quoteShellWord(name)}`,
    data: { server: name },
    cause,
  });
}
