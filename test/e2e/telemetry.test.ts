// Tags: anywhere, full
/** Traces and metrics, as a collector gets them: the built command, real clients, a real sandbox, and a server that is itself traced. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type BridgeClient,
  type BridgeOptions,
  fixtureServer,
  type ServerEntry,
  startBridge,
} from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { readFences } from '../support/documented-samples.ts';
import { startHttpBridge } from '../support/http-bridge.ts';
import type { ReceivedSpan } from '../support/otlp.ts';
import { type OtlpReceiver, startReceiver } from '../support/otlp-receiver.ts';
import { PATIENCE } from '../support/patience.ts';

const engines = await coverEngines();
// No engine knows anything of it, so one is enough.
const [engine] = engines.toSorted((one, other) => Number(one.isContainer) - Number(other.isContainer));

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENT_SPAN = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${CLIENT_SPAN}-01`;
const SECRET = 'hunter2-of-the-argument';
const CALL = { servers: ['traced'] };
/** Because of the arguments, code still sees the tool. */
const POLICY = {
  rules: [{ effect: 'deny', server: 'echo', tool: 'echo', arguments: { text: { matches: 'x*' } } }],
  default: 'allow',
};

/** The spans of the bridge by name, each below its parent. */
function treeOf(all: readonly ReceivedSpan[]): string {
  const spans = all
    .filter(({ service }) => service !== 'traced-upstream')
    .toSorted((one, other) => Number(one.start - other.start));
  const below = (parent: string, indent: string): string[] =>
    spans
      .filter(({ parentId }) => parentId === parent)
      .flatMap(({ name, spanId }) => [`${indent}${name}`, ...below(spanId, `${indent}  `)]);
  return below(CLIENT_SPAN, '').join('\n');
}

/**
 * What the conventions want of each span of MCP (semantic-conventions-genai, docs/gen-ai/mcp.md, October 2026): the required
 * attributes, those required under a condition that holds here, and the recommended ones that the bridge knows.
 */
const OF_A_REQUEST = ['mcp.method.name', 'mcp.protocol.version', 'network.transport'];
const OF_A_TOOL_CALL = [...OF_A_REQUEST, 'gen_ai.tool.name', 'gen_ai.operation.name', 'jsonrpc.request.id'];
const CONVENTIONS: Readonly<Record<string, { readonly kind: string; readonly attributes: readonly string[] }>> = {
  'tools/call run_python': { kind: 'server', attributes: OF_A_TOOL_CALL },
  'tools/call work': { kind: 'client', attributes: OF_A_TOOL_CALL },
  'tools/call fails': { kind: 'client', attributes: [...OF_A_TOOL_CALL, 'error.type'] },
  'tools/call refuses': { kind: 'client', attributes: [...OF_A_TOOL_CALL, 'error.type', 'rpc.response.status_code'] },
  initialize: { kind: 'client', attributes: OF_A_REQUEST },
  'tools/list': { kind: 'client', attributes: [...OF_A_REQUEST, 'jsonrpc.request.id'] },
};

