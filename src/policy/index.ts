/** Which calls code may make: the user's rules and limits, a gate that enforces them, and a command that explains them. */
export { policyCommand } from './command.ts';
export { type CurrentPolicies, createCurrentPolicies } from './current-policies.ts';
export { examinePolicies } from './doctor-check.ts';
export { createPolicyGate } from './gate.ts';
export { type CurrentProfile, createCurrentProfile, createProfileGate, createProfiles, inProfile } from './profiles.ts';
export { createVisibleTools } from './visible-tools.ts';
export { createPolicyRules, type PolicyRules } from './written-rules.ts';
