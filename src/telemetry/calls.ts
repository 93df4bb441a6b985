/** Calls from code to servers: a gate that makes their spans and measures them. */
import type { Attributes } from '@opentelemetry/api';
import { toBridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import type { CallGate, CallOutcome, NoteUnmade, ToolCall } from '../calls/contract.ts';
import { isRefusal } from '../calls/refusals.ts';
import { stringifyExact } from '../protocol/exact-json.ts';
import { ResultBytes } from '../protocol/result-bytes.ts';
import { secondsSince, type TelemetryParts } from './cells.ts';
import { ATTRIBUTES, EXECUTE_TOOL, METHODS, TOOL_ERROR } from './names.ts';
import { type CollectAttributes, type Fault, faultOf, shortened, type Work } from './tracing.ts';

/** The outermost gate, so that the span has what approvals and policies took, and refusals are seen. */
export function createTelemetryGate(parts: TelemetryParts): CallGate {
  const { measure, tracing } = parts;
  return async (call, next) => {
    const begun = performance.now();
    const { isMethod, name: tool } = call.tool;
    const method = isMethod === true ? tool : METHODS.callTool;
    const identity = {
      [ATTRIBUTES.method]: method,
      ...(isMethod !== true && { [ATTRIBUTES.operation]: EXECUTE_TOOL, [ATTRIBUTES.tool]: tool }),
    };
    if (tracing === undefined) {
      const outcome = await next(call);
      note(parts, outcome, { identity, begun, fault: faultOfOutcome(outcome, undefined) });
      return outcome;
    }
    const name = isMethod === true ? method : `${method} ${tool}`;
    const work = tracing.begin(name, { kind: 'client', attributes: () => ({ ...identity, ...factsOf(call) }) });
    const outcome = await tracing.within(work, () => next(call));
    const fault = faultOfOutcome(outcome, work);
    tracing.end(work, fault, tracing.showsContent ? withContent(call, outcome, parts.mask) : withDecision(outcome));
    note({ measure }, outcome, { identity, begun, fault });
    return outcome;
  };
}

/** Counts calls that reached no gate. Their names come from the sandbox, so they are left out. */
export function createUnmadeMeasure({ measure }: Pick<TelemetryParts, 'measure'>): NoteUnmade {
  return (_call, { code }) =>
    measure('mcp_bridge.refused', 1, { [ATTRIBUTES.kind]: 'call', [ATTRIBUTES.errorType]: code });
}

interface EndedCall {
  readonly identity: Attributes;
  readonly begun: number;
  readonly fault: Fault | undefined;
}

function note(
  { measure }: Pick<TelemetryParts, 'measure'>,
  outcome: CallOutcome,
  { identity, begun, fault }: EndedCall,
) {
  const attributes = { ...identity, [ATTRIBUTES.errorType]: fault?.type } as Parameters<typeof measure>[2];
  measure('mcp.client.operation.duration', secondsSince(begun), attributes);
  if (!outcome.ok && isRefusal(toBridgeError(outcome.error))) {
    measure('mcp_bridge.refused', 1, { [ATTRIBUTES.kind]: 'call', [ATTRIBUTES.errorType]: fault?.code });
  }
}

function factsOf({ context, line, server }: ToolCall): Attributes {
  const { job, session } = context;
  return {
    [ATTRIBUTES.server]: server.name,
    [ATTRIBUTES.session]: session,
    ...(job === undefined ? { [ATTRIBUTES.cell]: context.cell } : { [ATTRIBUTES.job]: job }),
    ...(line !== undefined && { [ATTRIBUTES.line]: line }),
  };
}

/** Keeps no result, which may be large, until the attributes are collected. */
function withDecision(outcome: CallOutcome): CollectAttributes {
  const decision = decisionOf(outcome);
  return () => decision;
}

function withContent(call: ToolCall, outcome: CallOutcome, mask: (text: string) => string): CollectAttributes {
  return () => ({ ...decisionOf(outcome), ...contentOf(call, outcome, mask) });
}

function decisionOf({ approval, decision, isDryRun }: CallOutcome): Attributes {
  return {
    ...(decision !== undefined && { [ATTRIBUTES.effect]: decision.effect }),
    ...(approval !== undefined && { [ATTRIBUTES.approval]: approval }),
    ...(isDryRun === true && { [ATTRIBUTES.isDryRun]: true }),
  };
}

/** Its type is the code of JSON-RPC if the server answered with one. */
function faultOfOutcome(outcome: CallOutcome, work: Work | undefined): Fault | undefined {
  if (!outcome.ok) {
    const fault = faultOf(outcome.error);
    const { data } = toBridgeError(outcome.error);
    const rpcCode = work?.rpcCode ?? (typeof data['rpc_code'] === 'number' ? String(data['rpc_code']) : undefined);
    return { ...fault, type: rpcCode ?? fault.type };
  }
  const { result } = outcome;
  const hasFailed = result instanceof ResultBytes ? result.isError : isObject(result) && result['isError'] === true;
  return hasFailed ? { type: TOOL_ERROR } : undefined;
}

function contentOf(call: ToolCall, outcome: CallOutcome, mask: (text: string) => string): Attributes {
  const text = (value: unknown): string => shortened(mask(typeof value === 'string' ? value : stringifyExact(value)));
  const result = outcome.ok && outcome.result instanceof ResultBytes ? outcome.result.toObject() : undefined;
  const { uri, name } = call.arguments;
  return {
    // Code chooses these, so they are content.
    ...(call.tool.name === 'resources/read' && { [ATTRIBUTES.resource]: text(uri) }),
    ...(call.tool.name === 'prompts/get' && { [ATTRIBUTES.prompt]: text(name) }),
    [ATTRIBUTES.toolArguments]: text(call.arguments),
    ...(outcome.ok && { [ATTRIBUTES.toolResult]: text(result ?? outcome.result) }),
  };
}
