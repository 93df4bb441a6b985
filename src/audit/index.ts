/** The record of cells and calls: written by a gate and a recorder, read by a command. */
export { createCallRecord } from './call-record.ts';
export { auditCommand } from './command.ts';
export { createAuditGate, createBeginGate, createUnmadeNote } from './gate.ts';
export { recordProgram } from './program-record.ts';
export { type AuditTrail, openAuditTrail, withAuditNotices } from './trail.ts';
