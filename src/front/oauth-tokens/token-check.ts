/**
 * Checks an access token: signature, issuer, audience, time and scopes (RFC 9068, section 4). Whoever it stands for is named by issuer
 * and subject. A token is neither logged nor passed on, and nothing of it is in any answer.
 */
import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { Logger } from '../../core/base/log.ts';
import type { Identity } from '../server/http/principal.ts';
import { IssuerKeys, IssuerUnavailable } from './issuer-keys.ts';

/** Only with public keys: a token "signed" with a public key as an HMAC secret, or not at all, has another algorithm. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Longer ones are refused unread. Chosen: those with hundreds of groups have about half. */
const MAX_TOKEN_CHARS = 8 * 1024;
/** How far clocks may differ. Chosen. */
const CLOCK_TOLERANCE_S = 30;
/**
 * What is open when the last token of a principal expires may go on for so long: clients ask for a new token with their next request,
 * and tokens of a few minutes are usual. Chosen, longer than any cell by default.
 */
const OPEN_MS = 600_000;
/** OpenID Connect Core, section 2. */
const MAX_SUBJECT_CHARS = 255;
/** Before subjects whose tokens have expired are forgotten. Chosen. */
const MAX_REMEMBERED = 10_000;

export interface TokenCheckOptions {
  /** `iss` of every token. */
  readonly issuer: string;
  /** One of them must be in `aud`. */
  readonly audience: readonly string[];
  /** All of them must be in `scope`. */
  readonly scopes: readonly string[];
  /** The only profile that whoever comes may use. */
  readonly profile: string | undefined;
  readonly logger: Logger;
  /** Of the keys; for tests. */
  readonly nowMs?: (() => number) | undefined;
}

/** Never rejects. */
export function createTokenCheck(options: TokenCheckOptions): (token: string) => Promise<Identity> {
  const { audience, issuer, profile, scopes } = options;
  const keys = new IssuerKeys(options);
  /** When the latest token of each principal expires. */
  const expiries = new Map<string, number>();

  return async (token) => {
    if (token.length > MAX_TOKEN_CHARS) {
      return { refused: 'unknown' };
    }
    let payload: JWTPayload;
    try {
      ({ payload } = await jwtVerify(token, keys.find, {
        issuer,
        audience: [...audience],
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: ['exp', 'sub'],
      }));
    } catch (error) {
      return { refused: whyRefused(error) };
    }
    const name = principalOf(issuer, payload.sub);
    if (name === undefined) {
      return { refused: 'subject' };
    }
    if (!scopes.every((scope) => scopesOf(payload).includes(scope))) {
      return { refused: 'scope' };
    }
    remember(expiries, name, (payload.exp ?? 0) * 1000);
    const isValid = async (): Promise<boolean> => (expiries.get(name) ?? 0) + OPEN_MS > Date.now();
    return { principal: { name, profile }, isValid };
  };
}

function whyRefused(error: unknown): 'unavailable' | 'expired' | 'unknown' {
  if (error instanceof IssuerUnavailable) {
    return 'unavailable';
  }
  return error instanceof errors.JWTExpired ? 'expired' : 'unknown';
}

/**
 * The same person at two issuers is two principals. No operator can give such a name to a token, and it cannot stand for another subject:
 * an issuer has no fragment (RFC 8414, section 2). Undefined for what cannot be shown in a log, and for what is no text: the library that
 * checks the token does not look, and `["alice"]` would become `alice`.
 */
function principalOf(issuer: string, subject: unknown): string | undefined {
  const isPlain =
    typeof subject === 'string' &&
    subject !== '' &&
    subject.length <= MAX_SUBJECT_CHARS &&
    !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(subject);
  return isPlain ? `${issuer}#${subject}` : undefined;
}

/** `scope` of RFC 9068, or `scp` as some issuers write it. */
function scopesOf({ scope, scp }: JWTPayload): readonly unknown[] {
  const given = scope ?? scp;
  return typeof given === 'string' ? given.split(' ') : Array.isArray(given) ? given : [];
}

function remember(expiries: Map<string, number>, name: string, expiresAtMs: number): void {
  if (expiries.size >= MAX_REMEMBERED) {
    for (const [other, atMs] of expiries) {
      if (atMs + OPEN_MS <= Date.now()) {
        expiries.delete(other);
      }
    }
  }
  expiries.set(name, Math.max(expiresAtMs, expiries.get(name) ?? 0));
}
