/**
 * Supplies the token of a stored login for each request, and renews it as long as the authorization server allows. It never
 * opens a browser. If a person must log in, the error names the command.
 */
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { BridgeError } from '../../../core/base/errors.ts';
import { COMMAND } from '../../../core/base/package.ts';
import type { RemoteDefinition } from '../../../core/base/server-definition.ts';
import { quoteShellWord } from '../../../core/base/shell-words.ts';
import type { ProxyChoice } from '../http/proxies.ts';
import type { Authorization, TokenRefusal } from '../http/remote-client.ts';
import { RemoteFailure } from '../http/remote-failure.ts';
import { secretsOf } from '../secrets.ts';
import { type LoginKey, type LoginRecord, type LoginStore, loginKeyOf } from './login-store.ts';
import { createOAuthFetch } from './oauth-fetch.ts';

/** A token that is refused this soon after it was issued has not expired. Chosen. */
const FRESH_MS = 60_000;

/** OAuth error codes for temporary faults of the authorization server. For every other code a person must log in. */
const TEMPORARY: ReadonlySet<string> = new Set([
  'server_error',
  'temporarily_unavailable',
  'too_many_requests',
  'slow_down',
]);
/** The server has forgotten the client. The next login must register again, or the browser would show an error page. */
const UNKNOWN_CLIENT: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client']);

/** Where the owner of the definition can log in, if there is a page for it. */
export type InviteLogin = (definition: RemoteDefinition, scope: string | undefined) => string | undefined;

interface AuthorizationOptions {
  readonly proxies: ProxyChoice;
  readonly inviteLogin: InviteLogin | undefined;
}

/** The login of `definition` in `store`. It is read again when the server refuses it. */
export function createAuthorization(
  definition: RemoteDefinition,
  store: LoginStore,
  options: AuthorizationOptions,
): Authorization {
  return new StoredAuthorization(definition, store, options);
}

class StoredAuthorization implements Authorization {
  readonly #definition: RemoteDefinition;
  readonly #store: LoginStore;
  readonly #proxies: ProxyChoice;
  readonly #inviteLogin: InviteLogin | undefined;
  readonly #key: LoginKey;
  #current: string | undefined;
  #secrets: readonly string[] = [];
  /** Scopes of the login. */
  #scope = '';
  #isLoaded = false;
  #renewing: Promise<void> | undefined;
  #freshUntil = Number.NEGATIVE_INFINITY;
  /** A renewed login that could not be saved, and the token on disk that it replaces and that is now invalid. */
  #unsaved: { readonly record: LoginRecord; readonly spent: string } | undefined;

  constructor(definition: RemoteDefinition, store: LoginStore, { proxies, inviteLogin }: AuthorizationOptions) {
    this.#inviteLogin = inviteLogin;
    this.#definition = definition;
    this.#proxies = proxies;
    this.#store = store;
    this.#key = loginKeyOf(definition);
  }

  async header(): Promise<string | undefined> {
    if (!this.#isLoaded) {
      this.#take(await this.#store.load(this.#key));
    }
    return this.#current;
  }

  /** Requests that are refused at the same time share one renewal. */
  async renew(refusal: TokenRefusal): Promise<void> {
    this.#renewing ??= this.#renew(refusal).finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  secrets(): readonly string[] {
    return this.#secrets;
  }

