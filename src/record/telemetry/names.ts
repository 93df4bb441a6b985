/**
 * Every name that leaves the bridge as telemetry, in one file, because the conventions still move. `mcp.*`, `gen_ai.*` and the
 * general ones are those of OpenTelemetry's conventions for the Model Context Protocol and for generative AI
 * (open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md at commit 0393513, October 2026, status: Development), which build on the
 * general conventions 1.41. `mcp_bridge.*` are ours.
 */

/** The instrumentation scope of all spans and metrics. */
export const SCOPE = 'mcp-server-code-execution-mode';

/** Spans that are no request of MCP, which is named by its method and its tool. */
export const SPANS = {
  cell: 'run cell',
  sandboxStart: 'start sandbox',
  serverStart: 'start server',
} as const;

export const METHODS = { callTool: 'tools/call', listTools: 'tools/list' } as const;

/** The value of `gen_ai.operation.name` for calls of tools. */
export const EXECUTE_TOOL = 'execute_tool';
/** The value of `error.type` for a result with `isError`. */
export const TOOL_ERROR = 'tool_error';

/** JSON-RPC 2.0, section 5.1, and what MCP and its SDKs define. */
const RPC_CODES: ReadonlySet<string> = new Set(
  '-32700 -32600 -32601 -32602 -32603 -32000 -32001 -32002 -32003 -32004 -32020 -32021 -32022 -32042 -32800'.split(' '),
);

/** Whether it is one of a fixed set: a word, which only the bridge chooses, or a number that the protocol defines. */
export function isKnownErrorType(type: string): boolean {
  return /^[A-Za-z_]+$/.test(type) || RPC_CODES.has(type);
}

export const ATTRIBUTES = {
  method: 'mcp.method.name',
  protocolVersion: 'mcp.protocol.version',
  mcpSession: 'mcp.session.id',
  tool: 'gen_ai.tool.name',
  operation: 'gen_ai.operation.name',
  requestId: 'jsonrpc.request.id',
  rpcCode: 'rpc.response.status_code',
  errorType: 'error.type',
  transport: 'network.transport',
  networkProtocol: 'network.protocol.name',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  // Only if the setting allows content.
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  resource: 'mcp.resource.uri',
  prompt: 'gen_ai.prompt.name',
  // Ours.
  server: 'mcp_bridge.server.name',
  session: 'mcp_bridge.session.name',
  generation: 'mcp_bridge.sandbox.generation',
  cell: 'mcp_bridge.cell.number',
  status: 'mcp_bridge.cell.status',
  waitSeconds: 'mcp_bridge.cell.wait',
  codeBytes: 'mcp_bridge.cell.code.size',
  outputBytes: 'mcp_bridge.cell.output.size',
  code: 'mcp_bridge.cell.code',
  output: 'mcp_bridge.cell.output',
  job: 'mcp_bridge.job.name',
  line: 'mcp_bridge.call.line',
  effect: 'mcp_bridge.decision',
  approval: 'mcp_bridge.approval',
  isDryRun: 'mcp_bridge.dry_run',
  errorCode: 'mcp_bridge.error.code',
  engine: 'mcp_bridge.engine',
  isAhead: 'mcp_bridge.sandbox.started_ahead',
  direction: 'mcp_bridge.direction',
  kind: 'mcp_bridge.kind',
  cache: 'mcp_bridge.cache',
  found: 'mcp_bridge.cache.result',
} as const;

/** What the conventions recommend for durations of operations, in seconds. */
const OPERATION_BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** A warm cell takes about a millisecond. */
const FINE_BOUNDS = [0.001, 0.002, 0.005, ...OPERATION_BOUNDS];

interface MeasureDefinition {
  readonly kind: 'counter' | 'updown' | 'histogram';
  readonly unit: string;
  readonly help: string;
  /** Of a histogram. */
  readonly bounds?: readonly number[];
  /** For Prometheus, where others than the operator may read: no names of servers, tools and sessions. */
  readonly labels: readonly string[];
}

const { errorType, method, status, engine, isAhead, direction, kind, cache, found } = ATTRIBUTES;

export const MEASURES = {
  'mcp.server.operation.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Calls of tools by clients.',
    bounds: OPERATION_BOUNDS,
    labels: [method, errorType],
  },
  'mcp.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Requests to servers, with what approvals and starts took.',
    bounds: OPERATION_BOUNDS,
    labels: [method, errorType],
  },
  'mcp.client.session.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Connections to servers that have ended.',
    bounds: OPERATION_BOUNDS,
    labels: [],
  },
  'mcp_bridge.cell.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Cells that have run, from the begin of the code to its end.',
    bounds: FINE_BOUNDS,
    labels: [status],
  },
  'mcp_bridge.cell.wait.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Waits of cells for other cells and for a sandbox.',
    bounds: FINE_BOUNDS,
    labels: [],
  },
  'mcp_bridge.cell.waiting': {
    kind: 'updown',
    unit: '{cell}',
    help: 'Cells that wait for other cells or for a sandbox.',
    labels: [],
  },
  'mcp_bridge.sandbox.live': {
    kind: 'updown',
    unit: '{sandbox}',
    help: 'Sandboxes that sessions have.',
    labels: [],
  },
  'mcp_bridge.sandbox.start.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Starts of sandboxes; a session gets one that was started ahead at once.',
    bounds: FINE_BOUNDS,
    labels: [engine, isAhead, errorType],
  },
  'mcp_bridge.server.start.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Starts of servers and connections to them.',
    bounds: OPERATION_BOUNDS,
    labels: [errorType],
  },
  'mcp_bridge.refused': {
    kind: 'counter',
    unit: '{refusal}',
    help: 'Cells and calls that were refused before they ran, by the code of the error.',
    labels: [kind, errorType],
  },
  'mcp_bridge.size': {
    kind: 'counter',
    unit: 'By',
    help: 'Bytes of code, of answers to the client, and of results of servers.',
    labels: [kind],
  },
  'mcp_bridge.tokens': {
    kind: 'counter',
    unit: '{token}',
    help: 'Tokens that the model wrote (out) and read (in) for calls of tools. Estimated: one for 4 bytes.',
    labels: [direction],
  },
  'mcp_bridge.cache.lookups': {
    kind: 'counter',
    unit: '{lookup}',
    help: 'Lookups of kept tool lists and of sandboxes that were started ahead, by result.',
    labels: [cache, found],
  },
} as const satisfies Readonly<Record<string, MeasureDefinition>>;

export type MeasureName = keyof typeof MEASURES;
