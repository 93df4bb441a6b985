/** Measures as Prometheus sees them. */
import { expect, it } from 'vitest';
import { Metrics } from '../../../src/server/http/metrics.ts';
import { PROMETHEUS_METRICS, toPrometheus } from '../../../src/telemetry/measures.ts';

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
