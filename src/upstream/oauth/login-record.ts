/** What is kept of a login, and where it is kept. */
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../base/is-object.ts';

/** One login at one server. Everything in it is secret. */
export interface LoginRecord {
  /** The `url` of the entry; a login is used for no other. */
  readonly url: string;
  readonly tokens: StoredOAuthTokens;
  /** Who the bridge is at the authorization server. */
  readonly client: StoredOAuthClientInformation;
  /** Address of the authorization server. */
  readonly authorizationServer: string;
  /** Its metadata as it gave them; undefined when it has none. */
  readonly metadata?: JsonObject | undefined;
  /** What tokens are asked for, when the server names it (RFC 8707). */
  readonly resource?: string | undefined;
  /** Where the browser was sent back to; the registration of the client is good for that. */
  readonly redirectUrl: string;
}

/** Whose login. */
export interface LoginKey {
  readonly name: string;
  readonly url: string;
}

/** Logins on disk, shared by all bridges of this user. */
export interface LoginStore {
  /** The login as it is now; undefined when there is none, or what is kept cannot be used. */
  load(key: LoginKey): Promise<LoginRecord | undefined>;
  /** Keeps it, for the owner alone. Rejects with `STATE_WRITE_FAILED`. */
  save(key: LoginKey, record: LoginRecord): Promise<void>;
  /** Whether there was one. */
  remove(key: LoginKey): Promise<boolean>;
  /** Runs `work` while no other process does so with this login. */
  exclusively<Value>(key: LoginKey, work: () => Promise<Value>): Promise<Value>;
}
