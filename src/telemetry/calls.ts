/** Calls from code to servers: a gate that makes their spans and measures them. */
import type { Attributes } from '@opentelemetry/api';
import { toBridgeError } from '../base/errors.ts';
import type { CallGate, CallOutcome, NoteUnmade, ToolCall } from '../calls/contract.ts';
import { isRefusal } from '../calls/refusals.ts';
import { stringifyExact } from '../protocol/exact-json.ts';
import { isFailure, ResultBytes } from '../protocol/result-bytes.ts';
import { secondsSince, type TelemetryParts } from './cells.ts';
import { ATTRIBUTES, EXECUTE_TOOL, METHODS, TOOL_ERROR } from './names.ts';
import { type CollectAttributes, type Fault, faultOf, shortened, type Work } from './tracing.ts';

/** The outermost gate, so that the span has what approvals and policies took, and refusals are seen. */
export function createTelemetryGate(parts: TelemetryParts): CallGate {
  const { mask, tracing } = parts;
  return (call, next) => {
    const begun = performance.now();
    if (tracing === undefined) {
      return next(call).then((outcome) => {
        note(parts, call, outcome, { begun, fault: faultOfOutcome(outcome, undefined) });
        return outcome;
      });
    }
    const { isMethod, name: tool } = call.tool;
    const work = tracing.begin(isMethod === true ? tool : `${METHODS.callTool} ${tool}`, {
      kind: 'client',
      attributes: () => ({ ...identityOf(call), ...factsOf(call) }),
    });
    const made = tracing.within(work, () => next(call));
    return made.then((outcome) => {
      const fault = faultOfOutcome(outcome, work);
      tracing.end(work, fault, tracing.showsContent ? withContent(call, outcome, mask) : withDecision(outcome));
      note(parts, call, outcome, { begun, fault });
      return outcome;
    });
  };
}

/** Counts calls that reached no gate. Their names come from the sandbox, so they are left out. */
export function createUnmadeMeasure({ measure }: Pick<TelemetryParts, 'measure'>): NoteUnmade {
  return (_call, { code }) =>
    measure('mcp_bridge.refused', 1, { [ATTRIBUTES.kind]: 'call', [ATTRIBUTES.errorType]: code });
}

interface EndedCall {
  readonly begun: number;
  readonly fault: Fault | undefined;
}

/** Keeps no result, which may be large, until the values are measured. */
function note({ defer, measure }: TelemetryParts, call: ToolCall, outcome: CallOutcome, { begun, fault }: EndedCall) {
  const seconds = secondsSince(begun);
  const isRefused = !outcome.ok && isRefusal(toBridgeError(outcome.error));
  defer(() => {
    const attributes = { ...identityOf(call), [ATTRIBUTES.errorType]: fault?.type };
    measure('mcp.client.operation.duration', seconds, attributes);
    if (isRefused) {
      measure('mcp_bridge.refused', 1, { [ATTRIBUTES.kind]: 'call', [ATTRIBUTES.errorType]: fault?.code });
    }
  });
}

function identityOf({ tool: { isMethod, name } }: ToolCall): Record<string, string> {
  return isMethod === true
    ? { [ATTRIBUTES.method]: name }
    : { [ATTRIBUTES.method]: METHODS.callTool, [ATTRIBUTES.operation]: EXECUTE_TOOL, [ATTRIBUTES.tool]: name };
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
  const hasFailed = isFailure(result);
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
