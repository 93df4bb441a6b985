/** The errors of calls that were not made because they were not approved. */
import type { Reply } from '../../core/base/cell.ts';
import { NO_ENTRY } from '../../core/base/egress.ts';
import { BridgeError, type ErrorCode } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import type { CallToApprove } from '../../core/calls/contract.ts';
import { MAX_FORM_CHARS } from './approval-form.ts';

export function notCalled(
  { server, tool }: CallToApprove,
  code: ErrorCode,
  why: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): BridgeError {
  return new BridgeError(code, `${server}.${tool} was not called: ${why}`, { ...options, data: { server, tool } });
}

/** Where a reason says that the policy in the entry of a server asks. */
const OF_ENTRY = / of (.+) \((\S+\.policy)\)/;

/** The rule that always allows the call. Of two policies, the stricter one wins, so it belongs where the one is that asks. */
export function howToAllow({ server, tool, reason, arguments: given }: CallToApprove, policyFile: string): string {
  const [, file, place] = OF_ENTRY.exec(reason) ?? [];
  if (place !== undefined) {
    const own = JSON.stringify({ effect: 'allow', tool });
    return `Only the user can allow this call, by adding ${own} as the first of "rules" in ${place} of ${file}.`;
  }
  if (reason.startsWith(NO_ENTRY)) {
    const { path } = given;
    const origin = typeof path === 'string' && URL.canParse(path) ? new URL(path).origin : server;
    return `Only the user can allow this host: ${COMMAND} servers add NAME --egress ${origin}`;
  }
  const rule = JSON.stringify({ effect: 'allow', server, tool });
  return `Only the user can allow this call, by adding ${rule} as the first of "rules" in ${policyFile}.`;
}

export function cancelled(call: CallToApprove): BridgeError {
  return notCalled(call, 'CALL_CANCELLED', 'it was cancelled');
}

export function denied(call: CallToApprove, { action, content }: Reply): BridgeError {
  const isEmpty = action === 'accept' && Object.keys(content ?? {}).length === 0;
  const closed = 'the user was asked and closed the question without an answer';
  const empty = 'the user was asked, and the reply contains no answer';
  const why = action === 'cancel' ? closed : isEmpty ? empty : 'the user was asked and said no';
  return notCalled(call, 'APPROVAL_DENIED', why, {
    hint: 'Continue without this call, or ask the user what to do instead.',
  });
}

/** @param job the background job that makes the call, if one does. */
export function unavailable(call: CallToApprove, job: string | undefined, policyFile: string): BridgeError {
  const client = 'this client cannot ask (it does not support elicitation; exec asks only at a terminal)';
  const who = job === undefined ? client : 'a background job cannot ask';
  const hint = howToAllow(call, policyFile);
  return notCalled(call, 'APPROVAL_UNAVAILABLE', `${call.reason}, and ${who}`, {
    hint: job === undefined ? hint : `Make the call in a cell. ${hint}`,
  });
}

/** @param chars length of a form with the call's arguments. */
export function tooLong(call: CallToApprove, chars: number, policyFile: string): BridgeError {
  const clause = `a form with its arguments would have ${chars.toLocaleString('en-US')} characters`;
  const limit = `the limit is ${MAX_FORM_CHARS.toLocaleString('en-US')}`;
  return notCalled(call, 'APPROVAL_UNAVAILABLE', `${call.reason}, and ${clause}; ${limit}`, {
    hint: `Pass less in one call. ${howToAllow(call, policyFile)}`,
  });
}

/** The error of a question that failed, as the error of one of its calls. */
export function failedQuestion(call: CallToApprove, error: BridgeError, policyFile: string): BridgeError {
  const hint = error.hint ?? howToAllow(call, policyFile);
  return notCalled(call, error.code, error.message, { hint, cause: error });
}
