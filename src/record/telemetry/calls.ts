/** Calls from code to servers: their spans, with what approvals and policies took, and how long they are. */
import type { Attributes } from '@opentelemetry/api';
import { toBridgeError } from '../../core/base/errors.ts';
import type { CallOutcome, ToolCall } from '../../core/calls/contract.ts';
import type { BegunCall, EventOfType, Watcher } from '../../core/calls/events.ts';
import type { TraceCall } from '../../core/calls/pipeline.ts';
import { isRefusal } from '../../core/calls/refusals.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { isFailure, ResultBytes } from '../../core/protocol/result-bytes.ts';
import type { TelemetryParts } from './cells.ts';
import { ATTRIBUTES, EXECUTE_TOOL, METHODS, TOOL_ERROR } from './names.ts';
import { type CollectAttributes, type Fault, faultOf, shortened, type Work } from './tracing.ts';

export class CallTelemetry {
  readonly #parts: TelemetryParts;
  readonly #works = new WeakMap<BegunCall, Work>();

  constructor(parts: TelemetryParts) {
    this.#parts = parts;
  }

  readonly watch: Watcher = (event) => {
    if (event.type === 'call_started') {
      this.#begin(event.made);
    } else if (event.type === 'call_ended') {
      this.#end(event);
    } else if (event.type === 'call_unmade') {
      // Its names come from the sandbox, so they are left out.
      const attributes = { [ATTRIBUTES.kind]: 'call', [ATTRIBUTES.errorType]: event.error.code };
      this.#parts.measure('mcp_bridge.refused', 1, attributes);
    }
  };

  /** What the call starts belongs to its span. Undefined if there are no spans. */
  get traceCall(): TraceCall | undefined {
    const { tracing } = this.#parts;
    return (
      tracing &&
      ((made, make) => {
        const work = this.#works.get(made);
        return work === undefined ? make() : tracing.within(work, make);
      })
    );
  }

  #begin(made: BegunCall): void {
    const { tracing } = this.#parts;
    if (tracing !== undefined) {
      const { call } = made;
      const { isMethod, name: tool } = call.tool;
      const work = tracing.begin(isMethod === true ? tool : `${METHODS.callTool} ${tool}`, {
        kind: 'client',
        attributes: () => ({ ...identityOf(call), ...factsOf(call) }),
      });
      this.#works.set(made, work);
    }
  }

  /** Keeps no result, which may be large, until the values are measured. */
  #end({ durationMs, made, outcome }: EventOfType<'call_ended'>): void {
    const { defer, mask, measure, tracing } = this.#parts;
    const { call } = made;
    const work = this.#works.get(made);
    const fault = faultOfOutcome(outcome, work);
    if (work !== undefined && tracing !== undefined) {
      tracing.end(work, fault, tracing.showsContent ? withContent(call, outcome, mask) : withDecision(outcome));
    }
    const isRefused = !outcome.ok && isRefusal(toBridgeError(outcome.error));
    defer(() => {
      const attributes = { ...identityOf(call), [ATTRIBUTES.errorType]: fault?.type };
      measure('mcp.client.operation.duration', durationMs / 1000, attributes);
      if (isRefused) {
        measure('mcp_bridge.refused', 1, { [ATTRIBUTES.kind]: 'call', [ATTRIBUTES.errorType]: fault?.code });
      }
    });
  }
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
