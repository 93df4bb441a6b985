/** What the record says about who decided a call, a rule or a person, and for how long. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import { BridgeError, type ErrorCode } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { Approvals, CallGate, ToolCall } from '../../../src/core/calls/contract.ts';
import { BridgeEvents } from '../../../src/core/calls/events.ts';
import { createCallPipeline } from '../../../src/core/calls/pipeline.ts';
import { createPolicyGate } from '../../../src/features/policy/gate.ts';
import { Policies } from '../../../src/features/policy/rules/policies.ts';
import { readPolicy } from '../../../src/features/policy/rules/schema.ts';
import { AuditTrail } from '../../../src/record/audit/trail.ts';
import { createAuditWatcher, createRequiredGate } from '../../../src/record/audit/watch.ts';
import { AuditRecordSchema } from '../../../src/record/history/records.ts';
import { pause } from '../../support/pause.ts';

const fails = (code: ErrorCode) => () => Promise.reject(new BridgeError(code, 'no'));
const answers = async () => 'result';
const once = async () => 'once' as const;
const cell = async () => 'cell' as const;
const ASK = { default: 'ask' };

interface Setup {
  readonly policy: unknown;
  readonly approve?: Approvals['approve'];
  /** Gets the lines of the log. */
  readonly send?: (linesNow: () => string[]) => Promise<unknown>;
  readonly audit?: 'on' | 'required';
  /** Records in the log at the end; one for each time by default. */
  readonly lines?: number;
  /** The policy in force after a person has answered; `policy` by default. */
  readonly later?: unknown;
  /** Number of times the call is made. */
  readonly times?: number;
}

/** The fields of the last record that say who decided. */
async function recordOf(setup: Setup) {
  const { decision, answer, approval } = await lastRecordOf(setup);
  return { decision, answer, approval };
}

async function lastRecordOf(setup: Setup) {
  const {
    policy,
    approve = once,
    send = answers,
    later = policy,
    times = 1,
    audit = 'on',
    lines: count = times,
  } = setup;
  const stateDir = mkdtempSync(join(tmpdir(), 'audit-gate-'));
  const settings = { stateDir, audit, auditMaxBytes: 1e6, auditMaxAgeDays: 1 } as const;
  const trail = new AuditTrail('0'.repeat(36), settings, { mask: (text) => text, logger: silentLogger });
  const read = (value: unknown) => new Policies(readPolicy(value, '/policy.json'), new Map());
  let policies = read(policy);
  const approvals: Approvals = {
    async approve(call, context) {
      const approval = await approve(call, context);
      policies = later === policy ? policies : read(later);
      return approval;
    },
  };
  // The record must be complete even if a gate in between passes on a copy of the call.
  const copying: CallGate = (one, next) => next({ ...one });
  const begin = audit === 'required' ? [createRequiredGate(trail)] : [];
  const gates = [copying, createPolicyGate(() => policies, approvals), ...begin];
  const pipeline = createCallPipeline({ gates, events: new BridgeEvents([createAuditWatcher(trail)]) });
  const call: ToolCall = {
    server: { name: 'files', alias: 'files', description: '' },
    tool: { name: 'read', alias: 'read', inputSchema: {} },
    arguments: {},
    context: { session: 's', generation: 1, cell: 1, call: 1, loaded: new Set(), signal: new CancelSource() },
  };
  const folder = join(stateDir, 'audit');
  const linesNow = () =>
    readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'));
  for (let made = 0; made < times; made += 1) {
    await pipeline.make(call, () => send(linesNow)).catch(() => undefined);
  }
  await trail.close();
  const lines = linesNow();
  rmSync(stateDir, { recursive: true });
  expect(lines).toHaveLength(count);
  const record = AuditRecordSchema.parse(JSON.parse(lines.at(-1) ?? ''));
  return record.type === 'call' ? record : expect.fail();
}

test.each<[string, Setup, object]>([
  ['a rule allows', { policy: { default: 'allow' } }, { decision: 'allowed' }],
  ['a rule denies', { policy: { default: 'deny' } }, { decision: 'denied' }],
  ['a person allows', { policy: ASK }, { decision: 'asked', answer: 'allowed', approval: 'once' }],
  [
    'a person has allowed all in the cell',
    { policy: ASK, approve: cell },
    { decision: 'asked', answer: 'allowed', approval: 'cell' },
  ],
  [
    'a person allows, and the call is cancelled afterwards',
    { policy: ASK, send: fails('CALL_CANCELLED') },
    { decision: 'asked', answer: 'allowed', approval: 'once' },
  ],
  ['a person allows, and a new policy denies', { policy: ASK, later: { default: 'deny' } }, { decision: 'denied' }],
  ['a person says no', { policy: ASK, approve: fails('APPROVAL_DENIED') }, { decision: 'asked', answer: 'denied' }],
  // It was recorded as allowed.
  [
    'the call is cancelled before an answer',
    { policy: ASK, approve: fails('CALL_CANCELLED') },
    { decision: 'asked', answer: 'cancelled' },
  ],
  // So was this, although no one was asked.
  [
    'a limit refuses before anyone is asked',
    { policy: { ...ASK, limits: [{ callsPerCell: 1 }] }, times: 2 },
    { decision: 'denied' },
  ],
  // It was recorded as denied, although the server had been called.
  [
    'the result of an allowed call is over a limit',
    { policy: { limits: [{ resultBytes: 1 }] } },
    { decision: 'allowed' },
  ],
])('%s', async (_what, setup, expected) => {
  expect(await recordOf(setup)).toEqual({ answer: undefined, approval: undefined, ...expected });
});

// The time that a person took was time of the tool.
test('the wait for a person is not time of the tool', async () => {
  const { duration_ms: durationMs, approval_ms: approvalMs } = await lastRecordOf({
    policy: ASK,
    approve: async () => {
      await pause(200, 'the time itself is measured');
      return 'once';
    },
  });
  expect(approvalMs).toBeGreaterThan(190);
  expect(durationMs).toBeLessThan(100);
  expect((await lastRecordOf({ policy: {} })).approval_ms).toBeUndefined();
});

test('a required record is in the file before the call is sent, and only then', async () => {
  let before: string[] = [];
  const send = async (linesNow: () => string[]) => {
    before = linesNow();
    return 'result';
  };
  const made = await lastRecordOf({ policy: {}, audit: 'required', send, lines: 2 });
  expect(before).toHaveLength(1);
  const begun = AuditRecordSchema.parse(JSON.parse(before[0] ?? ''));
  expect(begun).toMatchObject({ type: 'call', id: made.id, server: 'files', outcome: 'started', duration_ms: 0 });
  expect(made.outcome).toBe('ok');
  const refused = await lastRecordOf({ policy: { default: 'deny' }, audit: 'required', send, lines: 1 });
  expect(refused.decision).toBe('denied');
});
