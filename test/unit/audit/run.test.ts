import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type AuditCommand, audit } from '../../../src/audit/run.ts';
import { loadSettings } from '../../../src/settings/settings.ts';

async function written(command: Partial<AuditCommand>): Promise<string> {
  const stateDir = mkdtempSync(join(tmpdir(), 'audit-run-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  const usual = {
    command: 'audit',
    action: 'tail',
    isFailed: false,
    lines: 10,
    isFollowing: false,
    isJson: false,
  } as const;
  const settings = loadSettings({ MCP_BRIDGE_STATE_DIR: stateDir });
  await audit({ ...usual, ...command }, { settings, writeOut: write, writeError: write });
  return text.replaceAll(stateDir, 'STATE');
}

// `tail` printed nothing, which looked like a failure.
it.each(['show', 'tail', 'stats'] as const)('%s says where records would be', async (action) => {
  expect(await written({ action })).toBe(`There are no records in ${join('STATE', 'audit')}.\n`);
});

it('prints nothing but records as JSON', async () => {
  expect(await written({ action: 'tail', isJson: true })).toBe('');
});
