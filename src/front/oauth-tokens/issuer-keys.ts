/**
 * The public keys of an issuer: found by its metadata (RFC 8414, or OpenID Connect Discovery), and read again when they are old or a
 * token names one that is not among them. Strangers choose what a token names, so there is a limit on how often.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { messageOf } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import type { Logger } from '../../core/base/log.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';

/** How long a key that the issuer has removed may still be used. Chosen. */
const MAX_AGE_MS = 300_000;
/** After a request, successful or not, the next one waits for so long. Chosen: a new key is found soon, and no one can cause a flood. */
const COOLDOWN_MS = 15_000;
const TIMEOUT_MS = 5_000;
/** Metadata and keys take a few KiB. */
const MAX_BYTES = 512 * 1024;

/** The keys cannot be read, so nothing can be said about a token. */
export class IssuerUnavailable extends Error {}

export interface IssuerKeysOptions {
  /** As configured; what the metadata says must be the same. */
  readonly issuer: string;
  readonly logger: Logger;
  readonly nowMs?: (() => number) | undefined;
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

export class IssuerKeys {
  readonly #issuer: string;
  readonly #logger: Logger;
  readonly #nowMs: () => number;
  #jwksUrl: URL | undefined;
  #keys: { readonly find: KeySet; readonly atMs: number } | undefined;
  #hasFailed = false;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor({ issuer, logger, nowMs = () => performance.now() }: IssuerKeysOptions) {
    this.#issuer = issuer;
    this.#logger = logger;
    this.#nowMs = nowMs;
  }

  /** The key that a token names. Rejects with `IssuerUnavailable`, or with an error of `jose` if there is no such key. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.#current() === undefined) {
      await this.#read();
    }
    const keys = this.#current();
    if (keys === undefined) {
      throw new IssuerUnavailable();
    }
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) {
        throw error;
      }
      // The issuer may have a new key since the last time.
      await this.#read();
      if (this.#hasFailed) {
        throw new IssuerUnavailable();
      }
      return (this.#current() ?? keys)(header, token);
    }
  };

  #current(): KeySet | undefined {
    return this.#keys !== undefined && this.#nowMs() - this.#keys.atMs < MAX_AGE_MS ? this.#keys.find : undefined;
  }

  /** Requests that wait at the same time share one. Never rejects. */
  async #read(): Promise<void> {
    if (this.#reading === undefined && this.#nowMs() - this.#triedAtMs < COOLDOWN_MS) {
      return;
    }
    this.#reading ??= this.#readNow().finally(() => {
      this.#triedAtMs = this.#nowMs();
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #readNow(): Promise<void> {
    try {
      this.#jwksUrl ??= await this.#findKeys();
      const set = await readJson(this.#jwksUrl);
      this.#hasFailed = false;
      this.#keys = { find: createLocalJWKSet(set as unknown as JSONWebKeySet), atMs: this.#nowMs() };
    } catch (error) {
      this.#hasFailed = true;
      // The address may have changed.
      this.#jwksUrl = undefined;
      this.#logger.warning(
        `The keys of the OAuth issuer ${this.#issuer} could not be read, so its tokens cannot be checked: ${messageOf(error)}. Check MCP_BRIDGE_HTTP_OAUTH_ISSUER, and whether this machine reaches it.`,
      );
    }
  }

  async #findKeys(): Promise<URL> {
    const faults: string[] = [];
    for (const address of metadataAddresses(this.#issuer)) {
      try {
        const { issuer, jwks_uri: uri } = await readJson(address);
        if (issuer !== this.#issuer) {
          throw new Error('it names another issuer');
        }
        if (typeof uri !== 'string' || !URL.canParse(uri) || !isSafe(new URL(uri), this.#issuer)) {
          throw new Error('it has no "jwks_uri" with https:');
        }
        return new URL(uri);
      } catch (error) {
        faults.push(`${address.href}: ${messageOf(error)}`);
      }
    }
    throw new Error(faults.join('; '));
  }
}

/** RFC 8414, section 3.1, and OpenID Connect Discovery 1.0, section 4. */
function metadataAddresses(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const names = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(names)].map((name) => new URL(name, origin));
}

/** An issuer for tests may have http: on this machine; its keys then may, too. */
function isSafe(url: URL, issuer: string): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && new URL(issuer).origin === url.origin);
}

async function readJson(url: URL): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    headers: { Accept: 'application/json' },
    // Whoever can redirect could choose the keys.
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw new Error(error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error));
  });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw new Error(`HTTP ${response.status}`);
  }
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) {
      throw new Error(`the answer has more than ${MAX_BYTES.toLocaleString('en-US')} bytes`);
    }
    pieces.push(piece);
  }
  const read = readUntrusted(Buffer.concat(pieces), JSON_BOUNDS.publication);
  if (!read.ok || !isObject(read.value)) {
    throw new Error(`the answer is ${read.ok ? 'not an object' : read.reason}`);
  }
  return read.value;
}
