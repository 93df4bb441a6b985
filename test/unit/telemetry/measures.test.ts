/** Measures as Prometheus sees them. */
import { expect, it } from 'vitest';
import { Metrics } from '../../../src/front/server/http/metrics.ts';
import { PROMETHEUS_METRICS, toPrometheus } from '../../../src/record/telemetry/measures.ts';

it('histograms have cumulative buckets, counters a total, and labels no names of servers and tools', () => {
  const metrics = new Metrics(PROMETHEUS_METRICS);
  const measure = toPrometheus(metrics);
  for (const seconds of [0.015, 0.3, 400]) {
    measure('mcp.client.operation.duration', seconds, {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'secret_tool',
      'error.type': undefined,
    });
  }
  measure('mcp_bridge.tokens', 5, { 'mcp_bridge.direction': 'in' });
  measure('mcp_bridge.tokens', 2, { 'mcp_bridge.direction': 'in' });
  measure('mcp_bridge.cell.waiting', 1);
  measure('mcp_bridge.cell.waiting', -1);
  measure('mcp_bridge.cell.waiting', 1);
  const lines = metrics.render([]).split('\n');
  const name = 'mcp_bridge_mcp_client_operation_duration_seconds';
  const labels = 'mcp_method_name="tools/call"';
  expect(lines).toEqual(
    expect.arrayContaining([
      `# TYPE ${name} histogram`,
      `${name}_bucket{${labels},le="0.01"} 0`,
      `${name}_bucket{${labels},le="0.02"} 1`,
      `${name}_bucket{${labels},le="0.5"} 2`,
      `${name}_bucket{${labels},le="300"} 2`,
      `${name}_bucket{${labels},le="+Inf"} 3`,
      `${name}_count{${labels}} 3`,
      'mcp_bridge_tokens_total{mcp_bridge_direction="in"} 7',
      '# TYPE mcp_bridge_cell_waiting gauge',
      'mcp_bridge_cell_waiting 1',
    ]),
  );
  expect(lines.join('\n')).not.toContain('secret_tool');
});

// 10,000 calls made 20 MB of metrics.
it('codes of servers that the protocol does not define are one label', () => {
  const metrics = new Metrics(PROMETHEUS_METRICS);
  const measure = toPrometheus(metrics);
  const count = (type: string) => measure('mcp_bridge.refused', 1, { 'mcp_bridge.kind': 'call', 'error.type': type });
  for (let code = 0; code < 10_000; code += 1) {
    count(String(code - 5_000));
  }
  ['-32602', 'POLICY_DENIED', 'tool_error', '1.5', '1e+21'].forEach(count);
  const lines = metrics.render([]).split('\n');
  const label = (type: string) => `mcp_bridge_refused_total{mcp_bridge_kind="call",error_type="${type}"}`;
  expect(lines.filter((line) => line.startsWith('mcp_bridge_refused_total{')).toSorted()).toEqual(
    [
      `${label('-32602')} 1`,
      `${label('POLICY_DENIED')} 1`,
      `${label('other')} 10002`,
      `${label('tool_error')} 1`,
    ].toSorted(),
  );
});
