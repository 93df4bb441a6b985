/** A call as policies see it. */
import type { Decision } from '../../../core/calls/contract.ts';

export interface PolicyServer {
  readonly name: string;
  readonly alias: string;
  /** See `CatalogServer.least`. */
  readonly least?: Decision | undefined;
}

/** A tool, or an MCP method such as `resources/read`. */
export interface PolicyTool {
  readonly name: string;
  readonly alias: string;
  /** The server's own claims about the tool (MCP `ToolAnnotations`); untrusted. */
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** True for a method for resources or prompts. */
  readonly isMethod?: boolean;
}

export interface PolicyCall {
  readonly server: PolicyServer;
  readonly tool: PolicyTool;
  readonly arguments: Readonly<Record<string, unknown>>;
}
