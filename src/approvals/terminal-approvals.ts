/** Asks a person about a call that they make themselves: one question, yes or no. */
import { join } from 'node:path';
import { BridgeError } from '../base/errors.ts';
import type { Approvals, CallToApprove } from '../calls/contract.ts';
import { oneLine } from '../catalog/visible.ts';
import { howToAllow } from './cell-approvals.ts';

const MAX_NAME_CHARS = 100;
const MAX_REASON_CHARS = 300;

/** `stateDir` is where the person can allow a call for good. */
export function createTerminalApprovals(stateDir: string): Approvals {
  const policyFile = join(stateDir, 'policy.json');
  return {
    async approve(call, { asker, signal }) {
      if (asker === undefined) {
        throw notCalled(call, 'APPROVAL_UNAVAILABLE', `${call.reason}, and there is no terminal to ask on`, policyFile);
      }
      const { action, content } = await asker.ask(questionAbout(call), signal);
      if (action !== 'accept' || content?.['allow'] !== true) {
        throw notCalled(call, 'APPROVAL_DENIED', 'you were asked and did not say yes', policyFile);
      }
      return 'once';
    },
  };
}

function questionAbout({ server, tool, reason }: CallToApprove) {
  const name = oneLine(`${server}.${tool}`, MAX_NAME_CHARS);
  return {
    mode: 'form',
    message: `Your policy says to ask you about ${name}: ${oneLine(reason, MAX_REASON_CHARS)}.`,
    requestedSchema: {
      type: 'object',
      properties: { allow: { type: 'boolean', title: 'Make this call' } },
      required: ['allow'],
    },
  } as const;
}

function notCalled(
  call: CallToApprove,
  code: 'APPROVAL_DENIED' | 'APPROVAL_UNAVAILABLE',
  why: string,
  policyFile: string,
): BridgeError {
  const { server, tool } = call;
  return new BridgeError(code, `${server}.${tool} was not called: ${why}`, {
    hint: howToAllow(call, policyFile),
    data: { server, tool },
  });
}
