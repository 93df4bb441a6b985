/** What the upstream part needs to know of a configured server. */
export type UpstreamDefinition = ProcessDefinition | RemoteDefinition;

interface CommonDefinition {
  /** Name in the configuration; the only name by which the server is known here. */
  readonly name: string;
  /** Longest time of one call; undefined leaves it to the caller. */
  readonly timeoutMs: number | undefined;
  /** Values of it that are secret whatever they are named; masked in everything the server says. */
  readonly secrets?: readonly string[] | undefined;
  /** Variables of the bridge's environment that it names, with their values. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
  /** Two definitions with the same hash start the same process, or speak to the same server in the same way. */
  readonly definitionHash: string;
  /** The file it stands in, for hints. */
  readonly file: string;
}

/** A server that is started here. */
export interface ProcessDefinition extends CommonDefinition {
  readonly url?: undefined;
  readonly headers?: undefined;
  readonly command: string;
  readonly args: readonly string[];
  /** Variables of the entry; their values are masked in every message. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** A server that runs elsewhere. */
export interface RemoteDefinition extends CommonDefinition {
  readonly command?: undefined;
  readonly args?: undefined;
  readonly env?: undefined;
  readonly cwd?: undefined;
  /** Absolute, `http:` or `https:`. */
  readonly url: string;
  /** `auto`: Streamable HTTP, or else the transport with server-sent events that came before it. */
  readonly transport: 'auto' | 'sse';
  /** Sent with each request; their values are masked in every message. */
  readonly headers: Readonly<Record<string, string>>;
  /** What a login there needs that the server does not tell. */
  readonly oauth?: OAuthSettings | undefined;
}

/** Of a client that was registered by hand at an authorization server. */
export interface OAuthSettings {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** `https:` address of a client metadata document. */
  readonly clientMetadataUrl?: string | undefined;
  /** Scopes to ask for, separated by spaces; those that the server names when undefined. */
  readonly scope?: string | undefined;
  /** Port of loopback that the client is registered with. */
  readonly callbackPort?: number | undefined;
}

/** A JSON object as it came off the wire: nothing about its members is known. */
export type JsonObject = Record<string, unknown>;
