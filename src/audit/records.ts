/**
 * The lines of the audit log, one JSON object each, told apart by `type`. Writers make them by these types; the reader
 * checks them by the schemas, and docs/reference/audit-records.md is generated from the descriptions.
 */
import { z } from 'zod';
import { CELL_STATUSES } from '../base/cell.ts';

const count = z.int().nonnegative();
const common = {
  at: z.iso.datetime().describe('When it happened, in UTC, to the millisecond.'),
  bridge: z.string().describe('The bridge process: the start of the instance id in the label of its containers.'),
};
const sessionKey = {
  session: z.string().describe('Name of the session.'),
  generation: count.describe('Number of the sandbox: 1, and one more after each loss or reset.'),
};
const cellKey = z.string().describe('The cell: bridge, session, generation and cell number, joined by `/`.');
const code = {
  servers: z.array(z.string()).describe('Servers that the cell may call.'),
  code_sha256: z.string().describe('SHA-256 of the code as sent.'),
  code_bytes: count.describe('Bytes of the code as sent.'),
  code: z.string().describe('The code, with known secrets replaced by `***`.'),
};
const errorCode = z.string().describe('Code of the error; `help CODE` explains it.');

export const SessionStartedSchema = z
  .strictObject({
    type: z.literal('session_started'),
    ...common,
    ...sessionKey,
    engine: z.string().describe('Engine that runs the sandbox.'),
    isolation: z.string().describe('Its isolation, as in the first answer of the session.'),
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
  .describe('A cell is about to run. With `MCP_BRIDGE_AUDIT=required`, this is written first.');

export const CellEndedSchema = z
  .strictObject({
    type: z.literal('cell_ended'),
    ...common,
    id: cellKey,
    status: z.enum(CELL_STATUSES).describe('How it ended.'),
    duration_ms: z.number().nonnegative().describe('Time since `cell_started`.'),
    error_code: errorCode
      .optional()
      .describe('Code of the error, if the bridge ended or refused the cell, or refused the call that ended it.'),
    exception: z.string().optional().describe('Class of the exception, according to the sandbox.'),
    exit_code: z.int().optional().describe('Exit code.'),
    stdout_bytes: count.describe('Bytes printed to stdout.'),
    stderr_bytes: count.describe('Bytes printed to stderr.'),
    value_bytes: count.describe('Bytes of the value in the answer.'),
    error_bytes: count.describe('Bytes of the error or traceback in the answer.'),
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
  .describe('A cell was not run: there was no sandbox, or it was cancelled before it began.');

export const CallSchema = z
  .strictObject({
    type: z.literal('call'),
    ...common,
    id: z.string().describe('The call: its cell and its number in the sandbox, joined by `/`.'),
    cell: cellKey.describe('The cell that made it; its number is 0 for a call of a job.'),
    job: z.string().optional().describe('Name of the job that made it.'),
    server: z.string().describe('Name of the server.'),
    tool: z.string().describe('Name of the tool, or as the code wrote it if there is none.'),
    arguments: z
      .record(z.string(), z.string())
      .describe('Type, and length, of each argument that the tool declares. Never a value.'),
    undeclared: count
      .optional()
      .describe('Number of arguments that the tool does not declare; their names may be data.'),
    decision: z.enum(['allowed', 'denied', 'asked']).describe('`denied` by a rule, `asked` if a person was asked.'),
    rule: z.string().optional().describe('The rule that decided, and its place.'),
    answer: z
      .string()
      .optional()
      .describe('Outcome of the question: `allowed`, `denied`, `timeout`, `unavailable`, `cancelled`.'),
    approval: z
      .enum(['once', 'cell', 'session'])
      .optional()
      .describe('What the person allowed, now or earlier: this call, or all of this tool in the cell or session.'),
    outcome: z.enum(['ok', 'error']).describe('Whether the tool succeeded.'),
    error_code: errorCode.optional(),
    duration_ms: z.number().nonnegative().describe('Time until the outcome, including waiting for a person.'),
    result_bytes: count.optional().describe('Size of the result as JSON.'),
  })
  .describe('A call of a tool has ended. `at` is when it began.');

export const LostSchema = z
  .strictObject({
    type: z.literal('lost'),
    ...common,
    records: count.describe('How many.'),
    reason: z.string().describe('Why, in one clause.'),
  })
  .describe('Records that could not be written here.');

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
