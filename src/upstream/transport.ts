/** What both kinds of connection to a server are: a process with pipes, or a place on the network. */
import type { Transport } from '@modelcontextprotocol/client';
import type { ServerExit } from './server-process.ts';
import type { UpstreamTool } from './tool-list.ts';

/** The tools of a list that may be called on a connection, and a notice for each other one. */
export interface AdmittedTools {
  readonly tools: readonly UpstreamTool[];
  readonly notices: readonly string[];
}

export interface ServerTransport extends Transport {
  /** Resolves when the connection is gone and what had come was read. Never rejects. */
  readonly exited: Promise<ServerExit>;
  /** Number of the process, if it is one that was started here. */
  readonly pid?: number | null;
  /** Whether the server ended without being asked to. */
  readonly endedItself: boolean;
  /** Whether new messages are refused while answers still come; a new connection is needed for them. */
  readonly isLost?: boolean;
  /** Takes note of what calls of these tools repeat in headers; gives those that may be called. Only over HTTP. */
  admitTools?(tools: readonly UpstreamTool[]): AdmittedTools;
  /** The last lines the server wrote to stderr; empty when it has none here. */
  lastStderrLines(): string;
}