if (engine === undefined) {
  it.skip('not covered: needs an engine', () => undefined);
} else {
  interface Started extends BridgeClient {
    readonly log: () => string;
    /** Runs a cell with this `_meta`. */
    runWith(meta: Record<string, unknown>, code: string, more?: Record<string, unknown>): Promise<string>;
  }

  const start = async (receiver: Pick<OtlpReceiver, 'env'>, options: Partial<BridgeOptions> = {}): Promise<Started> => {
    let log = '';
    const traced: ServerEntry = { ...fixtureServer('traced.mjs'), env: receiver.env };
    const bridge = await startBridge({
      engine,
      servers: () => ({ traced, echo: fixtureServer('echo.mjs') }),
      onLog: (text) => {
        log += text;
      },
      ...options,
      env: { ...receiver.env, ...options.env },
    });
    onTestFinished(() => bridge.close());
    return {
      ...bridge,
      log: () => log,
      async runWith(meta, code, more = {}) {
        const result = await bridge.client.callTool(
          { name: 'run_python', arguments: { code, ...more }, _meta: meta },
          { timeout: 60_000 * PATIENCE },
        );
        return JSON.stringify(result.content);
      },
    };
  };

  const named = ({ spans }: Pick<OtlpReceiver, 'spans'>, name: string): ReceivedSpan | undefined =>
    spans.find((span) => span.name === name && span.service !== 'traced-upstream');
  /** The span of the server has the same name as that of the call. */
  const ofServer = ({ spans }: Pick<OtlpReceiver, 'spans'>): ReceivedSpan | undefined =>
    spans.find(({ service }) => service === 'traced-upstream');
  const until = (receiver: OtlpReceiver, ...names: string[]): Promise<void> =>
    expect
      .poll(() => names.filter((name) => named(receiver, name) === undefined), { timeout: 10_000 * PATIENCE })
      .toEqual([]);

  describe(`telemetry on ${engine.label}`, () => {
    for (const protocolVersion of [undefined, '2026-07-28'] as const) {
      it(`makes one trace from a client of ${protocolVersion ?? '2025-11-25'} to a server that is traced`, async () => {
        const receiver = await startReceiver();
        const bridge = await start(receiver, protocolVersion && { protocolVersion });
        const meta = { traceparent: TRACEPARENT, tracestate: 'vendor=opaque', baggage: 'user=alice' };
        expect(await bridge.runWith(meta, 'await mcp_traced.work()', CALL)).toContain('worked');
        await until(receiver, 'tools/call run_python', 'run cell', 'tools/call work', 'start sandbox', 'initialize');
        const [request, cell, call] = ['tools/call run_python', 'run cell', 'tools/call work'].map((name) =>
          named(receiver, name),
        );
        expect(request).toMatchObject({ traceId: TRACE, parentId: CLIENT_SPAN, traceState: 'vendor=opaque' });
        expect(cell).toMatchObject({ traceId: TRACE, parentId: request?.spanId, kind: 'internal' });
        expect(call).toMatchObject({ traceId: TRACE, parentId: cell?.spanId });
        expect(ofServer(receiver)).toMatchObject({ traceId: TRACE, parentId: call?.spanId, kind: 'server' });
        expect(named(receiver, 'start sandbox')).toMatchObject({ traceId: TRACE, parentId: cell?.spanId });
        const started = named(receiver, 'start server');
        expect(started).toMatchObject({ traceId: TRACE });
        expect(named(receiver, 'initialize')).toMatchObject({ traceId: TRACE, parentId: started?.spanId });
        expect(receiver.spans.every(({ traceId }) => traceId === TRACE)).toBe(true);
        expect(treeOf(receiver.spans)).toBe(readFences('docs/telemetry.md', 'text')[0]);
        const seen = await bridge.runWith(meta, 'await mcp_traced.meta()', CALL);
        expect(seen).toContain(`00-${TRACE}-`);
        expect(seen).toContain('vendor=opaque');
        expect(seen).toContain('user=alice');
      });
    }

    it('puts a call of a program below the cell that has started the program', async () => {
      const receiver = await startReceiver();
      const bridge = await start(receiver);
      const code = `await runtime.run("javascript", "console.log(await mcp.traced.work())")`;
      expect(await bridge.runWith({ traceparent: TRACEPARENT }, code, CALL)).toContain('worked');
      await until(receiver, 'run cell', 'tools/call work');
      const [cell, call] = [named(receiver, 'run cell'), named(receiver, 'tools/call work')];
      expect(call).toMatchObject({ traceId: TRACE, parentId: cell?.spanId });
      expect(ofServer(receiver)).toMatchObject({ traceId: TRACE, parentId: call?.spanId });
    });

    it('has the attributes of the conventions, and the codes of errors without their texts', async () => {
      const receiver = await startReceiver();
      const bridge = await start(receiver);
      const code = `
for name in ("fails", "refuses"):
    try:
        await mcp_traced.call_tool(name, {"text": "${SECRET}"})
    except Exception as error:
        print(type(error).__name__)
await mcp_traced.work()
print("${SECRET}")`;
      await bridge.runWith({}, code, CALL);
      await bridge.runWith({}, `raise ValueError("${SECRET}")`);
      await until(receiver, ...Object.keys(CONVENTIONS));
      const found = Object.entries(CONVENTIONS).map(([name, { attributes }]) => {
        const span = named(receiver, name);
        const missing = attributes.filter((attribute) => !Object.hasOwn(span?.attributes ?? {}, attribute));
        return [name, { kind: span?.kind, missing }];
      });
      const expected = Object.entries(CONVENTIONS).map(([name, { kind }]) => [name, { kind, missing: [] }]);
      expect(found).toEqual(expected);
      expect(named(receiver, 'tools/call run_python')?.attributes).toMatchObject({
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'network.transport': 'pipe',
      });
      expect(named(receiver, 'tools/call fails')).toMatchObject({
        status: { code: 2, message: '' },
        attributes: { 'error.type': 'tool_error' },
      });
      expect(named(receiver, 'tools/call refuses')).toMatchObject({
        status: { code: 2, message: '' },
        attributes: { 'error.type': '-32050', 'rpc.response.status_code': '-32050' },
      });
      expect(named(receiver, 'tools/call work')?.status.code).toBe(0);
      await expect.poll(() => receiver.spans.filter(({ name }) => name === 'run cell').length).toBe(2);
      await expect
        .poll(() => receiver.points.map(({ name }) => name), { timeout: 10_000 * PATIENCE })
        .toContain('mcp.client.operation.duration');
      expect(receiver.bodies.some((body) => body.includes(SECRET))).toBe(false);
    });

    it('shows code, arguments and results if the setting allows it', async () => {
      const receiver = await startReceiver();
      const bridge = await start(receiver, { env: { MCP_BRIDGE_OTEL_CONTENT: '1' } });
      await bridge.runWith({}, `await mcp_traced.work(text="${SECRET}")`, CALL);
      await until(receiver, 'run cell', 'tools/call work');
      expect(named(receiver, 'run cell')?.attributes['mcp_bridge.cell.code']).toContain(SECRET);
      expect(named(receiver, 'tools/call work')?.attributes).toMatchObject({
        'gen_ai.tool.call.arguments': `{"text":"${SECRET}"}`,
        'gen_ai.tool.call.result': expect.stringContaining('worked'),
      });
    });

    it('measures cells, calls, sizes, tokens, starts and lookups', async () => {
      const receiver = await startReceiver();
      const bridge = await start(receiver, {
        servers(folder) {
          writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
          return { traced: { ...fixtureServer('traced.mjs'), env: receiver.env }, echo: fixtureServer('echo.mjs') };
        },
      });
      await bridge.runWith({}, 'await mcp_traced.work()', CALL);
      expect(await bridge.runWith({}, 'await mcp_echo.echo(text="x")', { servers: ['echo'] })).toContain(
        'POLICY_DENIED',
      );
      const of = (name: string, attributes: Record<string, unknown> = {}) =>
        receiver.points.findLast(
          (point) =>
            point.name === name && Object.entries(attributes).every(([key, value]) => point.attributes[key] === value),
        );
      await expect
        .poll(
          () => ({
            succeeded: of('mcp_bridge.cell.duration', { 'mcp_bridge.cell.status': 'success' })?.count,
            failed: of('mcp_bridge.cell.duration', { 'mcp_bridge.cell.status': 'error' })?.count,
            requestsFailed: of('mcp.server.operation.duration', { 'error.type': 'tool_error' })?.count,
            calls: of('mcp.client.operation.duration', { 'gen_ai.tool.name': 'work' })?.count,
            refused: of('mcp_bridge.refused', { 'error.type': 'POLICY_DENIED' })?.value,
            sandboxStarts: of('mcp_bridge.sandbox.start.duration')?.count,
            serverStarts: of('mcp_bridge.server.start.duration')?.count,
            waiting: of('mcp_bridge.cell.waiting')?.value,
            waits: of('mcp_bridge.cell.wait.duration')?.count,
          }),
          { timeout: 10_000 * PATIENCE },
        )
        .toEqual({
          succeeded: 1,
          failed: 1,
          requestsFailed: 1,
          calls: 1,
          refused: 1,
          sandboxStarts: 1,
          serverStarts: 2,
          waiting: 0,
          waits: 2,
        });
      expect(of('mcp_bridge.tokens', { 'mcp_bridge.direction': 'out' })?.value).toBeGreaterThan(1);
      expect(of('mcp_bridge.size', { 'mcp_bridge.kind': 'result' })?.value).toBeGreaterThan(1);
      expect(of('mcp_bridge.cache.lookups', { 'mcp_bridge.cache': 'tools' })?.value).toBeGreaterThan(0);
      expect(of('mcp_bridge.cache.lookups', { 'mcp_bridge.cache': 'sandbox' })?.attributes).toMatchObject({
        'mcp_bridge.cache.result': 'miss',
      });
    });

    it('ignores a context of another form, and begins a trace of its own', async () => {
      const receiver = await startReceiver();
      const bridge = await start(receiver);
      const long = 'a'.repeat(100_000);
      const hostile: Record<string, unknown>[] = [
        { traceparent: `${TRACEPARENT}${long}`, baggage: long },
        { traceparent: `00-${TRACE}-${CLIENT_SPAN}-01-more` },
        { traceparent: `ff-${TRACE}-${CLIENT_SPAN}-01` },
        { traceparent: `00-${'0'.repeat(32)}-${CLIENT_SPAN}-01` },
        { traceparent: `00-${TRACE}-${CLIENT_SPAN}-01\n`, tracestate: 'a=b' },
        { traceparent: `00-${TRACE.toUpperCase()}-${CLIENT_SPAN}-01` },
        { traceparent: { toString: TRACEPARENT }, tracestate: [1] },
        { traceparent: TRACEPARENT, tracestate: 'forged=1\r\nx: y', baggage: 'key=\u0000' },
      ];
      for (const meta of hostile) {
        expect(await bridge.runWith(meta, '1 + 1')).toContain('2');
      }
      await expect.poll(() => receiver.spans.filter(({ kind }) => kind === 'server').length).toBe(hostile.length);
      const requests = receiver.spans.filter(({ kind }) => kind === 'server');
      expect(requests.slice(0, -1).every(({ parentId, traceId }) => parentId === '' && traceId !== TRACE)).toBe(true);
      expect(requests.at(-1)).toMatchObject({ traceId: TRACE, parentId: CLIENT_SPAN, traceState: '' });
      expect(receiver.bodies.some((body) => body.includes('forged') || body.includes('a'.repeat(1000)))).toBe(false);
    });

    it('samples nothing if the sampler or the client says so', async () => {
      const receiver = await startReceiver();
      const off = await start(receiver, { env: { OTEL_TRACES_SAMPLER: 'always_off' } });
      await off.runWith({}, 'await mcp_echo.echo(text="x")', { servers: ['echo'] });
      await expect.poll(() => receiver.points.length, { timeout: 10_000 * PATIENCE }).toBeGreaterThan(0);
      await off.close();
      const on = await start(receiver);
      await on.runWith({ traceparent: TRACEPARENT.replace(/01$/, '00') }, '1');
      const sent = receiver.bodies.length;
      // Spans are sent four times as often.
      await expect.poll(() => receiver.bodies.length, { timeout: 10_000 * PATIENCE }).toBeGreaterThan(sent + 1);
      await on.close();
      expect(receiver.spans).toEqual([]);
    });

    it('sends nothing if no variable asks for it, or it is disabled', async () => {
      const receiver = await startReceiver();
      for (const env of [
        { OTEL_SDK_DISABLED: 'true' },
        { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' },
      ]) {
        const bridge = await start(receiver, { env });
        await bridge.runWith({ traceparent: TRACEPARENT }, '1');
        await bridge.close();
      }
      expect(receiver.bodies).toEqual([]);
    });

    it('warns once of a dead collector, runs cells as usual, and ends in time', async () => {
      const bridge = await start({
        env: {
          OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
          OTEL_BSP_SCHEDULE_DELAY: '10',
          OTEL_METRIC_EXPORT_INTERVAL: '50',
          OTEL_EXPORTER_OTLP_TIMEOUT: '30',
        },
      });
      for (let cell = 0; cell < 20; cell += 1) {
        expect(await bridge.runWith({}, `${cell} + 1`)).toContain(String(cell + 1));
      }
      await expect.poll(() => bridge.log().match(/OpenTelemetry/g)?.length).toBe(1);
      const begun = performance.now();
      await bridge.close();
      expect(performance.now() - begun).toBeLessThan(2_500 * PATIENCE);
      expect(bridge.log().match(/OpenTelemetry/g)).toHaveLength(1);
    });

    it('links the context of an HTTP request, measures for Prometheus, and names no server there', async () => {
      const receiver = await startReceiver();
      const bridge = await startHttpBridge({ engine, servers: { echo: fixtureServer('echo.mjs') }, env: receiver.env });
      onTestFinished(() => bridge.remove());
      const request = { name: 'run_python', arguments: { code: 'await mcp_echo.echo(text="x")', servers: ['echo'] } };
      const envelope = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const other = '11111111111111111111111111111111';
      const response = await fetch(bridge.url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          'MCP-Protocol-Version': '2026-07-28',
          'Mcp-Method': 'tools/call',
          'Mcp-Name': 'run_python',
          traceparent: `00-${other}-${CLIENT_SPAN}-01`,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 'seven',
          method: 'tools/call',
          params: { ...request, _meta: { ...envelope, traceparent: TRACEPARENT } },
        }),
      });
      expect(await response.text()).toContain('x');
      await until(receiver, 'tools/call run_python', 'tools/call echo');
      expect(named(receiver, 'tools/call run_python')).toMatchObject({
        traceId: TRACE,
        parentId: CLIENT_SPAN,
        links: [{ traceId: other, spanId: CLIENT_SPAN }],
        attributes: {
          'network.transport': 'tcp',
          'network.protocol.name': 'http',
          'jsonrpc.request.id': 'seven',
          'mcp.protocol.version': '2026-07-28',
        },
      });
      const metrics = await (await fetch(bridge.url.replace('/mcp', '/metrics'))).text();
      expect(metrics).toContain('mcp_bridge_cell_duration_seconds_count{mcp_bridge_cell_status="success"} 1');
      expect(metrics).toContain(
        'mcp_bridge_mcp_client_operation_duration_seconds_count{mcp_method_name="tools/call"} 1',
      );
      expect(metrics).toContain('mcp_bridge_tokens_total{mcp_bridge_direction="out"}');
      expect(metrics).not.toContain('echo');
    });

    it('writes the ids of the trace into the log while a cell runs', async () => {
      const receiver = await startReceiver();
      const bridge = await start(receiver, { env: { MCP_BRIDGE_LOG_LEVEL: 'DEBUG' } });
      await bridge.runWith({ traceparent: TRACEPARENT }, 'await mcp_echo.echo(text="x")', { servers: ['echo'] });
      await until(receiver, 'tools/call echo');
      const { spanId } = named(receiver, 'tools/call echo') as ReceivedSpan;
      expect(bridge.log()).toContain(`call echo.echo trace_id=${TRACE} span_id=${spanId}`);
    });
  });
}
