/** What `install` shows of a change: all of it, and nothing that the client keeps beside. */

import { describe, expect, it } from 'vitest';
import { loadFormat } from '../../../src/clients/format.ts';
import { newClientFile } from '../../../src/servers/client-file.ts';
import { renderChange } from '../../../src/terminal/file-change.ts';

const ENTRY = { command: 'npx', args: ['-y', 'mcp-server-code-execution-mode'] };

async function shown(before: string): Promise<string[]> {
  const format = await loadFormat('json');
  const next = format.add(before, { keys: ['mcpServers'], name: 'code' }, ENTRY);
  return renderChange({ file: { ...newClientFile('/f.json'), text: before }, next, format }).split('\n');
}

describe('a change', () => {
  it('has the names of the file above, two lines around, and nothing else', async () => {
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

  it('leaves out long lines around it as a whole, and cuts none', async () => {
    const history = `  "history": "${'h'.repeat(5000)}",`;
    const lines = await shown(`{\n${history}\n  "mcpServers": {\n    "x": {}\n  }\n}\n`);
    expect(lines.join('\n')).not.toContain('hhh');
    expect(lines.join('\n')).not.toContain('…');
    expect(lines.filter((line) => line.startsWith('+    ')).length).toBe(8);
  });

  it('shows of a file in one line the part that changes', async () => {
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
