/** Asks the person about calls that a policy leaves to them. */
export { createCellApprovals } from './cell-approvals.ts';
export { createTerminalApprovals } from './terminal-approvals.ts';
