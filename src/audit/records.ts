/**
 * The lines of the audit log, one JSON object each, told apart by `type`. Writers make them by these types; the reader
 * checks them by the schemas, and docs/audit.md is generated from the descriptions.
 */
import { z } from 'zod';
import { CELL_STATUSES } from '../base/cell.ts';

const count = z.int().nonnegative();
const common = {
  at: z.iso.datetime().describe('When it happened, in UTC, to the millisecond.'),
  bridge: z
    .string()
    .describe('The process of the bridge: the start of the instance id that its containers carry as a label.'),
};
const sessionKey = {
  session: z.string().describe('Name of the session.'),
  generation: count.describe('Which sandbox of the session: 1 for the first, one more after each loss or reset.'),
};
const cellKey = z.string().describe('The cell: bridge, session, generation and number of the cell, joined by `/`.');
const code = {
  servers: z.array(z.string()).describe('Servers that the cell may call, by name.'),
  code_sha256: z.string().describe('SHA-256 of the code as it was sent, in hexadecimal.'),
  code_bytes: count.describe('Length of the code as it was sent, in bytes of UTF-8.'),
  code: z.string().describe('The code. Known secrets in it are replaced by `***`.'),
};
const errorCode = z.string().describe('Code of the error; `help CODE` explains it.');

export const SessionStartedSchema = z
  .strictObject({
    type: z.literal('session_started'),
    ...common,
    ...sessionKey,
    engine: z.string().describe('Engine that runs the sandbox.'),
    isolation: z.string().describe('What keeps the code in, as the first answer of the session says it.'),
  })
  .describe('A sandbox of a session is ready.');

export const SessionEndedSchema = z
  .strictObject({
    type: z.literal('session_ended'),
    ...common,
    ...sessionKey,
    reason: z.string().describe('Why, in one clause. Known secrets are masked.'),
  })
  .describe('A sandbox of a session has ended.');

export const CellStartedSchema = z
  .strictObject({
    type: z.literal('cell_started'),
    ...common,
    id: cellKey,
    ...sessionKey,
    cell: count.describe('Number of the cell in its session.'),
    timeout_ms: count.describe('Deadline of the cell.'),
    ...code,
  })
  .describe('A cell is about to run. With `MCP_BRIDGE_AUDIT=required` it does not run before this is written.');

export const CellEndedSchema = z
  .strictObject({
    type: z.literal('cell_ended'),
    ...common,
    id: cellKey,
    status: z.enum(CELL_STATUSES).describe('How it ended.'),
    duration_ms: z.number().nonnegative().describe('Time since `cell_started`.'),
    error_code: errorCode
      .optional()
      .describe(
        'Code of the error, when the bridge ended the cell or did not run it, or refused the call that ended it. Code in the sandbox cannot set it.',
      ),
    exception: z.string().optional().describe('Class of the exception that ended it, as the sandbox says.'),
    exit_code: z.int().optional().describe('Exit code, where there is one.'),
    stdout_bytes: count.describe('What the code printed, in bytes of UTF-8.'),
    stderr_bytes: count.describe('The same for stderr.'),
    value_bytes: count.describe('Length of the value of the last expression, as it was answered.'),
    error_bytes: count.describe('Length of the error or traceback, as it was answered.'),
    attachments: count.describe('Images, sounds, documents and links in the answer.'),
  })
  .describe('A cell has ended.');

export const CellRefusedSchema = z
  .strictObject({
    type: z.literal('cell_refused'),
    ...common,
    session: sessionKey.session,
    ...code,
    error_code: errorCode,
  })
  .describe('A cell was not run: no sandbox could be had, or it was cancelled before it began.');

export const CallSchema = z
  .strictObject({
    type: z.literal('call'),
    ...common,
    id: z.string().describe('The call: its cell and its number in the sandbox, joined by `/`.'),
    cell: cellKey.describe('The cell that made it; its number is 0 for a call of a job.'),
    job: z.string().optional().describe('Name of the job that made it.'),
    server: z.string().describe('Name of the server.'),
    tool: z.string().describe('Name of the tool; as the code wrote it, when there is no such tool.'),
    arguments: z
      .record(z.string(), z.string())
      .describe(
        'Each argument that the tool declares: its type, for strings, arrays and objects with their length in characters, items or members. Never its value.',
      ),
    undeclared: count
      .optional()
      .describe('Arguments that the tool does not declare. Their names may be data, so they are not told.'),
    decision: z
      .enum(['allowed', 'denied', 'asked'])
      .describe('`denied` when a rule refused it, `asked` when a person was asked.'),
    rule: z.string().optional().describe('The rule that decided, and where it stands.'),
    answer: z
      .string()
      .optional()
      .describe(
        'What the person answered, or why there was no answer: `allowed`, `denied`, `timeout`, `unavailable`, `cancelled`.',
      ),
    approval: z
      .enum(['once', 'cell', 'session'])
      .optional()
      .describe(
        'What the person allowed: this call, or all of this tool in its cell or session, by this question or an earlier one.',
      ),
    outcome: z.enum(['ok', 'error']).describe('Whether the tool succeeded.'),
    error_code: errorCode.optional(),
    duration_ms: z.number().nonnegative().describe('Time from the call to its outcome, waiting for a person included.'),
    result_bytes: count.optional().describe('Size of the result as JSON in UTF-8, without escapes.'),
  })
  .describe('A call of a tool has ended. `at` is when it began.');

export const LostSchema = z
  .strictObject({
    type: z.literal('lost'),
    ...common,
    records: count.describe('How many.'),
    reason: z.string().describe('Why, in one clause.'),
  })
  .describe('Records that should stand here could not be written.');

export const AuditRecordSchema = z.discriminatedUnion('type', [
  SessionStartedSchema,
  SessionEndedSchema,
  CellStartedSchema,
  CellEndedSchema,
  CellRefusedSchema,
  CallSchema,
  LostSchema,
]);
export type AuditRecord = z.infer<typeof AuditRecordSchema>;
export type RecordOf<Type extends AuditRecord['type']> = Extract<AuditRecord, { readonly type: Type }>;
