/** The lines that a person follows: aligned, short, and free of control characters whatever the code chose. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { renderTailLine } from '../../../src/record/audit/tail.ts';
import type { AuditRecord, RecordOf } from '../../../src/record/history/records.ts';

const common = { at: '2026-11-21T18:26:13.800Z', bridge: 'b' };
const id = 'b/default/1/7';
const SIZES = { stdout_bytes: 1, stderr_bytes: 0, value_bytes: 0, error_bytes: 0, attachments: 0 };
const call: RecordOf<'call'> = {
  type: 'call',
  ...common,
  id: `${id}/1`,
  cell: id,
  server: 'files',
  tool: 'read',
  arguments: { path: 'string(5)' },
  decision: 'allowed',
  outcome: 'ok',
  duration_ms: 27.836,
  result_bytes: 129,
};
const code = { code_sha256: 'ab', code_bytes: 12, code: '\nx = 1\nprint(x)\n' };
const records: AuditRecord[] = [
  { type: 'session_started', ...common, session: 'default', generation: 1, engine: 'podman', isolation: 'container' },
  {
    type: 'cell_started',
    ...common,
    id,
    session: 'default',
    generation: 1,
    cell: 7,
    timeout_ms: 1,
    servers: [],
    ...code,
  },
  call,
  { ...call, decision: 'denied', rule: 'rule 2', outcome: 'error', error_code: 'POLICY_DENIED', duration_ms: 0.1 },
  { type: 'cell_ended', ...common, id, status: 'error', exception: 'ValueError', duration_ms: 83_000, ...SIZES },
];

describe('a line of audit tail', () => {
  it('has aligned columns', () => {
    expect(records.map((record) => renderTailLine(record, false)).join('')).toBe(
      `2026-11-21 18:26:13.800                       default       session default/1 started on podman
2026-11-21 18:26:13.800  started              default/1/7   x = 1 … 1 more line
2026-11-21 18:26:13.800  ok          27.8 ms  default/1/7   files.read(path: string(5))  129 bytes
2026-11-21 18:26:13.800  refused      0.1 ms  default/1/7   files.read(path: string(5))  POLICY_DENIED  denied  (rule 2)  129 bytes
2026-11-21 18:26:13.800  error        83.0 s  default/1/7   ValueError  1 byte of output
`,
    );
  });

  it('has colors only if asked to, and the same text', () => {
    for (const record of records) {
      const colored = renderTailLine(record, true);
      expect(stripVTControlCharacters(colored)).toBe(renderTailLine(record, false));
    }
    expect(renderTailLine(call, true)).toContain('\u001b[32mok');
  });

  it('shows nothing that acts on a terminal, and no more than a few lines of it', () => {
    const hostile = `\u001b[2J\u001b]0;title\u0007\r\n\u202e${'x'.repeat(100_000)}`;
    const lines = [
      {
        ...call,
        server: hostile,
        tool: hostile,
        arguments: { [hostile]: hostile },
        rule: hostile,
        cell: `b/${hostile}`,
      },
      { ...records[1], code: hostile } as RecordOf<'cell_started'>,
      { ...records[4], exception: hostile } as RecordOf<'cell_ended'>,
      { type: 'session_ended', ...common, session: hostile, generation: 1, reason: hostile } as const,
    ].map((record) => renderTailLine(record, false));
    for (const line of lines) {
      expect(line.length).toBeLessThan(2_000);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
      expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]*\n$/);
    }
  });
});
