import { expect, test } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import type { Approvals, CallFacts, CallGate, CallToApprove, ToolCall } from '../../../src/core/calls/contract.ts';
import { createCallPipeline, type SendCall } from '../../../src/core/calls/pipeline.ts';
import type { Asker } from '../../../src/core/session/asker.ts';
import { createPolicyGate } from '../../../src/features/policy/gate.ts';
import { Policies } from '../../../src/features/policy/rules/policies.ts';
import { readPolicy } from '../../../src/features/policy/rules/schema.ts';
import { pause } from '../../support/pause.ts';

const CALL: ToolCall = {
  server: { name: 'files', alias: 'files', description: '' },
  tool: { name: 'read', alias: 'read', inputSchema: { properties: { lines: {}, path: {} }, required: ['path'] } },
  arguments: { path: '/a' },
  context: {
    session: 'default',
    generation: 1,
    cell: 1,
    call: 1,
    loaded: new Set(['files']),
    signal: new CancelSource(),
  },
};

const cannotAsk: Approvals = {
  approve: () => Promise.reject(new BridgeError('APPROVAL_UNAVAILABLE', 'no one to ask')),
};

function gateFor(policy: unknown, approvals: Approvals = cannotAsk) {
  const policies = policy === undefined ? undefined : new Policies(readPolicy(policy, '/policy.json'), new Map());
  return through(createPolicyGate(() => policies, approvals));
}

/** Makes calls through one gate; `facts` collects what the gate reports about them. */
function through(gate: CallGate, facts: CallFacts[] = []) {
  const note: CallGate = async (call, next) => {
    const outcome = await next(call);
    facts.push(outcome);
    return outcome;
  };
  const { make } = createCallPipeline({ gates: [note, gate] });
  return (call: ToolCall, send: SendCall) => make(call, send);
}

const proceed = async () => 'result';
const neverMade = () => expect.fail('the call was made');

/** Ends only when the call is cancelled. */
const untilCancelled = (call: ToolCall = CALL) =>
  new Promise((_, reject) => {
    call.context.signal.addEventListener('abort', () => reject(new BridgeError('CALL_CANCELLED', 'x')));
  });

test('without a policy, or if the policy allows it, a call goes on unchanged', async () => {
  for (const policy of [undefined, { default: 'allow' }]) {
    expect(await gateFor(policy)(CALL, async (call) => call)).toBe(CALL);
  }
});

test('a denied call is not made, and the refusal names the rule and who can change it', async () => {
  await expect(gateFor({ default: 'deny' })(CALL, neverMade)).rejects.toMatchObject({
    code: 'POLICY_DENIED',
    message: 'files.read was not called: "default" of /policy.json denies it',
    hint: 'Only the user can change the policy. Continue without this call, or tell the user what you need it for.',
  });
});

test('a call that needs approval waits for the answer', async () => {
  const asked: CallToApprove[] = [];
  const approve = async (call: CallToApprove) => {
    asked.push(call);
    return 'once' as const;
  };
  expect(await gateFor({ default: 'ask' }, { approve })(CALL, proceed)).toBe('result');
  const reason = '"default" of /policy.json asks for approval';
  const tool = { tool: 'read', alias: 'read', parameters: ['path', 'lines'] };
  expect(asked).toEqual([{ server: 'files', ...tool, arguments: { path: '/a' }, reason }]);
  const no = { approve: () => Promise.reject(new BridgeError('APPROVAL_DENIED', 'no')) };
  await expect(gateFor({ default: 'ask' }, no)(CALL, neverMade)).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
});

test('if no one can be asked, the call is refused', async () => {
  await expect(gateFor({ default: 'ask' })(CALL, neverMade)).rejects.toMatchObject({ code: 'APPROVAL_UNAVAILABLE' });
});

test('the person is not asked about calls beyond the limit', async () => {
  const gate = gateFor({ default: 'ask', limits: [{ callsPerCell: 1 }] }, { approve: async () => 'once' });
  expect(await gate(CALL, proceed)).toBe('result');
  await expect(gate(CALL, neverMade)).rejects.toMatchObject({ code: 'POLICY_LIMIT' });
});

test('only as many calls run at the same time as allowed, and failed ones free their slots', async () => {
  const gate = gateFor({ limits: [{ callsInFlight: 2 }] });
  let running = 0;
  let most = 0;
  const calls = Array.from({ length: 6 }, (_, index) =>
    gate(CALL, async () => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      if (index % 2 === 0) {
        throw new BridgeError('TOOL_FAILED', 'no');
      }
    }),
  );
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  expect(most).toBe(2);
});

