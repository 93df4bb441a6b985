/** How a person is asked whether a call may be made. */
import type { CallContext } from '../session/dispatch.ts';

/** A call that a policy does not decide alone. */
export interface CallToApprove {
  /** Name of the server, as configured. */
  readonly server: string;
  /** Exact name of the tool; for what is no tool the MCP method, such as `resources/read`. */
  readonly tool: string;
  /** As the server will get them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** What wants the person to be asked: the rule and its place, one clause. */
  readonly reason: string;
  /** The line of the cell that leads to the call, as the sandbox says. */
  readonly line?: number | undefined;
}

/** What a call is allowed by: an answer for it alone, or for all calls of its tool in the cell or in the session. */
export type Approval = 'once' | 'cell' | 'session';

export interface Approvals {
  /**
   * Resolves when the person allows the call, or has allowed it before. Rejects with `APPROVAL_DENIED`, `APPROVAL_TIMEOUT`, `APPROVAL_UNAVAILABLE`
   * when nobody can be asked, or `CALL_CANCELLED` when the call is given up meanwhile.
   */
  approve(call: CallToApprove, context: CallContext): Promise<Approval>;
}
