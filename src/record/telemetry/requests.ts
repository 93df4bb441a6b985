/** Calls of clients: their spans below what the client sent in `_meta`, and the tokens that they cost the model. */
import { isObject } from '../../core/base/is-object.ts';
import type { ObserveCall, ReceivedCall } from '../../front/server/call-observer.ts';
import { secondsSince, type TelemetryParts } from './cells.ts';
import { ATTRIBUTES, EXECUTE_TOOL, METHODS, TOOL_ERROR } from './names.ts';
import { type ReadTraceState, readTraceFields, readTraceparent } from './trace-fields.ts';
import type { Fault } from './tracing.ts';

/**
 * Python, Markdown and JavaScript of this repository have 4.1, 3.9 and 3.6 bytes for one token of o200k_base (measured). A tokenizer
 * takes megabytes.
 */
const BYTES_PER_TOKEN = 4;

type Parts = Omit<TelemetryParts, 'mask'> & { readonly readState: ReadTraceState };

export function createCallObserver({ defer, measure, readState, tracing }: Parts): ObserveCall {
  return async (call, answer) => {
    const begun = performance.now();
    const work = tracing?.begin(call.tool === undefined ? METHODS.callTool : `${METHODS.callTool} ${call.tool}`, {
      kind: 'server',
      attributes: () => ({ ...identityOf(call), ...factsOf(call) }),
      remote: readTraceFields(call.meta, readState),
      // One HTTP request can carry several messages, so its context is not the parent.
      link: readTraceparent(call.http?.headers.get('traceparent')),
    });
    const end = (fault: Fault | undefined, result?: Record<string, unknown>): void => {
      const seconds = secondsSince(begun);
      if (work !== undefined) {
        tracing?.end(work, fault, () => (fault?.code === undefined ? {} : { [ATTRIBUTES.rpcCode]: fault.code }));
      }
      defer(() => {
        const attributes = { ...identityOf(call), [ATTRIBUTES.errorType]: fault?.type };
        measure('mcp.server.operation.duration', seconds, attributes);
        if (result !== undefined) {
          measureTokens(measure, call.given, result);
        }
      });
    };
    try {
      const result = await (work === undefined ? answer() : (tracing?.within(work, answer) ?? answer()));
      end(result['isError'] === true ? { type: TOOL_ERROR } : undefined, result);
      return result;
    } catch (error) {
      const code: unknown = Object(error)['code'];
      const type = typeof code === 'number' ? String(code) : 'INTERNAL';
      end({ type, code: type, text: error instanceof Error ? error.message : undefined });
      throw error;
    }
  };
}

function identityOf({ tool }: ReceivedCall): Record<string, string> {
  return {
    [ATTRIBUTES.method]: METHODS.callTool,
    [ATTRIBUTES.operation]: EXECUTE_TOOL,
    ...(tool !== undefined && { [ATTRIBUTES.tool]: tool }),
  };
}

/** Longer ids are cut: a client may send any. */
const MAX_ID_CHARS = 128;

function factsOf({ http, protocolVersion, requestId }: ReceivedCall): Record<string, string> {
  return {
    [ATTRIBUTES.requestId]: String(requestId).slice(0, MAX_ID_CHARS),
    [ATTRIBUTES.transport]: http === undefined ? 'pipe' : 'tcp',
    ...(http !== undefined && { [ATTRIBUTES.networkProtocol]: 'http' }),
    ...(http?.session !== undefined && { [ATTRIBUTES.mcpSession]: http.session }),
    ...(protocolVersion !== undefined && { [ATTRIBUTES.protocolVersion]: protocolVersion }),
  };
}

/** What the model wrote and will read. Pictures cost other tokens, which depend on the model. */
function measureTokens(measure: Parts['measure'], given: unknown, result: Record<string, unknown>): void {
  const written = JSON.stringify(given ?? {});
  const blocks = Array.isArray(result['content']) ? result['content'] : [];
  const texts = blocks.map((block: unknown) => (isObject(block) ? block['text'] : undefined));
  const read = texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0), 0);
  const tokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);
  measure('mcp_bridge.size', read, { [ATTRIBUTES.kind]: 'answer' });
  measure('mcp_bridge.tokens', tokens(Buffer.byteLength(written)), { [ATTRIBUTES.direction]: 'out' });
  measure('mcp_bridge.tokens', tokens(read), { [ATTRIBUTES.direction]: 'in' });
}
