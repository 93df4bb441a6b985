/** What a flood of calls does to the record, and what answers say about it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { ProgramResult } from '../../../src/core/base/program.ts';
import { succeeded, type ToolCall } from '../../../src/core/calls/contract.ts';
import { recordProgram } from '../../../src/record/audit/program-record.ts';
import { renderRecord } from '../../../src/record/audit/text.ts';
import { AuditTrail, type EndedCall } from '../../../src/record/audit/trail.ts';
import { createAuditWatcher, createRequiredGate } from '../../../src/record/audit/watch.ts';
import { type AuditRecord, AuditRecordSchema } from '../../../src/record/history/records.ts';
import { begunCell, SUCCESS, watchedRun } from '../../support/watched-run.ts';

const RUN = { session: 'default', generation: 1, cell: 1 };

function createTrail(
  audit: 'on' | 'required' = 'on',
  isBroken = false,
  maxAnswerChars?: number,
  client?: () => string,
) {
  const stateDir = mkdtempSync(join(tmpdir(), 'audit-trail-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const folder = join(stateDir, 'audit');
  if (isBroken) {
    writeFileSync(folder, '');
  }
  const settings = { stateDir, audit, auditMaxBytes: 1e9, auditMaxAgeDays: 1 } as const;
  const trail = new AuditTrail('0'.repeat(36), settings, {
    mask: (text) => text.replaceAll('s3cret', '***'),
    logger: silentLogger,
    client,
    maxAnswerChars,
  });
  onTestFinished(() => trail.close());
  const records = async (): Promise<AuditRecord[]> => {
    await trail.close();
    const text = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    return text
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => AuditRecordSchema.parse(JSON.parse(line)));
  };
  return { trail, folder, records };
}

function call(number: number, more: Partial<EndedCall> = {}): EndedCall {
  const shape = { shapes: {}, undeclared: 0 };
  const what = { server: 'files', tool: 'read', shape, isRefused: false, startedAt: 1, durationMs: 1 };
  return { ...RUN, call: number, ...what, ...more };
}
const refused = { isRefused: true, errorCode: 'TOOL_UNKNOWN' } as const;
const endCell = (trail: AuditTrail) => trail.cellEnded(RUN, SUCCESS, 1);

describe('a flood of refused calls', () => {
  // 22 of 25 real calls were missing after one.
  it('is counted, and every real call has its record', async () => {
    const { trail, records } = createTrail();
    for (let number = 0; number < 10_000; number += 1) {
      trail.callEnded(call(number, refused));
    }
    for (let number = 0; number < 25; number += 1) {
      trail.callEnded(call(number));
    }
    endCell(trail);
    expect(await trail.takeNotices('default')).toEqual([]);
    const found = await records();
    const calls = found.filter((record) => record.type === 'call');
    expect(calls.filter(({ outcome }) => outcome === 'ok')).toHaveLength(25);
    expect(calls.filter(({ outcome }) => outcome === 'error')).toHaveLength(100);
    expect(found.slice(-2)).toMatchObject([
      { type: 'calls_refused', server: 'files', tool: 'read', error_code: 'TOOL_UNKNOWN', calls: 9_900 },
      { type: 'cell_ended' },
    ]);
  });

  it('is counted even if each has another name, or comes from a job', async () => {
    const { trail, records } = createTrail();
    for (let number = 0; number < 10_000; number += 1) {
      trail.callEnded(call(number, { ...refused, tool: `read_${number}`, cell: number % 2 }));
    }
    endCell(trail);
    trail.sessionEnded({ session: 'default', generation: 1 }, 'it was reset');
    const found = await records();
    expect(found.length).toBeLessThan(450);
    const counted = found.map((record) =>
      record.type === 'calls_refused' ? record.calls : Number(record.type === 'call'),
    );
    expect(counted.reduce((sum, calls) => sum + calls, 0)).toBe(10_000);
  });
});

describe('lost records', () => {
  it.each(['on', 'required'] as const)(
    'are reported in the answers of their session, whatever comes next (%s)',
    async (audit) => {
      const { trail, folder, records } = createTrail(audit, true);
      for (let number = 0; number < 5_000; number += 1) {
        trail.callEnded(call(number));
      }
      await trail.takeNotices('other');
      rmSync(folder);
      await trail.takeNotices('other');
      endCell(trail);
      trail.callEnded(call(1, { session: 'other' }));
      expect(await trail.takeNotices('other')).toEqual([]);
      const [notice = '', ...others] = await trail.takeNotices('default');
      const [lost = ''] = /[\d,]+(?= records were lost)/.exec(notice) ?? [];
      expect(Number(lost.replace(',', ''))).toBeGreaterThan(500);
      expect(others).toEqual([]);
      expect(await trail.takeNotices('default')).toEqual([]);
      const found = await records();
      expect(found.filter(({ type }) => type === 'lost')).toMatchObject([
        { session: 'default', records: Number(lost.replace(',', '')) },
      ]);
    },
  );
});

describe('if a record is required', () => {
  it('a call waits until there is room for its record, which is then written', async () => {
    const { trail, folder, records } = createTrail('required', true);
    const gate = createRequiredGate(trail);
    // Twice, because the first failed write takes a batch out of the queue.
    for (const _ of [1, 2]) {
      for (let number = 0; number < 5_000; number += 1) {
        trail.callEnded(call(number));
      }
      await trail.takeNotices('default');
    }
    let isSent = false;
    const watched = watchedRun(createAuditWatcher(trail));
    const made = watched.call(toolCall(), (one) =>
      gate(one, async () => {
        isSent = true;
        return succeeded('result');
      }),
    );
    await trail.takeNotices('other');
    expect(isSent).toBe(false);
    rmSync(folder);
    await trail.takeNotices('other');
    expect(await made).toMatchObject({ ok: true });
    expect((await records()).at(-1)).toMatchObject({ type: 'call', tool: 'write' });
  });

  it('a call that cannot be recorded is not made', async () => {
    const gate = createRequiredGate({ callStarts: () => Promise.reject(new Error('no room')) });
    expect(await gate(toolCall(), () => expect.fail())).toMatchObject({ ok: false });
  });
});

function toolCall(): ToolCall {
  return {
    server: { name: 'files', alias: 'files', description: '' },
    tool: { name: 'write', alias: 'write', inputSchema: {} },
    arguments: {},
    context: { ...RUN, call: 1, loaded: new Set(), signal: new CancelSource() },
  };
}

// The loss was counted for no session, so no answer reported it.
it('the answer of a session reports a lost record of a saved function', async () => {
  const { trail } = createTrail('on', true);
  for (let number = 0; number < 5_000; number += 1) {
    trail.callEnded(call(number));
  }
  const before = await trail.takeNotices('default');
  trail.toolSaved(RUN, { name: 'f', sha256: '0', bytes: 1, asked: false });
  expect(before[0]).toMatch(/records were lost/);
  expect((await trail.takeNotices('default'))[0]).toMatch(/1 record was lost/);
});

it('a cell is recorded with a short name of its client', async () => {
  const { trail, records } = createTrail('on', false, undefined, () => `s3cret client ${'x'.repeat(1_000)}`);
  void trail.cellStarted(begunCell(RUN, { code: '1' }));
  const [cell] = await records();
  const { client = '' } = cell as { client?: string };
  expect([client.slice(0, 13), client.length < 110]).toEqual(['*** client xx', true]);
});

it('a saved file is recorded with its cell and its call, and without secrets', async () => {
  const { trail, records } = createTrail();
  const saved = { name: 'of s3cret.csv', sizeBytes: 12, modified: new Date('2026-11-21T10:00:00.123Z') };
  trail.artifactSaved({ ...RUN, call: 7 }, saved);
  expect(await records()).toMatchObject([
    {
      type: 'artifact_saved',
      cell: expect.stringMatching(/\/default\/1\/1$/),
      call: 7,
      name: 'of ***.csv',
      bytes: 12,
      modified: '2026-11-21T10:00:00.123Z',
    },
  ]);
});

describe('a program', () => {
  const source = { kind: 'code', language: 'js', code: 'console.log(1)' } as const;
  const result: ProgramResult = {
    status: 'error',
    exitCode: 3,
    stdout: 'one',
    stderr: 'é',
    droppedBytes: 0,
    durationMs: 5,
    files: [],
  };

  it('is recorded with its code, its cell and its end', async () => {
    const { trail, records } = createTrail();
    const answer = await recordProgram(trail, RUN, { source }, async (noteSource) => {
      noteSource({ language: 'javascript', code: source.code });
      return result;
    });
    expect(answer).toBe(result);
    expect(await records()).toMatchObject([
      {
        type: 'program',
        cell: expect.stringMatching(/\/default\/1\/1$/) as string,
        language: 'javascript',
        code: source.code,
        code_bytes: 14,
        status: 'error',
        exit_code: 3,
        stdout_bytes: 3,
        stderr_bytes: 2,
      },
    ]);
  });

  it('that a client ran has no cell, and one that did not run has the reason', async () => {
    const { trail, records } = createTrail();
    const refusal = new BridgeError('CALL_REFUSED', 'there is no snippet');
    const request = { source: { kind: 'snippet', name: 'daily' } } as const;
    await expect(recordProgram(trail, undefined, request, () => Promise.reject(refusal))).rejects.toBe(refusal);
    const [record] = await records();
    expect(record).toMatchObject({ type: 'program', snippet: 'daily', status: 'refused', error_code: 'CALL_REFUSED' });
    expect(record).not.toHaveProperty('cell');
    expect(record === undefined ? '' : renderRecord(record)).toMatch(
      /execute_code {2}ran snippet daily: refused CALL_REFUSED/,
    );
  });

  it('does not run if it must be recorded and cannot be', async () => {
    const { trail } = createTrail('required', true);
    const work = vi.fn<() => Promise<ProgramResult>>(async () => result);
    await expect(recordProgram(trail, undefined, { source }, work)).rejects.toMatchObject({
      code: 'AUDIT_UNAVAILABLE',
    });
    expect(work).not.toHaveBeenCalled();
  });
});

it('a cell of the operator is recorded as theirs, and as one whose answer no client reads', async () => {
  const { records, trail } = createTrail('on', false, 1_000);
  void trail.cellStarted(begunCell(RUN, { code: '1', ranBy: 'operator' }));
  endCell(trail);
  void trail.cellStarted(begunCell({ ...RUN, cell: 2 }, { code: '1' }));
  trail.cellEnded({ ...RUN, cell: 2 }, SUCCESS, 1);
  const [started, ended, other, otherEnd] = await records();
  expect([started, other]).toMatchObject([{ run_by: 'operator' }, { cell: 2 }]);
  expect([ended, otherEnd].map((record) => record !== undefined && 'answer_bytes' in record)).toEqual([false, true]);
  expect(other).not.toHaveProperty('run_by');
  expect(started && renderRecord(started)).toContain('started: 1 byte of code, run by the operator');
});