  lacksScope(scope: string | undefined): BridgeError {
    const missing = scope === undefined ? 'a permission' : `the scope '${scope}'`;
    const all = scope === undefined ? undefined : uniteScopes(this.#scope, scope);
    return this.#loginRequired(`requires ${missing} that the login does not have (HTTP 403)`, { scope: all });
  }

  async #renew({ used, from }: TokenRefusal): Promise<void> {
    if (this.#takeIfNew(await this.#store.load(this.#key), used)) {
      return;
    }
    if (used !== undefined && performance.now() < this.#freshUntil) {
      throw this.#loginRequired('refused a login that was just renewed (HTTP 401)');
    }
    await this.#store.exclusively(this.#key, async () => {
      // Another bridge may have renewed it meanwhile, and a refresh token must not be used twice.
      const kept = await this.#store.load(this.#key);
      if (this.#takeIfNew(kept, used)) {
        return;
      }
      const record = this.#unsaved?.record ?? kept;
      if (record?.tokens.refresh_token === undefined) {
        throw this.#loginRequired(record === undefined ? 'requires a login' : 'no longer accepts the login');
      }
      const renewed = await this.#refresh(record, record.tokens.refresh_token, from);
      this.#freshUntil = performance.now() + Math.min(FRESH_MS, (renewed.tokens.expires_in ?? FRESH_MS) * 1000);
      this.#take(renewed);
      // Even if it cannot be saved, which fails this call, the process keeps using it.
      this.#unsaved = { record: renewed, spent: kept === undefined ? '' : bearerOf(kept) };
      await this.#store.save(this.#key, renewed);
      this.#unsaved = undefined;
    });
  }

  async #refresh(record: LoginRecord, refreshToken: string, from: string | undefined): Promise<LoginRecord> {
    const { OAuthError, refreshAuthorization } = await import('@modelcontextprotocol/client');
    const http = createOAuthFetch(new URL(record.url), { proxies: this.#proxies, reached: [from] });
    const { metadata, resource } = record;
    try {
      const tokens = await refreshAuthorization(record.authorizationServer, {
        clientInformation: record.client,
        refreshToken,
        fetchFn: http.fetch,
        ...(metadata === undefined ? {} : { metadata: metadata as unknown as AuthorizationServerMetadata }),
        ...(resource === undefined ? {} : { resource: new URL(resource) }),
      });
      return { ...record, tokens };
    } catch (error) {
      if (error instanceof OAuthError && !TEMPORARY.has(error.code)) {
        // A client that was registered by hand stays: the login says which authorization server may have its secret.
        if (UNKNOWN_CLIENT.has(error.code) && this.#definition.oauth?.clientId === undefined) {
          await this.#store.remove(this.#key);
        }
        throw this.#loginRequired(`no longer accepts the login${codeOf(error, record)}`, { cause: error });
      }
      throw new RemoteFailure('unreachable', 'could not renew the login: its authorization server does not respond', {
        cause: error,
      });
    } finally {
      http.close();
    }
  }

  #takeIfNew(record: LoginRecord | undefined, used: string | undefined): boolean {
    const isNew = record !== undefined && ![used, this.#unsaved?.spent].includes(bearerOf(record));
    if (isNew) {
      this.#unsaved = undefined;
      this.#take(record);
    }
    return isNew;
  }

  #take(record: LoginRecord | undefined): void {
    this.#isLoaded = true;
    this.#current = record === undefined ? undefined : bearerOf(record);
    this.#scope = record?.tokens.scope ?? '';
    const { access_token: access, refresh_token: refresh } = record?.tokens ?? {};
    this.#secrets = secretsOf({ secrets: [access ?? '', refresh ?? ''] });
  }

  #loginRequired(reason: string, { scope, cause }: { scope?: string | undefined; cause?: unknown } = {}): BridgeError {
    const { name, owner } = this.#definition;
    const link = owner === undefined ? undefined : this.#inviteLogin?.(this.#definition, scope);
    if (link !== undefined) {
      return new BridgeError('LOGIN_REQUIRED', `server '${name}' ${reason}`, {
        hint: `Open this link in your browser and log in there, then try again: ${link}`,
        data: { server: name, login_url: link },
        cause,
      });
    }
    const option = scope === undefined ? '' : ` --scope ${quoteShellWord(scope)}`;
    const command = `${COMMAND} servers login ${quoteShellWord(name)}${option}`;
    return new BridgeError('LOGIN_REQUIRED', `server '${name}' ${reason}`, {
      hint:
        owner === undefined
          ? `Run this in a terminal: ${command}`
          : `Each user logs in there separately. The operator of this bridge can start your login: ${command} --for ${quoteShellWord(owner.name)}`,
      data: { server: name },
      cause,
    });
  }
}

/** In parentheses; empty for anything but an error code as in RFC 6749, section 5.2, because it may repeat the refresh token. */
function codeOf({ code }: { readonly code: string }, { tokens }: LoginRecord): string {
  const isPlain = /^[a-z_]{1,40}$/.test(code) && ![tokens.access_token, tokens.refresh_token].includes(code);
  return isPlain ? ` (${code})` : '';
}

function bearerOf({ tokens }: LoginRecord): string {
  return `Bearer ${tokens.access_token}`;
}

/** Merges scopes. A challenge may repeat scopes that the login has (RFC 6750, section 3). */
function uniteScopes(...scopes: readonly string[]): string {
  return [...new Set(scopes.flatMap((scope) => scope.split(' ')))].filter((scope) => scope !== '').join(' ');
}
