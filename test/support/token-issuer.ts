/** An OAuth issuer on loopback: its metadata, its keys, and tokens with any header and claims. */
import { randomUUID } from 'node:crypto';
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { startHttp } from './http-servers.ts';

export interface TokenIssuer {
  /** `http://127.0.0.1:PORT/tenant`. */
  readonly issuer: string;
  /** The paths that were requested, in order. */
  readonly requested: string[];
  /** A token as it should be, with other claims and another header as given. */
  token(claims?: JWTPayload, header?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Has a new key from now on, and no other. */
  rotate(): Promise<void>;
  /** The public key as PEM. */
  publicKey(): Promise<string>;
  /** Answers 500 to everything. */
  breakDown(): void;
  repair(): void;
}

interface IssuerOptions {
  /** Members of the metadata to replace. */
  readonly metadata?: (issuer: string) => Readonly<Record<string, unknown>>;
  /** The only metadata that it has: that of OAuth by default. */
  readonly kind?: 'oauth' | 'openid';
}

export const AUDIENCE = 'https://mcp.example.com/mcp';
const PATHS = {
  oauth: '/.well-known/oauth-authorization-server/tenant',
  openid: '/tenant/.well-known/openid-configuration',
};

export async function startTokenIssuer({ metadata, kind = 'oauth' }: IssuerOptions = {}): Promise<TokenIssuer> {
  const requested: string[] = [];
  let isBroken = false;
  let issuer = '';
  const newKey = async () => ({ ...(await generateKeyPair('RS256', { extractable: true })), kid: randomUUID() });
  let key = await newKey();
  const server = await startHttp(async (request, response) => {
    requested.push(request.url ?? '');
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    };
    if (isBroken) {
      answer(500, {});
    } else if (request.url === PATHS[kind]) {
      answer(200, { issuer, jwks_uri: `${issuer}/keys`, ...metadata?.(issuer) });
    } else if (request.url === '/tenant/keys') {
      const { kid, publicKey } = key;
      answer(200, { keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' }] });
    } else {
      answer(404, {});
    }
  });
  issuer = `${server.origin}/tenant`;
  return {
    issuer,
    requested,
    async token(claims = {}, header = {}) {
      const seconds = Math.floor(Date.now() / 1000);
      const usual = { iss: issuer, aud: AUDIENCE, sub: 'alice', iat: seconds, exp: seconds + 300, scope: 'mcp' };
      const payload = Object.fromEntries(
        Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined),
      );
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'RS256', kid: key.kid, typ: 'at+jwt', ...header })
        .sign(key.privateKey);
    },
    async rotate() {
      key = await newKey();
    },
    publicKey: () => exportSPKI(key.publicKey),
    breakDown: () => {
      isBroken = true;
    },
    repair: () => {
      isBroken = false;
    },
  };
}
