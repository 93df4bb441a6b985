import { expect, test } from 'vitest';
import { type Approvals, type CallToApprove, nobodyToAsk } from '../../../src/commands/approvals.ts';
import { createPolicyGate } from '../../../src/commands/policy-gate.ts';
import type { ToolCall } from '../../../src/commands/tool-calls.ts';
import { BridgeError } from '../../../src/errors.ts';
import type { Effect } from '../../../src/policy/decision.ts';

const { signal } = new AbortController();
const CALL: ToolCall = {
  server: { name: 'files', alias: 'files', description: '' },
  tool: { name: 'read', alias: 'read', description: '', inputSchema: {} },
  arguments: { path: '/a' },
  context: { session: 'default', cell: 1, call: 1, loaded: new Set(['files']), signal },
};
const gateFor = (effect: Effect, approvals: Approvals) =>
  createPolicyGate(() => ({ decide: () => ({ effect, reason: 'rule 1 says so' }) }), approvals);
const proceed = async () => 'result';

test('a call goes on when there is no policy, and when the policy allows it', async () => {
  expect(await createPolicyGate(() => undefined, nobodyToAsk)(CALL, proceed)).toBe('result');
  expect(await gateFor('allow', nobodyToAsk)(CALL, proceed)).toBe('result');
});

test('a call that is denied never goes on, and the refusal says what decides', async () => {
  const refusal = gateFor('deny', nobodyToAsk)(CALL, () => expect.fail('the call was made'));
  await expect(refusal).rejects.toMatchObject({
    code: 'POLICY_DENIED',
    message: 'files.read was not called: rule 1 says so',
  });
});

test('a call that needs a person waits for the answer', async () => {
  const asked: CallToApprove[] = [];
  const approve = async (call: CallToApprove) => {
    asked.push(call);
  };
  expect(await gateFor('ask', { approve })(CALL, proceed)).toBe('result');
  expect(asked).toEqual([{ server: 'files', tool: 'read', arguments: { path: '/a' }, reason: 'rule 1 says so' }]);
  const no = { approve: () => Promise.reject(new BridgeError('APPROVAL_DENIED', 'no')) };
  const refused = gateFor('ask', no)(CALL, () => expect.fail('the call was made'));
  await expect(refused).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
});

test('where nobody can be asked the call is refused', async () => {
  const refused = gateFor('ask', nobodyToAsk)(CALL, () => expect.fail('the call was made'));
  await expect(refused).rejects.toMatchObject({
    code: 'APPROVAL_UNAVAILABLE',
    message: 'files.read was not called: rule 1 says so, and nobody can be asked here',
  });
});
