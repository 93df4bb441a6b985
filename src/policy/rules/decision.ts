/** What a policy says of a call. */

import { type Decision, EFFECTS } from '../../calls/contract.ts';

/** A server as a policy looks at it. */
export interface PolicyServer {
  readonly name: string;
  readonly alias: string;
}

/** A tool as a policy looks at it, or a method of MCP that is none, such as `resources/read`. */
export interface PolicyTool {
  readonly name: string;
  readonly alias: string;
  /** What the server says of the tool (MCP `ToolAnnotations`); not to be trusted. */
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Whether this is a method for resources or prompts. */
  readonly isMethod?: boolean;
}

export interface PolicyCall {
  readonly server: PolicyServer;
  readonly tool: PolicyTool;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The stricter of two decisions, the first of two that are as strict. */
export function stricter(left: Decision, right: Decision): Decision {
  return EFFECTS.indexOf(right.effect) > EFFECTS.indexOf(left.effect) ? right : left;
}
