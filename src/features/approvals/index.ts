/** Asks the person about calls for which a policy requires approval. */
export { createCellApprovals } from './cell-approvals.ts';
export { createTerminalApprovals } from './terminal-approvals.ts';
