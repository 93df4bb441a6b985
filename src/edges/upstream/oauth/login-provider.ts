/** The bridge as an OAuth client of the SDK. What the SDK learns during a login stays in memory until the login succeeds. */
import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '../../../core/base/is-object.ts';
import type { RemoteDefinition } from '../../../core/base/server-definition.ts';
import { type IssuerRule, issuerOf } from './issuer-rule.ts';
import type { LoginRecord } from './login-store.ts';

export interface LoginProviderOptions {
  readonly state: string;
  readonly redirectUrl: string;
  /** The previous login, whose client registration may still be valid. */
  readonly before: LoginRecord | undefined;
  /** What the authorization server must be, according to the person or the last login. */
  readonly issuer: IssuerRule;
  /** Sends the browser to the address. Rejects if the address is not allowed. */
  readonly onAddress: (url: URL) => Promise<void>;
}

export class LoginProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  /** Undefined if the entry names no metadata document: then the bridge registers itself. */
  readonly clientMetadataUrl?: string;

  readonly #definition: RemoteDefinition;
  readonly #options: LoginProviderOptions;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #discovery: OAuthDiscoveryState | undefined;
  #resource: string | undefined;
  #verifier = '';

  constructor(definition: RemoteDefinition, options: LoginProviderOptions) {
    const { redirectUrl, before } = options;
    this.#definition = definition;
    this.#options = options;
    this.redirectUrl = redirectUrl;
    this.clientMetadata = {
      client_name: 'mcp-server-code-execution-mode',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: definition.oauth?.clientSecret === undefined ? 'none' : 'client_secret_post',
    };
    const documentUrl = definition.oauth?.clientMetadataUrl;
    if (documentUrl !== undefined) {
      this.clientMetadataUrl = documentUrl;
    }
    const isSame = documentUrl === undefined || before?.client.client_id === documentUrl;
    this.#client = before?.redirectUrl === redirectUrl && isSame ? before.client : undefined;
  }

  state(): string {
    return this.#options.state;
  }

  clientInformation(context?: OAuthClientInformationContext): StoredOAuthClientInformation | undefined {
    const { clientId, clientSecret } = this.#definition.oauth ?? {};
    if (clientId === undefined) {
      return this.#client;
    }
    const issuer = context?.issuer === undefined ? {} : { issuer: context.issuer };
    return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }), ...issuer };
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  redirectToAuthorization(url: URL): Promise<void> {
    return this.#options.onAddress(url);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  /** Called before anything is sent to the authorization server that the MCP server names. Throws if it must not be used. */
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#options.issuer.check(state);
    this.#discovery = state;
  }

  /** The issuer of the answer that the browser brought (RFC 9207). Throws if it is not the one that was asked. */
  checkAnswer(iss: string | null): void {
    if (this.#discovery !== undefined && iss !== null && iss !== issuerOf(this.#discovery)) {
      throw new Error(`the answer comes from another authorization server than ${issuerOf(this.#discovery)}`);
    }
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  saveResourceUrl(resource: string): void {
    this.#resource = resource;
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (scope === 'all' || scope === 'client') {
      this.#client = undefined;
    }
    this.#tokens = undefined;
  }

  /** The login as it is stored. Throws if the login did not succeed. */
  record(): LoginRecord {
    const client = this.clientInformation();
    if (this.#tokens === undefined || client === undefined || this.#discovery === undefined) {
      throw new Error('the authorization server returned no token');
    }
    if (!/^[\x21-\x7e]+$/.test(this.#tokens.access_token)) {
      throw new Error('the authorization server returned a token with characters that are invalid in a header');
    }
    const metadata = this.#discovery.authorizationServerMetadata as unknown as JsonObject | undefined;
    return {
      url: this.#definition.url,
      tokens: this.#tokens,
      client,
      authorizationServer: this.#discovery.authorizationServerUrl,
      ...(metadata === undefined ? {} : { metadata }),
      ...(this.#resource === undefined ? {} : { resource: this.#resource }),
      redirectUrl: this.redirectUrl,
    };
  }
}
