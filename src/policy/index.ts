/** Which calls code may make: rules and limits of the person, a gate that holds them, and a command that explains them. */
export { policyCommand } from './command.ts';
export { type CurrentPolicies, createCurrentPolicies } from './current-policies.ts';
export { examinePolicies } from './doctor-check.ts';
export { createPolicyGate } from './gate.ts';
export { createVisibleTools } from './visible-tools.ts';