test('a call that exceeds the deadline is cancelled at its server, and the hint says that it had been sent', async () => {
  const late = gateFor({ limits: [{ deadline: '1m' }, { deadline: '10ms' }] })(CALL, async (changed) => {
    return untilCancelled(changed);
  });
  await expect(late).rejects.toMatchObject({
    code: 'POLICY_LIMIT',
    message: 'the call was cancelled after 0.01 s, the deadline in limits[1] of /policy.json',
    hint: 'The call had been sent, so the server may have done part of the work. Check before you repeat it.',
  });
});

test('the deadline of a call is paused while its server asks the person', async () => {
  let reply: (value: { action: 'decline' }) => void = () => undefined;
  const asker: Asker = { code: '', opensPages: false, ask: () => new Promise((resolve) => (reply = resolve)) };
  const call = { ...CALL, context: { ...CALL.context, asker } };
  const limit = { limits: [{ deadline: '20ms' }] };
  const answered = gateFor(limit)(call, async ({ context }) => {
    const asked = context.asker?.ask({ mode: 'form', message: '', requestedSchema: {} }, context.signal);
    await pause(100, 'the person thinks for five times the deadline');
    reply({ action: 'decline' });
    return [await asked, context.signal.aborted];
  });
  expect(await answered).toEqual([{ action: 'decline' }, false]);
});

test('a call with a deadline is also cancelled with its cell', async () => {
  const cell = new CancelSource();
  const call = { ...CALL, context: { ...CALL.context, signal: cell.signal } };
  const cancelled = gateFor({ limits: [{ deadline: '1m' }] })(call, async (changed) => {
    const ended = untilCancelled(changed);
    cell.abort();
    return ended;
  });
  await expect(cancelled).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});

test('a result that is too large is withheld, and the refusal says that the call was made', async () => {
  const gate = gateFor({ limits: [{ resultBytes: 10 }] });
  expect(await gate(CALL, async () => 'ä'.repeat(4))).toBe('ääää');
  await expect(gate(CALL, async () => 'ä'.repeat(5))).rejects.toMatchObject({
    code: 'POLICY_LIMIT',
    message: 'the call was made, but its result has 12 bytes; limits[0] of /policy.json allows 10',
  });
});

/** A call that runs until it is released. */
function startCall(gate: ReturnType<typeof through>) {
  let made: Promise<unknown> = Promise.resolve();
  const running = new Promise<() => void>((resolve) => {
    made = gate(CALL, () => new Promise<void>((end) => resolve(end)));
  });
  return { running, made };
}

// If the user saw a question or a long queue and then forbade the call, it was made anyway.
test('a call that waits for approval or for a slot is refused if the policy forbids it in the meantime', async () => {
  const read = (policy: unknown) => new Policies(readPolicy(policy, '/policy.json'), new Map());
  let current: Policies | undefined = read({ default: 'ask' });
  const approve = async () => {
    current = read({ default: 'deny' });
    return 'once' as const;
  };
  const facts: CallFacts[] = [];
  const gate = through(
    createPolicyGate(() => current, { approve }),
    facts,
  );
  await expect(gate(CALL, neverMade)).rejects.toMatchObject({ code: 'POLICY_DENIED' });

  current = read({ limits: [{ callsInFlight: 1 }] });
  const first = startCall(gate);
  const release = await first.running;
  const second = gate(CALL, neverMade);
  current = read({ default: 'deny' });
  release();
  await first.made;
  await expect(second).rejects.toMatchObject({ code: 'POLICY_DENIED' });
  expect(facts.at(-1)?.decision?.effect).toBe('deny');
});

test('a call that waited for a slot is asked about once if the policy requires it in the meantime', async () => {
  const read = (policy: unknown) => new Policies(readPolicy(policy, '/policy.json'), new Map());
  let current: Policies | undefined = read({ limits: [{ callsInFlight: 1 }] });
  let asked = 0;
  const approve = async () => {
    asked += 1;
    return 'once' as const;
  };
  const gate = through(createPolicyGate(() => current, { approve }));
  const first = startCall(gate);
  const release = await first.running;
  const second = gate(CALL, proceed);
  current = read({ default: 'ask' });
  release();
  await first.made;
  expect(await second).toBe('result');
  expect(asked).toBe(1);
});

test('a waiting call goes on if the policy is removed in the meantime', async () => {
  let current: Policies | undefined = new Policies(readPolicy({ default: 'ask' }, '/policy.json'), new Map());
  const approve = async () => {
    current = undefined;
    return 'once' as const;
  };
  expect(await through(createPolicyGate(() => current, { approve }))(CALL, proceed)).toBe('result');
});
