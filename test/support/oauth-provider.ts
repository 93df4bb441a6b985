/**
 * A protected MCP server and its authorization server on loopback: metadata, dynamic registration, client metadata documents,
 * PKCE, resource indicators, single-use refresh tokens. It checks what a careful provider checks.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '../../src/edges/upstream/pool.ts';
import { type HttpServerHandle, type MiniServerOptions, startHttp, startMini } from './http-servers.ts';

export interface OAuthOptions {
  /** Members of the authorization server's metadata to replace. */
  readonly metadata?: (origin: string) => JsonObject;
  /** Members of the protected resource's metadata to replace. */
  readonly resource?: (origin: string) => JsonObject;
  /** Preregistered clients, with their secrets. */
  readonly clients?: Readonly<Record<string, string>>;
  /** Whether the person refuses. */
  readonly refuses?: boolean;
  /** Whether the server refuses every token. */
  readonly acceptsNothing?: boolean;
  /** `WWW-Authenticate` of the server, instead of a good one. */
  readonly challenge?: string;
  /** Whether only tool calls need a token. */
  readonly protectsCallsOnly?: boolean;
  /** Whether only GET is protected and POST is unknown, as on a server that has only the older transport. */
  readonly isOldTransport?: boolean;
  /** The issuer that the browser returns with. */
  readonly returnedIssuer?: string;
  /** Members of the token response to replace. */
  readonly tokens?: JsonObject;
  /** Returns the status and body with which the token endpoint refuses a refresh token, or undefined to accept it. */
  readonly refusal?: () => readonly [status: number, body: JsonObject] | undefined;
  /** The answer to a call with a valid token; a result by default. */
  readonly onCall?: MiniServerOptions['onCall'];
}

export interface OAuthProvider {
  /** Address of the MCP server. */
  readonly url: string;
  readonly mcp: HttpServerHandle;
  readonly provider: HttpServerHandle;
  /** The requests so far, in order: `register`, `authorize`, `token:authorization_code`, `token:refresh_token`. */
  readonly log: string[];
  /** Invalidates the access tokens. */
  expire(): void;
  /** Invalidates the refresh tokens, too. */
  revoke(): void;
  /** Forgets the registered clients and their tokens. */
  forgetClients(): void;
}

interface Code {
  readonly challenge: string;
  readonly client: string;
  readonly redirect: string;
  readonly resource: string | null;
}

/** State of one provider. */
class Provider {
  readonly log: string[] = [];
  readonly access = new Set<string>();
  readonly refresh = new Map<string, string>();
  readonly codes = new Map<string, Code>();
  readonly registered = new Map<string, readonly string[]>();
  readonly options: OAuthOptions;
  /** Set when the servers listen. */
  origin = '';
  resourceUrl = '';

  constructor(options: OAuthOptions) {
    this.options = options;
  }

  issue(client: string): JsonObject {
    const [accessToken, refreshToken] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    this.access.add(accessToken);
    this.refresh.set(refreshToken, client);
    return {
      access_token: accessToken,
      refresh_token: refreshToken,
      token_type: 'Bearer',
      expires_in: 3_600,
      scope: 'tools',
      ...this.options.tokens,
    };
  }
}

/** Both servers. They stop when the test ends. */
export async function startOAuth(options: OAuthOptions = {}): Promise<OAuthProvider> {
  const state = new Provider(options);
  const provider = await startHttp((request, response) => serveProvider(state, request, response));
  state.origin = provider.origin;
  const mcp = await startMini({
    sessions: new Set(),
    ...(options.onCall === undefined ? {} : { onCall: options.onCall }),
    before: ({ request, response, message }) => guardResource(state, request, response, message),
  });
  state.resourceUrl = mcp.url;
  return {
    url: mcp.url,
    mcp,
    provider,
    log: state.log,
    expire: () => state.access.clear(),
    revoke() {
      state.access.clear();
      state.refresh.clear();
    },
    forgetClients() {
      state.access.clear();
      state.refresh.clear();
      state.registered.clear();
    },
  };
}

