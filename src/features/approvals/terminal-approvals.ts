/** Asks the person at a terminal about a call that they make themselves: one question, yes or no. */
import { join } from 'node:path';
import type { Approvals, CallToApprove } from '../../core/calls/contract.ts';
import { oneLine } from '../../core/catalog/visible.ts';
import { MAX_NAME_CHARS, MAX_REASON_CHARS } from './approval-form.ts';
import { howToAllow, notCalled } from './refusals.ts';

/** @param stateDir the state directory, whose policy can always allow a call. */
export function createTerminalApprovals(stateDir: string): Approvals {
  const policyFile = join(stateDir, 'policy.json');
  return {
    async approve(call, { asker, signal }) {
      const hint = howToAllow(call, policyFile);
      if (asker === undefined) {
        throw notCalled(call, 'APPROVAL_UNAVAILABLE', `${call.reason}, and there is no terminal to ask at`, { hint });
      }
      const { action, content } = await asker.ask(questionAbout(call), signal);
      if (action !== 'accept' || content?.['allow'] !== true) {
        throw notCalled(call, 'APPROVAL_DENIED', 'you were asked and did not say yes', { hint });
      }
      return 'once';
    },
  };
}

function questionAbout({ server, tool, reason }: CallToApprove) {
  const name = oneLine(`${server}.${tool}`, MAX_NAME_CHARS);
  return {
    mode: 'form',
    message: `Your policy requires your approval for ${name}: ${oneLine(reason, MAX_REASON_CHARS)}.`,
    requestedSchema: {
      type: 'object',
      properties: { allow: { type: 'boolean', title: 'Make this call' } },
      required: ['allow'],
    },
  } as const;
}
