/** Tokens that the host signs for each API that wants them (RFC 7519): a GitHub App, App Store Connect, a service of one's own. */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { BridgeError } from '../../../core/base/errors.ts';

export interface JwtSigning {
  readonly kind: 'jwt';
  readonly algorithm: string;
  /** A private key in PEM, or for HS256, HS384 and HS512 the secret. */
  readonly key: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly expiresSeconds: number;
  /** `authorization` by default. */
  readonly header?: string | undefined;
  readonly keyId?: string | undefined;
}

/** The clock of the API may be behind. Chosen. */
const ISSUED_BEFORE_S = 10;
/** A token that ends sooner is not used any more; of a short one, a quarter. Chosen: a request may wait for its turn. */
const LEFT_S = 60;
const SHORT_SHARE = 4;

/** Makes tokens, and makes a new one shortly before the last one ends. */
export class JwtSource {
  readonly #signing: JwtSigning;
  #kept: { readonly token: Promise<string>; readonly untilS: number } | undefined;

  constructor(signing: JwtSigning) {
    this.#signing = signing;
  }

  /** Rejects with `CONFIG_INVALID` if the key does not fit. */
  token(nowMs = Date.now()): Promise<string> {
    const nowS = Math.floor(nowMs / 1000);
    if (this.#kept === undefined || nowS >= this.#kept.untilS) {
      const { expiresSeconds } = this.#signing;
      const issuedS = nowS - Math.min(ISSUED_BEFORE_S, Math.floor(expiresSeconds / SHORT_SHARE));
      const untilS = issuedS + expiresSeconds - Math.min(LEFT_S, Math.floor(expiresSeconds / SHORT_SHARE));
      this.#kept = { token: this.#sign(issuedS), untilS };
    }
    return this.#kept.token;
  }

  async #sign(issuedS: number): Promise<string> {
    const { algorithm, claims, expiresSeconds, keyId } = this.#signing;
    try {
      return await new SignJWT({ ...claims })
        .setProtectedHeader({ alg: algorithm, typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) })
        .setIssuedAt(issuedS)
        .setExpirationTime(issuedS + expiresSeconds)
        .sign(keyOf(this.#signing));
    } catch {
      // Without the cause: messages about keys may quote them.
      throw new BridgeError(
        'CONFIG_INVALID',
        `The token of the entry could not be signed with ${algorithm.slice(0, 20)}.`,
        {
          hint: 'Check that "algorithm" fits the key, and that the key is a private key in PEM, or a secret for HS256.',
        },
      );
    }
  }
}

function keyOf({ algorithm, key }: JwtSigning): KeyObject | Uint8Array {
  return algorithm.startsWith('HS') ? Buffer.from(key) : createPrivateKey(key);
}
