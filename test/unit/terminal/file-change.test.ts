/** The diffs of `install`: the complete change, and nothing else that the client keeps in the file. */

import { describe, expect, it } from 'vitest';
import { loadFormat } from '../../../src/edges/clients/format.ts';
import { newClientFile } from '../../../src/edges/servers/client-file.ts';
import { renderChange } from '../../../src/edges/terminal/file-change.ts';

const ENTRY = { command: 'npx', args: ['-y', 'mcp-server-code-execution-mode'] };

async function shown(before: string): Promise<string[]> {
  const format = await loadFormat('json');
  const next = format.add(before, { keys: ['mcpServers'], name: 'code' }, ENTRY);
  return renderChange({ file: { ...newClientFile('/f.json'), text: before }, next, format }).split('\n');
}

describe('a change', () => {
  it('has a header with the file names, two lines of context, and nothing else', async () => {
    const text = '{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "mcpServers": {\n    "x": {}\n  },\n  "d": 4,\n  "e": 5\n}\n';
    expect(await shown(text)).toEqual([
      '--- /f.json',
      '+++ /f.json',
      '@@ -4,5 +4,12 @@',
      '   "c": 3,',
      '   "mcpServers": {',
      '-    "x": {}',
      '+    "x": {},',
      '+    "code": {',
      '+      "command": "npx",',
      '+      "args": [',
      '+        "-y",',
      '+        "mcp-server-code-execution-mode"',
      '+      ]',
      '+    }',
      '   },',
      '   "d": 4,',
      '',
    ]);
  });

  it('has no context at all if a context line is long', async () => {
    const history = `  "history": "${'h'.repeat(5000)}",`;
    const lines = await shown(`{\n${history}\n  "mcpServers": {\n    "x": {}\n  }\n}\n`);
    expect(lines.join('\n')).not.toContain('hhh');
    expect(lines.join('\n')).not.toContain('…');
    expect(lines.filter((line) => line.startsWith('+    ')).length).toBe(8);
  });

  it('shows only the changed part of a file in one line', async () => {
    const history = 'h'.repeat(5000);
    const lines = await shown(`{"history": "${history}", "mcpServers": {"x": {}}, "last": "${history}"}`);
    const [removed = '', added = ''] = lines.filter((line) => /^[-+][^-+]/.test(line));
    expect(removed).toMatch(/^-…h+", "mcpServers": \{"x": \{\}\}, "last": "h+…$/);
    expect(added).toMatch(
      /^\+…h+", "mcpServers": \{"x": \{\}, "code": \{.*"mcp-server-code-execution-mode"\]\}\}, "last": "h+…$/,
    );
    expect(Math.max(removed.length, added.length)).toBeLessThan(300);
  });
});
