/** How the audit log learns what happens: from the events of the bridge, and, where records are required, before a call is sent. */
import { toBridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { type CallGate, type CallOutcome, failed, type ToolCall, type UnmadeCall } from '../../core/calls/contract.ts';
import { type BegunCall, errorCodeOf, type Watcher } from '../../core/calls/events.ts';
import { isRefusal } from '../../core/calls/refusals.ts';
import type { CatalogServer, KnownTool } from '../../core/catalog/known.ts';
import { parametersOf } from '../../core/catalog/parameters.ts';
import { ResultBytes } from '../../core/protocol/result-bytes.ts';
import { jsonBytes, shapeOfArguments } from './shape.ts';
import type { AuditTrail, EndedCall } from './trail.ts';

/** Names of servers and tools that may not exist, as the sandbox sent them, are cut to this length. Chosen. */
const MAX_NAME_CHARS = 200;

/** Records sessions, cells and calls. */
export function createAuditWatcher(
  trail: AuditTrail,
  toolsOf: (server: CatalogServer) => readonly KnownTool[] | undefined = () => undefined,
): Watcher {
  return (event) => {
    switch (event.type) {
      case 'session_started':
        return trail.sessionStarted(event.run, event.engine);
      case 'session_ended':
        return trail.sessionEnded(event.run, event.reason);
      case 'cell_started':
        return trail.cellStarted(event.cell);
      case 'cell_ended':
        return trail.cellEnded(event.cell, event.outcome, event.durationMs);
      case 'call_ended': {
        const { context, server } = event.made.call;
        const ended = endedCall(event.made, event.outcome, event.durationMs);
        if (!ended.isRefused) {
          trail.definitionsUsed(context.session, server.name, () => toolsOf(server));
        }
        return trail.callEnded(ended, context);
      }
      case 'step_ended':
        return event.step.isRow ? undefined : trail.stepEnded(event);
      case 'call_unmade':
        return trail.callEnded(unmadeCall(event.call, event.error.code), event.call.context);
      default:
        return undefined;
    }
  };
}

/** The innermost gate, for required records: the call is sent when the log says that it will be. Refused calls and dry runs get no such record. */
export function createRequiredGate(trail: Pick<AuditTrail, 'callStarts'>): CallGate {
  return async (call, next) => {
    const begun = { ...whoCalls(call), server: call.server.name, tool: call.tool.name, shape: shapeOf(call) };
    return (await trail.callStarts(begun, call.context).then(() => undefined, failed)) ?? next(call);
  };
}

// Written out: with spreads, 1,000 calls at once took a fifth longer (measured).
function endedCall({ call, startedAt }: BegunCall, outcome: CallOutcome, durationMs: number): EndedCall {
  const { context, server, tool } = call;
  const { isDryRun, isResumed, waitedMs } = outcome;
  const isAnswered = outcome.ok && isDryRun !== true;
  const sizes = isAnswered ? sizesOf(outcome.result) : undefined;
  return {
    session: context.session,
    generation: context.generation,
    cell: context.cell,
    call: context.call,
    job: context.job,
    server: server.name,
    tool: tool.name,
    shape: shapeOf(call),
    decision: outcome.decision,
    approval: outcome.approval,
    isDryRun,
    isResumed,
    errorCode: isAnswered || !outcome.ok ? errorCodeOf(outcome) : undefined,
    isRefused: !outcome.ok && isRefusal(toBridgeError(outcome.error)),
    argumentsBytes: jsonBytes(call.arguments),
    resultBytes: sizes?.resultBytes,
    textBytes: sizes?.textBytes,
    startedAt,
    // Waiting for a person is no time of the tool.
    durationMs: durationMs - (waitedMs ?? 0),
    waitedMs,
  };
}

function unmadeCall({ context, given, server, tool }: UnmadeCall, errorCode: EndedCall['errorCode']): EndedCall {
  return {
    ...whoCalls({ context }),
    server: server.slice(0, MAX_NAME_CHARS),
    tool: tool.slice(0, MAX_NAME_CHARS),
    shape: shapeOfArguments(given, new Set()),
    isRefused: true,
    errorCode,
    startedAt: Date.now(),
    durationMs: 0,
  };
}

function shapeOf(call: ToolCall): EndedCall['shape'] {
  return shapeOfArguments(call.arguments, parametersOf(call.tool.inputSchema).names);
}

function whoCalls({ context: { session, generation, cell, call, job } }: Pick<ToolCall, 'context'>) {
  return { session, generation, cell, call, job };
}

function sizesOf(result: unknown): Pick<EndedCall, 'resultBytes' | 'textBytes'> {
  return result instanceof ResultBytes
    ? { resultBytes: result.plainBytes, textBytes: result.onlyTextBytes }
    : { resultBytes: jsonBytes(result), textBytes: textBytesOf(result) };
}

/** What a client would show to a model; images and sounds have no text. */
function textBytesOf(result: unknown): number | undefined {
  if (!isObject(result)) {
    return undefined;
  }
  const blocks: readonly unknown[] = Array.isArray(result['content']) ? result['content'] : [];
  let bytes = 0;
  for (const block of blocks) {
    const text = isObject(block)
      ? (block['text'] ?? (isObject(block['resource']) ? block['resource']['text'] : ''))
      : '';
    bytes += typeof text === 'string' ? Buffer.byteLength(text) : 0;
  }
  return blocks.length === 0 ? jsonBytes(result['structuredContent'] ?? result) : bytes;
}
