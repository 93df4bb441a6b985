/** The limits of the HTTP front. Some are settings (`MCP_BRIDGE_HTTP_…`), and tests lower them. */

const MIB = 1024 * 1024;

export interface HttpLimits {
  /** Connections of the whole process, and of those that have sent no token. One that waits for no answer gives way to a new one. */
  readonly maxConnections: number;
  readonly maxStrangers: number;
  /** Time for the headers of a request, and for all of it. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long an idle connection is kept. Longer than the 60 s for which proxies keep theirs, so that they close first. */
  readonly keepAliveTimeoutMs: number;
  readonly maxBodyBytes: number;
  /** Requests of one principal, on average over a few seconds; 0 for any number. */
  readonly maxRequestsPerSecond: number;
  /** Requests and streams of one principal that are open at once. */
  readonly maxOpenRequests: number;
  /** What the bodies of one principal's requests take in memory while they are not answered. One alone may be larger. */
  readonly maxOpenBodyBytes: number;
  /** Requests on one connection that wait for answers. What comes beyond that is dropped, and the connection ends. */
  readonly maxPipelined: number;
  /**
   * Principals and their profiles that have a bridge. The one that was unused longest gives way to another one. Each takes 0.9 MB
   * (measured with clients that only list the tools), and an issuer of OAuth may have any number of subjects.
   */
  readonly maxTenants: number;
  /** Connections of older protocol versions (`Mcp-Session-Id`) of one principal, and how long one may be unused. */
  readonly maxMcpSessions: number;
  readonly mcpSessionIdleMs: number;
  /** Bytes of answers that the clients of one principal have not read yet; beyond that, its cells wait. */
  readonly maxUnreadBytes: number;
  /** A client that reads less than `minReadBytes` in this time, while there is something to read, is cut off. */
  readonly stallMs: number;
  readonly minReadBytes: number;
  /** Interval of comments in a stream: proxies end one that is silent. The specification advises them. */
  readonly keepAliveCommentMs: number;
  /** Interval at which the tokens of open requests are checked again. */
  readonly recheckMs: number;
}

/** All chosen. */
export const HTTP_LIMITS: HttpLimits = {
  maxConnections: 1_024,
  maxStrangers: 256,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  maxBodyBytes: 4 * MIB,
  maxRequestsPerSecond: 200,
  maxOpenRequests: 64,
  maxOpenBodyBytes: 64 * MIB,
  maxPipelined: 8,
  maxTenants: 128,
  maxMcpSessions: 64,
  mcpSessionIdleMs: 3_600_000,
  maxUnreadBytes: 16 * MIB,
  stallMs: 30_000,
  minReadBytes: 64 * 1024,
  keepAliveCommentMs: 15_000,
  recheckMs: 1_000,
};
