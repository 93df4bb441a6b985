/** The record of cells and calls: written from the events of a bridge, read by a command. */
export { auditCommand } from './command.ts';
export { recordProgram } from './program-record.ts';
export { type AuditTrail, openAuditTrail, withAuditNotices } from './trail.ts';
export { createAuditWatcher, createRequiredGate } from './watch.ts';
