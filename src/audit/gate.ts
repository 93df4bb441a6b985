/** Records each tool call: who called what, what was decided, and how it ended. */
import { type BridgeError, type ErrorCode, toBridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import { type CallGate, type CallOutcome, failed, type NoteUnmade, type ToolCall } from '../calls/contract.ts';
import { parametersOf } from '../catalog/parameters.ts';
import { jsonBytes, shapeOfArguments } from './shape.ts';
import type { AuditTrail, EndedCall } from './trail.ts';

/** Names of servers and tools that may not exist, as the sandbox sent them, are cut to this length. Chosen. */
const MAX_NAME_CHARS = 200;

/** The outermost gate, so that it records calls that any other gate refused. */
export function createAuditGate(trail: Pick<AuditTrail, 'callEnded' | 'keepRoom'>): CallGate {
  return async (call, next) => {
    const { context, server, tool } = call;
    const startedAt = Date.now();
    const start = performance.now();
    // Before the call, because the arguments may be large and should not be kept.
    const shape = shapeOfArguments(call.arguments, parametersOf(tool.inputSchema).names);
    const room = trail.keepRoom(context.session);
    const refusal = await room?.then(() => undefined, failed);
    const outcome = refusal ?? (await next(call));
    const { errorCode, isRefused, resultBytes } = endOf(outcome);
    const { isDryRun, isResumed } = outcome;
    // Written out: with spreads, 1,000 calls at once took a fifth longer (measured).
    const ended: EndedCall = {
      session: context.session,
      generation: context.generation,
      cell: context.cell,
      call: context.call,
      job: context.job,
      server: server.name,
      tool: tool.name,
      shape,
      decision: outcome.decision,
      approval: outcome.approval,
      isDryRun,
      isResumed,
      errorCode,
      isRefused,
      resultBytes,
      startedAt,
      durationMs: performance.now() - start,
    };
    trail.callEnded(ended, room !== undefined && refusal === undefined);
    return outcome;
  };
}

/** Records a call that reached no gate: its server is not loaded, or there is no such server or tool. */
export function createUnmadeNote(trail: Pick<AuditTrail, 'callEnded'>): NoteUnmade {
  return ({ context, server, tool, given }, error: BridgeError) =>
    trail.callEnded({
      ...whoCalls(context),
      server: server.slice(0, MAX_NAME_CHARS),
      tool: tool.slice(0, MAX_NAME_CHARS),
      shape: shapeOfArguments(given, new Set()),
      isRefused: true,
      errorCode: error.code,
      startedAt: Date.now(),
      durationMs: 0,
    });
}

function whoCalls({ session, generation, cell, call, job }: ToolCall['context']) {
  return { session, generation, cell, call, job };
}

/** Codes that a call fails with only before it is sent. */
const NOT_SENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'POLICY_DENIED',
  'TOOL_CHANGED',
  'APPROVAL_DENIED',
  'APPROVAL_TIMEOUT',
  'APPROVAL_UNAVAILABLE',
  'AUDIT_UNAVAILABLE',
]);

function endOf(outcome: CallOutcome): Pick<EndedCall, 'errorCode' | 'isRefused' | 'resultBytes'> {
  if (!outcome.ok) {
    const { code, data } = toBridgeError(outcome.error);
    return {
      errorCode: code,
      isRefused: NOT_SENT.has(code) || (code === 'POLICY_LIMIT' && data['was_made'] === false),
    };
  }
  if (outcome.isDryRun === true) {
    return { errorCode: undefined, isRefused: false, resultBytes: undefined };
  }
  const { result } = outcome;
  const hasFailed = isObject(result) && result['isError'] === true;
  const errorCode = hasFailed ? 'TOOL_FAILED' : undefined;
  return { errorCode, isRefused: false, resultBytes: jsonBytes(result) };
}
