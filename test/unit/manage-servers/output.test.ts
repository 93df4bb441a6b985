import { expect, it } from 'vitest';
import { createOutput } from '../../../src/app/manage-servers/output.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';

// It was one paragraph of 350 characters.
it('says in short lines that no server is configured, and what to run', () => {
  const settings = loadSettings({ MCP_BRIDGE_STATE_DIR: '/home/me/MCPs' });
  const write = () => undefined;
  const command = { command: 'servers', action: 'list', isJson: false } as const;
  const { noServers } = createOutput(command, { settings, writeOut: write, writeError: write });
  const [first, ...steps] = noServers.split('\n');
  expect(first).toBe('No server is configured in /home/me/MCPs.');
  expect(steps).toHaveLength(4);
  expect(steps.every((step) => /^ {2}\S[^:]+: +mcp-server-code-execution-mode \S/.test(step))).toBe(true);
  expect(Math.max(...steps.map((step) => step.length))).toBeLessThanOrEqual(100);
});
