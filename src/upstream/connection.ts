/** What a connection to one server is, however it is reached. */
import type { CancelSignal } from '../base/cancel.ts';
import type { BridgeError } from '../base/errors.ts';
import type { JsonObject } from '../base/is-object.ts';
import type { Logger } from '../base/log.ts';
import type { ElicitationOffer } from './elicit.ts';
import type { Guardian } from './guardian.ts';
import type { LoginStore } from './oauth/login-record.ts';
import type { Answer, RequestLimits } from './requests.ts';
import type { ServerExit } from './server-process.ts';
import type { UpstreamTool } from './tool-list.ts';
import type { AdmittedTools } from './transport.ts';

/** What a server said about itself, and where it runs. */
export interface ServerInfo {
  readonly name: string;
  /** For example `2025-11-25`. */
  readonly protocolVersion: string;
  readonly serverName: string | undefined;
  readonly serverVersion: string | undefined;
  readonly instructions: string | undefined;
  readonly capabilities: JsonObject;
  /** Undefined for a server that runs elsewhere, as `pid` is. */
  readonly cwd: string | undefined;
  readonly pid: number | undefined;
}

export interface ServerConnection {
  readonly info: ServerInfo;
  /** Resolves when the server is gone, for whatever reason. Never rejects. */
  readonly exited: Promise<ServerExit>;
  isOpen(): boolean;
  /**
   * Rejects with `RequestError`, with the `BridgeError`s `SERVER_EXITED`, `SERVER_UNREACHABLE`, `SERVER_PROTOCOL` and
   * `LOGIN_REQUIRED`, and with `SessionLostError`.
   */
  request(method: string, params: JsonObject, limits: RequestLimits): Promise<Answer>;
  /** As `request`, but gives the line of the response unread. */
  requestLine(method: string, params: JsonObject, limits: RequestLimits): Promise<Buffer>;
  /**
   * Looks at the tools that the server listed, of which a call may need to know; gives those that may be called. Undefined where a call
   * needs to know nothing.
   */
  readonly admitTools?: ((tools: readonly UpstreamTool[]) => AdmittedTools) | undefined;
  /** `SERVER_EXITED` for this end, with the end of stderr. */
  failureOf(exit: ServerExit): BridgeError;
  close(): Promise<void>;
}

/** `resolved`: what its entry refers to was put in; `started`: its process runs; `ready`: hands were shaken. */
export type StartStep = 'resolved' | 'started' | 'ready';

export interface ConnectOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly guardian: Guardian;
  readonly logger: Logger;
  readonly startTimeoutMs: number;
  /** Time a server has to answer `server/discover` before it is asked to `initialize`. */
  readonly probeTimeoutMs: number;
  /** Ends the start; the process is stopped. */
  readonly signal: CancelSignal;
  /** Logins at remote servers; undefined where there are none. */
  readonly logins: LoginStore | undefined;
  /** Hashes of definitions whose server ends when it is asked for `server/discover`. Read and added to. */
  readonly legacyServers: Set<string>;
  /** Called for each `notifications/tools/list_changed`. */
  readonly onToolsChanged: () => void;
  /** Whether secrets of the entry are masked in what the server says. */
  readonly masksSecrets: boolean;
  /** Told how far a start is; a step may come twice when the server has to be asked in another way. */
  readonly onStep?: ((step: StartStep) => void) | undefined;
  /** What the server is told that it may ask the person; looked at when it starts. */
  readonly elicitation: () => ElicitationOffer;
}

/** The server forgot the session of this connection and did nothing: the request may be sent again on another. */
export class SessionLostError extends Error {
  /** What to say when that fails too. */
  readonly failure: BridgeError;

  constructor(failure: BridgeError) {
    super(failure.message);
    this.failure = failure;
  }
}
