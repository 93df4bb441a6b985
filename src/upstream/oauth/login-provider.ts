/** What the SDK is told about the bridge during a login, and what it learns; kept in memory until the login succeeded. */
import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '../../base/is-object.ts';
import type { RemoteDefinition } from '../../base/server-definition.ts';
import type { LoginRecord } from './login-store.ts';

export interface LoginProviderOptions {
  readonly state: string;
  readonly redirectUrl: string;
  /** The login before this one, whose registration may be good still. */
  readonly before: LoginRecord | undefined;
  /** Rejects when the browser must not be sent there. */
  readonly onAddress: (url: URL) => Promise<void>;
}

export class LoginProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  /** Undefined when the entry names no document of its own: then the bridge registers itself. */
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

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
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

  /** What came of the login. Throws when it did not succeed. */
  record(): LoginRecord {
    const client = this.clientInformation();
    if (this.#tokens === undefined || client === undefined || this.#discovery === undefined) {
      throw new Error('the authorization server gave no token');
    }
    if (!/^[\x21-\x7e]+$/.test(this.#tokens.access_token)) {
      throw new Error('the authorization server gave a token that cannot stand in a header');
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
