/** Lets a call of a tool through, has a person asked, or refuses it, as the policies of the person say. */
import { BridgeError } from '../errors.ts';
import type { Decision, PolicyCall } from '../policy/decision.ts';
import type { Approvals } from './approvals.ts';
import type { CallGate } from './tool-calls.ts';

/** The policies of now; undefined when there is none, so that every call may be made. Asked at every call. */
export type CurrentPolicy = () => { decide(call: PolicyCall): Decision } | undefined;

export function createPolicyGate(current: CurrentPolicy, approvals: Approvals): CallGate {
  return (call, proceed) => {
    const policy = current();
    if (policy === undefined) {
      return proceed();
    }
    const { effect, reason } = policy.decide(call);
    if (effect === 'deny') {
      return Promise.reject(denied(`${call.server.name}.${call.tool.name}`, reason));
    }
    if (effect === 'allow') {
      return proceed();
    }
    const { server, tool, arguments: given, line, context } = call;
    const asked = { server: server.name, tool: tool.name, arguments: given, reason, line };
    return approvals.approve(asked, context).then(proceed);
  };
}

function denied(what: string, reason: string): BridgeError {
  return new BridgeError('POLICY_DENIED', `${what} was not called: ${reason}`, {
    hint: 'Only the person who runs this can change it. Do without the call, or tell them what it is for.',
  });
}
