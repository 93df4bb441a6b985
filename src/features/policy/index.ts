/** Which calls code may make: the user's rules and limits, a gate that enforces them, and a command that explains them. */
import type { Command } from '../../edges/terminal/command.ts';
import { POLICY } from './command.ts';

export { type CurrentPolicies, createCurrentPolicies } from './current-policies.ts';
export { examinePolicies } from './doctor-check.ts';
export { createPolicyGate } from './gate.ts';
export { type CurrentProfile, createCurrentProfile, createProfileGate, createProfiles, inProfile } from './profiles.ts';
export { createVisibleTools } from './visible-tools.ts';
export { createPolicyRules, type PolicyRules } from './written-rules.ts';

export const policyCommand: Command<typeof POLICY> = {
  table: POLICY,
  async run(line, host) {
    const { policy } = await import('./run.ts');
    return policy(line, { ...host, ...(await host.loadContext()) });
  },
};
