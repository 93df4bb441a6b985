import { expect, it } from 'vitest';
import { Metrics } from '../../../../src/front/server/http/metrics.ts';

it('metrics are in the text format of Prometheus', () => {
  const metrics = new Metrics();
  metrics.count('cells_total', { status: 'success' });
  metrics.count('cells_total', { status: 'success' });
  metrics.count('cells_total', { status: 'a"b\\c\nd' });
  const values = [{ labels: { state: 'idle' }, value: 2 }, { value: 1.5 }];
  const lines = metrics.render([{ name: 'sessions', help: 'Sessions.', values }]).split('\n');
  expect(lines.filter((line) => line.includes('cells_total') || line.includes('sessions'))).toEqual([
    '# HELP mcp_bridge_cells_total Cells that have ended, by status.',
    '# TYPE mcp_bridge_cells_total counter',
    'mcp_bridge_cells_total{status="success"} 2',
    'mcp_bridge_cells_total{status="a\\"b\\\\c\\nd"} 1',
    '# HELP mcp_bridge_sessions Sessions.',
    '# TYPE mcp_bridge_sessions gauge',
    'mcp_bridge_sessions{state="idle"} 2',
    'mcp_bridge_sessions 1.5',
  ]);
  expect(lines.at(-1)).toBe('');
});

it('the sets of labels of a metric have a cap, beyond which their values are "other"', () => {
  const metrics = new Metrics([{ name: 'sizes', help: 'Sizes.', type: 'histogram', bounds: [1] }]);
  for (let number = 0; number < 10_000; number += 1) {
    metrics.count('cells_total', { status: `status-${number}` });
    metrics.record('sizes', { from: `from-${number}`, kind: 'x' }, 1);
  }
  metrics.count('cells_total', { status: 'status-1' });
  const text = metrics.render([]);
  expect(text.length).toBeLessThan(250_000);
  expect(text).toContain('mcp_bridge_cells_total{status="other"} 9500');
  expect(text).toContain('mcp_bridge_cells_total{status="status-1"} 2');
  expect(text).toContain('mcp_bridge_sizes_count{from="other",kind="other"} 9500');
});
