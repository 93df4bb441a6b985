/** Keeps a record of each call of a tool: who called what, what was decided, what became of it. */

import { type BridgeError, toBridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import type { CallGate, NoteUnmade, UnmadeCall } from '../calls/tool-calls.ts';
import { parametersOf } from '../catalog/parameters.ts';
import type { Guard, GuardedCall } from '../policy/gate.ts';
import { jsonBytes, shapeOfArguments } from './shape.ts';
import type { AuditTrail, EndedCall } from './trail.ts';

/** Takes the record of a call that has ended. */
type NoteCall = (call: EndedCall) => void;

/** Names from a sandbox, of servers and tools that may not exist, are cut to this. Chosen: longer ones are no names. */
const MAX_NAME_CHARS = 200;

interface Gates {
  readonly gates: readonly CallGate[];
  readonly guard: Guard;
}

/** `gates` with one around them that keeps a record, and the same for the guard and for calls that come to neither. */
export function recordCalls(
  trail: AuditTrail | undefined,
  { gates, guard }: Gates,
): Gates & { noteUnmade?: NoteUnmade } {
  if (trail === undefined) {
    return { gates, guard };
  }
  const note: NoteCall = (call) => trail.callEnded(call);
  return {
    gates: [(call, proceed) => recorded(note, call, () => proceed(call)), ...gates],
    guard: (call, send) => recorded(note, call, () => guard(call, send)),
    noteUnmade: (call, error) => noteUnmadeCall(note, call, error),
  };
}

/** Makes a call and notes what became of it, whoever refused it. */
async function recorded(note: NoteCall, call: GuardedCall, make: () => Promise<unknown>): Promise<unknown> {
  const { context, server, tool } = call;
  const startedAt = Date.now();
  const start = performance.now();
  // Now, because the arguments may be large and are not kept.
  const shape = shapeOfArguments(call.arguments, parametersOf(tool.inputSchema).names);
  const end = (errorCode: EndedCall['errorCode'], resultBytes: number | undefined): void =>
    note({
      session: context.session,
      generation: context.generation,
      cell: context.cell,
      call: context.call,
      job: context.job,
      server: server.name,
      tool: tool.name,
      shape,
      decision: call.decision,
      approval: call.approval,
      errorCode,
      resultBytes,
      startedAt,
      durationMs: performance.now() - start,
    });
  try {
    const result = await make();
    end(isObject(result) && result['isError'] === true ? 'TOOL_FAILED' : undefined, jsonBytes(result));
    return result;
  } catch (thrown) {
    end(toBridgeError(thrown).code, undefined);
    throw thrown;
  }
}

/** A call that came to no gate: its server is not loaded, or there is no such server or tool. */
function noteUnmadeCall(note: NoteCall, { context, server, tool, given }: UnmadeCall, error: BridgeError): void {
  note({
    session: context.session,
    generation: context.generation,
    cell: context.cell,
    call: context.call,
    job: context.job,
    server: server.slice(0, MAX_NAME_CHARS),
    tool: tool.slice(0, MAX_NAME_CHARS),
    shape: shapeOfArguments(given, new Set()),
    errorCode: error.code,
    startedAt: Date.now(),
    durationMs: 0,
  });
}
