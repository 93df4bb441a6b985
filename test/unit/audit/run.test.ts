import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { audit } from '../../../src/record/audit/run.ts';

async function written(command: object, records: readonly object[] = []): Promise<string> {
  const stateDir = mkdtempSync(join(tmpdir(), 'audit-run-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  if (records.length > 0) {
    mkdirSync(join(stateDir, 'audit'));
    writeFileSync(
      join(stateDir, 'audit', '2026-11-21.jsonl'),
      records.map((record) => `${JSON.stringify(record)}\n`).join(''),
    );
  }
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

// Only `search` told one cell from another.
it('shows the first line of the code of each cell, and all of it for one', async () => {
  const usual = { at: '2026-11-21T18:26:13.800Z', bridge: 'b', id: 'b/default/1/1' };
  const code = '\n# \u001B[2J\nx = 1\nx';
  const started = {
    ...usual,
    type: 'cell_started',
    session: 'default',
    generation: 1,
    cell: 1,
    timeout_ms: 1,
    servers: [],
    code,
    code_bytes: 14,
    code_sha256: 'f',
  };
  expect(await written({ action: 'show' }, [started])).toBe(
    '2026-11-21 18:26:13.800  b/default/1/1  no end recorded  | # \\x1b[2J … 2 more lines\n',
  );
  const all = await written({ action: 'show', cell: 'default/1/1' }, [started]);
  expect(all).toMatch(/^\S+ \S+ {2}b\/default\/1\/1 {2}no end recorded\n {2}code: 14 bytes, .*\n {2}\| \n/);
  expect(all).toContain('\n  | x = 1\n  | x\n');
});
