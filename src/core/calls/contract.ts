/**
 * The contract of a call: what code asks a server to do, what a gate may answer, and the outcome. The core makes calls by
 * this contract without knowing the gates; features such as policies, pins and the audit log plug in as gates.
 */
import type { CatalogServer, ToolChange } from '../catalog/known.ts';
import type { CallContext } from '../session/dispatch.ts';

/** A tool, or an MCP method such as `resources/read`, which gates treat as a tool of that name. */
export interface CalledTool {
  /** Exact name at the server. */
  readonly name: string;
  /** Name in Python. */
  readonly alias: string;
  /** The server's claims about the tool (MCP `ToolAnnotations`); not trusted. */
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** Whether this is a method for resources or prompts rather than a tool. */
  readonly isMethod?: boolean;
  /** How its definition differs from the accepted one; undefined if it does not. */
  readonly change?: ToolChange | undefined;
}

/** One call of an existing tool of a loaded server. */
export interface ToolCall {
  readonly server: CatalogServer;
  readonly tool: CalledTool;
  /** As the server will receive them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Line of the cell that made the call, according to the sandbox. */
  readonly line?: number | undefined;
  /** Whether the code wants the progress that the server reports. */
  readonly wantsProgress?: boolean | undefined;
  /** Whether nothing may change: see `isSent`. */
  readonly isDryRun?: boolean | undefined;
  readonly context: CallContext;
}

/** From the mildest to the strictest. With `ask`, a person decides; with `dry-run`, a stand-in is the answer. */
export const EFFECTS = ['allow', 'ask', 'dry-run', 'deny'] as const;
export type Effect = (typeof EFFECTS)[number];

/** The decision about a call before any person is asked. */
export interface Decision {
  readonly effect: Effect;
  /** The rule that decided and where it is; one clause for people. */
  readonly reason: string;
}

/**
 * How far a person's permission reaches: this call, every call of its tool in the cell or the session, or what a schedule may do
 * without a person.
 */
export type Approval = 'once' | 'cell' | 'session' | 'schedule';

/** Who decided about a call. Each gate adds what it knows to the outcome it returns. */
export interface CallFacts {
  readonly decision?: Decision | undefined;
  readonly approval?: Approval | undefined;
  /** Milliseconds that the call waited for a person to decide; undefined if none had to. */
  readonly waitedMs?: number | undefined;
  /** Whether a stand-in took the place of the server's answer. */
  readonly isDryRun?: boolean | undefined;
  /** Whether it is the answer of an interrupted run that goes on, so that nothing was sent. */
  readonly isResumed?: boolean | undefined;
}

/** The outcome of a call: the server's answer, or the reason why there is none. */
export type CallOutcome = CallFacts &
  ({ readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly error: unknown });

/** Passes a call on: to the next gate, or to the server. Never rejects, and never throws. */
export type PassOn = (call: ToolCall) => Promise<CallOutcome>;

/**
 * Judges every call. A gate allows a call by returning the outcome of `next`, changes it by passing another call to `next`,
 * and refuses it with `failed(error)`. It calls `next` at most once, never writes on the call, and informs other gates only
 * through the outcome.
 */
export type CallGate = (call: ToolCall, next: PassOn) => Promise<CallOutcome>;

/** A call that reached no gate: its server is not loaded, or there is no such server or tool. */
export interface UnmadeCall {
  readonly server: string;
  readonly tool: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly context: CallContext;
}

/** A call that a policy lets a person decide. */
export interface CallToApprove {
  /** Name of the server, as configured. */
  readonly server: string;
  /** Exact name of the tool, or an MCP method such as `resources/read`. */
  readonly tool: string;
  /** Its name in Python. */
  readonly alias: string;
  /** As the server will receive them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Names of the arguments that the tool declares, the required ones first. */
  readonly parameters: readonly string[];
  /** The rule that asks for approval and where it is; one clause. */
  readonly reason: string;
  /** Line of the cell that made the call, according to the sandbox. */
  readonly line?: number | undefined;
}

export interface Approvals {
  /**
   * Resolves if the person allows the call, or has allowed it before. Rejects with `APPROVAL_DENIED`,
   * `APPROVAL_TIMEOUT`, `APPROVAL_UNAVAILABLE` if no one can be asked, or `CALL_CANCELLED` if the call is cancelled first.
   */
  approve(call: CallToApprove, context: CallContext): Promise<Approval>;
}

/** Whether the server gets the call: in a dry run, it gets only calls of tools that it marks as read-only. */
export function isSent({ isDryRun, tool }: ToolCall): boolean {
  return isDryRun !== true || isReadOnly(tool);
}

/** Whether it only reads, according to its server. Methods for resources and prompts do. */
export function isReadOnly({ annotations, isMethod }: Pick<CalledTool, 'annotations' | 'isMethod'>): boolean {
  return isMethod === true || annotations?.['readOnlyHint'] === true;
}

export function succeeded(result: unknown): CallOutcome {
  return { ok: true, result };
}

export function failed(error: unknown): CallOutcome {
  return { ok: false, error };
}
