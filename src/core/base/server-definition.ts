/** What it takes to start or reach a configured server. `servers/` reads it from files; `upstream/` acts on it. */
import type { EgressSource } from './egress.ts';
import type { Subcommand } from './subcommand.ts';

export type UpstreamDefinition = ProcessDefinition | RemoteDefinition;

interface CommonDefinition {
  /** The server's name in the configuration. */
  readonly name: string;
  /** Longest time for one call; undefined leaves it to the caller. */
  readonly timeoutMs: number | undefined;
  /** Values that are secret regardless of their names; masked in everything the server sends. */
  readonly secrets?: readonly string[] | undefined;
  /** Variables of the bridge's environment that the entry refers to, with their values; left out when there are none. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
  /** SHA-256 in hexadecimal of what is started, or of what is reached and how. The same hash means the same server. */
  readonly definitionHash: string;
  /** The file that holds the entry. */
  readonly file: string;
  /** Whose connection it is, if each principal has their own; undefined for a shared one. */
  readonly owner?: ServerOwner | undefined;
  /** Changes with the stored secrets that the entry refers to: a server that runs then starts again. */
  readonly secretsVersion?: string | undefined;
}

/** A principal for whom a server is started, with logins and secrets of its own. */
export interface ServerOwner {
  readonly name: string;
  /** Absolute path. */
  readonly folder: string;
}

/** A server that the bridge starts as a process. */
export interface ProcessDefinition extends CommonDefinition {
  readonly url?: undefined;
  readonly headers?: undefined;
  readonly keys?: undefined;
  readonly signing?: undefined;
  readonly egress?: undefined;
  readonly command: string;
  readonly args: readonly string[];
  /** Variables of the entry, added to the safe ones that every server inherits. Values may be secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute; undefined means the working directory of the bridge. */
  readonly cwd: string | undefined;
  /**
   * Set for a program that is no MCP server: by name, the tools whose calls run it once. They may change anything, unless
   * they say that they only read.
   */
  readonly subcommands?: Readonly<Record<string, Subcommand>> | undefined;
}

/** A server that is reached over HTTP. */
export interface RemoteDefinition extends CommonDefinition {
  readonly command?: undefined;
  readonly args?: undefined;
  readonly env?: undefined;
  readonly cwd?: undefined;
  /** Absolute, `http:` or `https:`. May hold a secret in its query. */
  readonly url: string;
  /** `auto`: Streamable HTTP, falling back to the older transport with server-sent events. */
  readonly transport: 'auto' | 'sse';
  /** Sent with each request. Values may be secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** What a login needs and the server does not advertise. */
  readonly oauth?: OAuthSettings | undefined;
  /** For an API that does not speak MCP: what its tools are made from. `url` is then where the API is. */
  readonly api?: ApiSource | undefined;
  /** What code may send to the API itself, through the host; undefined for nothing. */
  readonly egress?: EgressSource | undefined;
  /** For this: what the host puts in the place of placeholders, by the variable that has the placeholder in sandboxes. Secrets. */
  readonly keys?: Readonly<Record<string, string>> | undefined;
  /** For this: how the host signs requests, see `EgressSchema`; `kind` is `aws` or `jwt`. Values may be secrets. */
  readonly signing?: Readonly<Record<string, string>> | undefined;
}

/** Where the description of an API is. */
export interface ApiSource {
  /** `http`: there is no description, and its tools are the methods of HTTP. */
  readonly kind: 'openapi' | 'graphql' | 'http';
  /** An absolute path, or an address (`http:` or `https:`); undefined for `http`, and for a GraphQL API, which describes itself. */
  readonly description: string | undefined;
}

/** A client that was registered by hand at an authorization server. */
interface OAuthSettings {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** `https:` address of a client metadata document. */
  readonly clientMetadataUrl?: string | undefined;
  /** The only authorization server that may be used; when undefined, the first one is the only one that gets the secret. */
  readonly issuer?: string | undefined;
  /** Scopes to request, separated by spaces; those that the server advertises when undefined. */
  readonly scope?: string | undefined;
  /** The loopback port that the client is registered with. */
  readonly callbackPort?: number | undefined;
}
