/**
 * Who sends requests over HTTP. Each principal has its own front, bridge and folder of state, so nothing of one can be named by
 * another. How a principal is recognized is for `tokens/`.
 */

export interface Principal {
  /** As the operator wrote it, or issuer and subject of OAuth; its folder is named after it. Undefined for everyone on this machine, if there are no tokens. */
  readonly name: string | undefined;
  /** The only profile that it may use; undefined for any, and for all servers. */
  readonly profile?: string | undefined;
  /** Names or patterns of the only servers that exist for it; undefined for all. */
  readonly servers?: readonly string[] | undefined;
  /** Live sessions at once; undefined for the default. */
  readonly maxSessions?: number | undefined;
}

/**
 * Why a request has no principal. With `subject`, the token is good, but its `sub` names no one; with `scope`, it allows too little; with
 * `unavailable`, it cannot be checked now.
 */
export type Unidentified = 'missing' | 'unknown' | 'expired' | 'subject' | 'scope' | 'unavailable';

/** `isValid` is asked again while requests are open: a token that was removed ends them. */
export type Identity =
  | { readonly principal: Principal; readonly isValid: () => Promise<boolean> }
  | { readonly refused: Unidentified };

/** Reads the header `Authorization`. Rejects if the tokens cannot be read: no request may then pass. */
export type Identify = (authorization: string | undefined) => Promise<Identity>;
