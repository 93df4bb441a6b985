/** Finds the principal of a request by its token. */
import type { Identify, Identity } from '../server/http/principal.ts';
import { type StoredToken, TOKEN_PREFIX, type TokenFile } from './token-file.ts';

/** RFC 6750, section 2.1. The scheme has any case. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

interface IdentifyOptions {
  readonly isRequired: boolean;
  /** The only profile for all. */
  readonly profile?: string | undefined;
  /** Whose a token is that the bridge has not made. Without it, there are no others. */
  readonly identifyOthers?: ((token: string) => Promise<Identity>) | undefined;
}

/**
 * Once there was a token, requests need one, even if all were removed. Without any, everyone who can connect is the user of this
 * machine, unless `isRequired`.
 */
export function createIdentify(
  tokens: TokenFile,
  { isRequired, profile: ofAll, identifyOthers }: IdentifyOptions,
): Identify {
  let wasRequired = isRequired;
  return async (authorization): Promise<Identity> => {
    wasRequired ||= (await tokens.list()) !== undefined;
    if (!wasRequired) {
      return {
        principal: { name: undefined, profile: ofAll },
        isValid: async () => (await tokens.list()) === undefined,
      };
    }
    const sent = BEARER.exec(authorization ?? '')?.[1];
    if (sent === undefined) {
      return { refused: authorization === undefined ? 'missing' : 'unknown' };
    }
    if (identifyOthers !== undefined && !sent.startsWith(TOKEN_PREFIX)) {
      return identifyOthers(sent);
    }
    const token = await tokens.find(sent);
    if (token === undefined) {
      return { refused: 'unknown' };
    }
    if (isExpired(token)) {
      return { refused: 'expired' };
    }
    const { name, max_sessions: maxSessions, profile = ofAll, servers, sha256 } = token;
    const isValid = async (): Promise<boolean> => {
      const now = (await tokens.list())?.find((one) => one.sha256 === sha256);
      return now !== undefined && !isExpired(now);
    };
    return { principal: { name, maxSessions, profile, servers }, isValid };
  };
}

export function isExpired({ expires_at: expiresAt }: Pick<StoredToken, 'expires_at'>): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= Date.now();
}