/** Whether the request was answered. Metadata is public; everything else needs a token. */
function guardResource(
  state: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  message: JsonObject,
): boolean {
  const origin = new URL(state.resourceUrl).origin;
  if (request.url?.startsWith('/.well-known/oauth-protected-resource') === true) {
    const metadata = {
      resource: state.resourceUrl,
      authorization_servers: [state.origin],
      scopes_supported: ['tools'],
    };
    sendJson(response, 200, { ...metadata, ...state.options.resource?.(state.origin) });
    return true;
  }
  const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
  if (state.access.has(token) && state.options.acceptsNothing !== true) {
    return false;
  }
  const { protectsCallsOnly, isOldTransport } = state.options;
  if (protectsCallsOnly === true && message['method'] !== 'tools/call') {
    return false;
  }
  if (isOldTransport === true && request.method === 'POST') {
    response.writeHead(404).end();
    return true;
  }
  const usual = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="tools"`;
  response.writeHead(401, { 'www-authenticate': state.options.challenge ?? usual }).end();
  return true;
}

async function serveProvider(state: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '', state.origin);
  switch (url.pathname) {
    case '/.well-known/oauth-authorization-server':
      sendJson(response, 200, { ...metadataOf(state.origin), ...state.options.metadata?.(state.origin) });
      return;
    case '/register':
      register(state, JSON.parse(await readText(request)) as JsonObject, response);
      return;
    case '/authorize':
      authorize(state, url.searchParams, response);
      return;
    case '/token':
      exchange(state, new URLSearchParams(await readText(request)), response);
      return;
    default:
      response.writeHead(404).end();
  }
}

function metadataOf(origin: string): JsonObject {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}

function register(state: Provider, client: JsonObject, response: ServerResponse): void {
  const id = `client-${randomUUID()}`;
  state.log.push('register');
  state.registered.set(id, client['redirect_uris'] as string[]);
  sendJson(response, 201, { ...client, client_id: id });
}

/** A person who is logged in and agrees at once, or refuses. */
function authorize(state: Provider, parameters: URLSearchParams, response: ServerResponse): void {
  const client = parameters.get('client_id') ?? '';
  const redirect = parameters.get('redirect_uri') ?? '';
  const isKnown = client in (state.options.clients ?? {}) || client.startsWith('https://');
  const isAllowed = state.registered.get(client)?.includes(redirect) ?? isKnown;
  if (!isAllowed || parameters.get('code_challenge_method') !== 'S256') {
    response.writeHead(400).end('bad client, redirect_uri or challenge');
    return;
  }
  state.log.push('authorize');
  const target = new URL(redirect);
  target.searchParams.set('state', parameters.get('state') ?? '');
  target.searchParams.set('iss', state.options.returnedIssuer ?? state.origin);
  if (state.options.refuses === true) {
    target.searchParams.set('error', 'access_denied');
  } else {
    const code = randomUUID();
    const challenge = parameters.get('code_challenge') ?? '';
    state.codes.set(code, { challenge, client, redirect, resource: parameters.get('resource') });
    target.searchParams.set('code', code);
  }
  response.writeHead(302, { location: target.href }).end();
}

function exchange(state: Provider, form: URLSearchParams, response: ServerResponse): void {
  const grant = form.get('grant_type') ?? '';
  state.log.push(`token:${grant}`);
  const client = form.get('client_id') ?? '';
  const secret = state.options.clients?.[client];
  const refusal = grant === 'refresh_token' ? state.options.refusal?.() : undefined;
  if (refusal !== undefined) {
    sendJson(response, ...refusal);
    return;
  }
  const isGranted =
    form.get('resource') === state.resourceUrl &&
    (secret === undefined || form.get('client_secret') === secret) &&
    (grant === 'refresh_token' ? spendRefreshToken(state, form, client) : spendCode(state, form, client));
  if (isGranted) {
    sendJson(response, 200, state.issue(client));
  } else {
    const isClient = secret !== undefined || state.registered.has(client) || client.startsWith('https://');
    sendJson(response, 400, { error: isClient ? 'invalid_grant' : 'invalid_client' });
  }
}

/** A refresh token that is used twice may be stolen, so all of them are revoked. */
function spendRefreshToken(state: Provider, form: URLSearchParams, client: string): boolean {
  const isGood = state.refresh.get(form.get('refresh_token') ?? '') === client;
  if (isGood) {
    state.refresh.delete(form.get('refresh_token') ?? '');
  } else {
    state.refresh.clear();
    state.access.clear();
  }
  return isGood;
}

function spendCode(state: Provider, form: URLSearchParams, client: string): boolean {
  const code = state.codes.get(form.get('code') ?? '');
  state.codes.delete(form.get('code') ?? '');
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  return (
    code?.challenge === challenge &&
    code.client === client &&
    code.redirect === form.get('redirect_uri') &&
    code.resource === state.resourceUrl
  );
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
