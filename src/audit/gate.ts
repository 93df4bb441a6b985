/** Records each tool call: who called what, what was decided, and how it ended. */
import { type BridgeError, toBridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import { type CallGate, type CallOutcome, failed, type NoteUnmade, type ToolCall } from '../calls/contract.ts';
import { isRefusal } from '../calls/refusals.ts';
import type { CatalogServer, KnownTool } from '../catalog/known.ts';
import { parametersOf } from '../catalog/parameters.ts';
import { isFailure, ResultBytes } from '../protocol/result-bytes.ts';
import { jsonBytes, shapeOfArguments } from './shape.ts';
import type { AuditTrail, EndedCall } from './trail.ts';

/** Names of servers and tools that may not exist, as the sandbox sent them, are cut to this length. Chosen. */
const MAX_NAME_CHARS = 200;

/** The outermost gate, so that it records calls that any other gate refused. */
export function createAuditGate(
  trail: Pick<AuditTrail, 'callEnded' | 'keepRoom' | 'definitionsUsed'>,
  toolsOf: (server: CatalogServer) => readonly KnownTool[] | undefined = () => undefined,
): CallGate {
  return (call, next) => {
    const { context, server, tool } = call;
    const startedAt = Date.now();
    const start = performance.now();
    // Before the call, because the arguments may be large and should not be kept.
    const shape = shapeOfArguments(call.arguments, parametersOf(tool.inputSchema).names);
    const argumentsBytes = jsonBytes(call.arguments);
    const room = trail.keepRoom(context.session);
    return room === undefined ? next(call).then((outcome) => record(outcome, false)) : makeInRoom(room);

    async function makeInRoom(kept: Promise<void>): Promise<CallOutcome> {
      const refusal = await kept.then(() => undefined, failed);
      return record(refusal ?? (await next(call)), refusal === undefined);
    }

    function record(outcome: CallOutcome, hasRoom: boolean): CallOutcome {
      const { errorCode, isRefused, resultBytes, textBytes } = endOf(outcome);
      const { isDryRun, isResumed, waitedMs } = outcome;
      if (!isRefused) {
        trail.definitionsUsed(context.session, server.name, () => toolsOf(server));
      }
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
        argumentsBytes,
        resultBytes,
        textBytes,
        startedAt,
        // Waiting for a person is no time of the tool.
        durationMs: performance.now() - start - (waitedMs ?? 0),
        waitedMs,
      };
      trail.callEnded(ended, hasRoom);
      return outcome;
    }
  };
}

/** The innermost gate, for required records: the call is sent when the log says that it will be. Refused calls and dry runs get no such record. */
export function createBeginGate(trail: Pick<AuditTrail, 'callStarts'>): CallGate {
  return async (call, next) => {
    const { context, server, tool } = call;
    const shape = shapeOfArguments(call.arguments, parametersOf(tool.inputSchema).names);
    const begun = { ...whoCalls(context), server: server.name, tool: tool.name, shape };
    return (await trail.callStarts(begun).then(() => undefined, failed)) ?? next(call);
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

function endOf(outcome: CallOutcome): Pick<EndedCall, 'errorCode' | 'isRefused' | 'resultBytes' | 'textBytes'> {
  if (!outcome.ok) {
    const error = toBridgeError(outcome.error);
    return { errorCode: error.code, isRefused: isRefusal(error) };
  }
  if (outcome.isDryRun === true) {
    return { errorCode: undefined, isRefused: false, resultBytes: undefined };
  }
  const { result } = outcome;
  const hasFailed = isFailure(result);
  const errorCode = hasFailed ? 'TOOL_FAILED' : undefined;
  return {
    errorCode,
    isRefused: false,
    resultBytes: result instanceof ResultBytes ? result.plainBytes : jsonBytes(result),
    textBytes: result instanceof ResultBytes ? result.onlyTextBytes : textBytesOf(result),
  };
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
