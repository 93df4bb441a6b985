/** Tokens with the bridge, and what the same calls would have cost directly. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { denseTokens, textTokens } from '../../../src/core/base/token-estimate.ts';
import type { AuditRecord, RecordOf } from '../../../src/record/history/records.ts';
import { SavingsBuilder } from '../../../src/record/history/savings.ts';

const at = '2026-11-21T12:00:00.000Z';
const SIZES = { stdout_bytes: 0, stderr_bytes: 0, value_bytes: 0, error_bytes: 0, attachments: 0 };

function started(bridge: string, cell: number, codeBytes: number): AuditRecord {
  const run = { session: 's', generation: 1, cell, timeout_ms: 1, servers: [] };
  const code = { code_sha256: '', code_bytes: codeBytes, code: '' };
  return { type: 'cell_started', at, bridge, id: `${bridge}/s/1/${cell}`, ...run, ...code };
}

function ended(bridge: string, cell: number, answerBytes?: number): AuditRecord {
  const answer = answerBytes === undefined ? {} : { answer_bytes: answerBytes };
  const id = `${bridge}/s/1/${cell}`;
  return { type: 'cell_ended', at, bridge, id, status: 'success', duration_ms: 1, ...SIZES, ...answer };
}

function call(bridge: string, cell: number, server: string, more: Partial<RecordOf<'call'>> = {}): AuditRecord {
  const id = `${bridge}/s/1/${cell}`;
  const what = { server, tool: 't', arguments: {}, decision: 'allowed', outcome: 'ok', duration_ms: 1 } as const;
  const sizes = { arguments_bytes: 40, result_bytes: 999, text_bytes: 4_000 };
  return { type: 'call', at, bridge, id: `${id}/1`, cell: id, ...what, ...sizes, ...more };
}

function savingsOf(...records: AuditRecord[]) {
  const builder = new SavingsBuilder();
  records.forEach((record) => builder.add(record));
  return builder.result();
}

const definitions = (bridge: string, bytes: number, server?: string): AuditRecord => ({
  type: 'definitions',
  at,
  bridge,
  ...(server !== undefined && { server }),
  tools: 1,
  bytes,
});

describe('savings', () => {
  it('are direct definitions, arguments and results without what the bridge cost', () => {
    const { method, ...savings } = savingsOf(
      definitions('b', 920),
      definitions('b', 46_000, 'files'),
      started('b', 1, 400),
      call('b', 1, 'files'),
      call('b', 1, 'files'),
      call('b', 1, 'mail', { at: '2026-11-22T00:00:00.000Z' }),
      ended('b', 1, 900),
    );
    expect(savings).toEqual({
      since: at,
      calls: 3,
      bridge_tokens: 600,
      direct_tokens: 13_030,
      saved_tokens: 12_430,
      bridge: { definitions: 200, written: 100, read: 300 },
      direct: { definitions: 10_000, written: 30, read: 3_000 },
      calls_not_counted: 0,
      results_not_counted: 0,
      days: [
        { day: '2026-11-21', calls: 2, bridge_tokens: 600, direct_tokens: 12_020, saved_tokens: 11_420 },
        { day: '2026-11-22', calls: 1, bridge_tokens: 0, direct_tokens: 1_010, saved_tokens: 1_010 },
      ],
      servers: [
        { server: 'files', calls: 2, bridge_tokens: 267, direct_tokens: 12_020, saved_tokens: 11_753 },
        { server: 'mail', calls: 1, bridge_tokens: 133, direct_tokens: 1_010, saved_tokens: 877 },
        { server: null, calls: 0, bridge_tokens: 200, direct_tokens: 0, saved_tokens: -200 },
      ],
    });
    expect(method.join(' ')).toContain('25,000 tokens');
  });

  it('do not count what was refused, not sent, of the shell, or recorded before sizes were', () => {
    const old = call('b', 1, 'files');
    const { arguments_bytes: _arguments, text_bytes: _text, ...withoutSizes } = old as RecordOf<'call'>;
    const savings = savingsOf(
      started('b', 1, 0),
      withoutSizes,
      call('b', 1, 'files', { decision: 'denied', outcome: 'error' }),
      call('b', 1, 'files', { dry_run: true }),
      call('b', 1, 'files', { resumed: true }),
      ended('b', 1, 0),
      definitions('shell', 46_000, 'files'),
      started('shell', 1, 4_000),
      call('shell', 1, 'files'),
      ended('shell', 1),
    );
    expect(savings).toMatchObject({ calls: 0, bridge_tokens: 0, direct_tokens: 0, calls_not_counted: 2 });
  });

  it('count a large result as what clients show of it, and an unknown one as nothing', () => {
    const { text_bytes: _text, ...unknown } = call('b', 1, 'files') as RecordOf<'call'>;
    const savings = savingsOf(call('b', 1, 'files', { text_bytes: 1e9 }), unknown, ended('b', 1, 0));
    expect(savings).toMatchObject({ direct: { read: 25_000 }, results_not_counted: 1 });
  });

  it('count programs that a client ran', () => {
    const program = { type: 'program', at, bridge: 'b', duration_ms: 1 } as const;
    const savings = savingsOf(
      { ...program, status: 'started', code_bytes: 400 },
      { ...program, status: 'success', code_bytes: 400, stdout_bytes: 800 },
      { ...program, status: 'success', cell: 'b/s/1/1', code_bytes: 400, stdout_bytes: 800 },
    );
    expect(savings.bridge).toEqual({ definitions: 0, written: 100, read: 267 });
  });

  it('of an empty log are nothing', () => {
    expect(savingsOf()).toMatchObject({ since: null, saved_tokens: 0, days: [], servers: [] });
  });
});

// What SAVINGS_METHOD and docs/report.md say about the error of the estimate.
describe('the estimate of tokens', () => {
  const root = join(import.meta.dirname, '../../..');
  const textsOf = (folder: string, ending: string): string[] =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(ending))
      .map((name) => readFileSync(join(root, folder, name), 'utf8'));
  const bytesPerToken = (text: string): number => Buffer.byteLength(text) / encode(text).length;

  it.each([
    ['prose', 'docs', '.md'],
    ['code', 'sandbox-runtime/bridge_kernel', '.py'],
  ])('of %s is within 10 %%', (_name, folder, ending) => {
    const text = textsOf(folder, ending).join('\n').slice(0, 300_000);
    const ratio = (textTokens(1e6) / 1e6) * bytesPerToken(text);
    expect(ratio).toBeGreaterThan(0.9);
    expect(ratio).toBeLessThan(1.1);
  });

  it('of JSON is up to a quarter too low for results, and within 10 % for answers', () => {
    const text = readFileSync(join(root, 'package.json'), 'utf8');
    const bytes = bytesPerToken(JSON.stringify(JSON.parse(text)));
    expect((denseTokens(1e6) / 1e6) * bytes).toBeGreaterThan(0.9);
    expect((textTokens(1e6) / 1e6) * bytes).toBeLessThan(1);
    expect((textTokens(1e6) / 1e6) * bytes).toBeGreaterThan(0.7);
  });
});

it('count nothing of what the operator ran', () => {
  const run = { ...started('b', 2, 400), run_by: 'operator' } as AuditRecord;
  const others = [definitions('b', 46_000, 'files'), started('b', 1, 400), call('b', 1, 'files'), ended('b', 1, 900)];
  expect(savingsOf(...others, run, call('b', 2, 'files'), ended('b', 2))).toEqual(savingsOf(...others));
});
