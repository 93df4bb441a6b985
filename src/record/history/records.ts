/**
 * The lines of the audit log: JSON objects that differ by `type`. Writers use these types, the reader validates with these
 * schemas, and docs/reference/audit-records.md is generated from the descriptions.
 */
import { z } from 'zod';
import { CELL_STATUSES } from '../../core/base/cell.ts';

const count = z.int().nonnegative();
const common = {
  at: z.iso.datetime().describe('Time of the event, in UTC, with milliseconds.'),
  bridge: z.string().describe('Bridge process: the start of the instance id in the labels of its containers.'),
  principal: z.string().optional().describe('Name of the token over HTTP; left out for the user of the machine.'),
};
const sessionKey = {
  session: z.string().describe('Name of the session.'),
  generation: count.describe('Number of the sandbox: 1, plus 1 after each loss or reset.'),
};
const cellKey = z.string().describe('Id of the cell: bridge, session, generation and cell number, joined by `/`.');
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
    isolation: z.string().describe('Its isolation, as reported in the first answer of the session.'),
  })
  .describe('The sandbox of a session is ready.');

export const SessionEndedSchema = z
  .strictObject({
    type: z.literal('session_ended'),
    ...common,
    ...sessionKey,
    reason: z.string().describe('The reason, in one clause. Known secrets are masked.'),
  })
  .describe('The sandbox of a session has ended.');

export const CellStartedSchema = z
  .strictObject({
    type: z.literal('cell_started'),
    ...common,
    id: cellKey,
    ...sessionKey,
    cell: count.describe('Number of the cell in its session.'),
    client: z.string().optional().describe('What its client calls itself; left out for a command.'),
    timeout_ms: count.describe('Deadline of the cell.'),
    run_by: z
      .literal('operator')
      .optional()
      .describe('`operator` if the user who runs the bridge ran it over the local API, and not a client.'),
    ...code,
  })
  .describe('A cell is about to run. With `MCP_BRIDGE_AUDIT=required`, it does not run before this is written.');

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
    exit_code: z.int().optional().describe('Exit code of the cell, if it is not 0.'),
    stdout_bytes: count.describe('Bytes printed to stdout.'),
    stderr_bytes: count.describe('Bytes printed to stderr.'),
    value_bytes: count.describe('Bytes of the returned value in the answer.'),
    error_bytes: count.describe('Bytes of the error or traceback in the answer.'),
    attachments: count.describe('Images, sounds, documents and links in the answer.'),
    answer_bytes: count
      .optional()
      .describe(
        'Bytes of text that the answer shows, with what was cut left out and documents included; left out for commands, whose output goes to no client.',
      ),
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
  .describe('A cell was not run, because there was no sandbox or it was cancelled before it began.');

export const CallSchema = z
  .strictObject({
    type: z.literal('call'),
    ...common,
    id: z.string().describe('Id of the call: its cell and its number in the sandbox, joined by `/`.'),
    cell: cellKey.describe('Id of the cell that made the call; its cell number is 0 for a call from a background job.'),
    job: z.string().optional().describe('Name of the background job that made the call.'),
    server: z.string().describe('Name of the server.'),
    tool: z.string().describe('Name of the tool; if there is no such tool, the name in the code.'),
    arguments: z
      .record(z.string(), z.string())
      .describe('Type and size of each argument that the tool declares, in up to 8,192 characters. Never a value.'),
    undeclared: count
      .optional()
      .describe(
        'Number of other arguments. Names that the tool does not declare are not recorded, because they may be data.',
      ),
    decision: z
      .enum(['allowed', 'denied', 'asked'])
      .describe(
        '`denied` by a rule or limit, or `asked` if approval was required. With the outcome `started`, `allowed` by whatever decided.',
      ),
    rule: z.string().optional().describe('The rule that decided, and where it is.'),
    answer: z
      .string()
      .optional()
      .describe('Result of asking: `allowed`, `denied`, `timeout`, `unavailable` or `cancelled`.'),
    approval: z
      .enum(['once', 'cell', 'session', 'schedule'])
      .optional()
      .describe(
        'What the person allowed, now or earlier: this call, or every call to this tool in the cell or session.',
      ),
    dry_run: z
      .literal(true)
      .optional()
      .describe('The call was not sent: a stand-in took the place of the answer, and `outcome` is `ok`.'),
    resumed: z
      .literal(true)
      .optional()
      .describe('The call was not sent: an interrupted run that goes on had got this answer before.'),
    outcome: z
      .enum(['started', 'ok', 'error'])
      .describe(
        'Whether the tool succeeded. With `MCP_BRIDGE_AUDIT=required`, there is a record with `started` before the call is sent, and another with the same id when it has ended. Without the other, it is not known how it ended.',
      ),
    error_code: errorCode.optional(),
    duration_ms: z
      .number()
      .nonnegative()
      .describe('Time until the outcome, without the wait for approval; 0 if it has only started.'),
    approval_ms: z
      .number()
      .nonnegative()
      .optional()
      .describe('Time that the call waited for an approval, if one was required.'),
    arguments_bytes: count.optional().describe('Size of all arguments as JSON.'),
    result_bytes: count.optional().describe('Size of the result as JSON.'),
    text_bytes: count
      .optional()
      .describe(
        'Bytes of text in the result that a client would show to a model: its text blocks, or its structured content if it has none. Left out if that is unknown.',
      ),
  })
  .describe('A tool call has ended, or is about to be sent. `at` is when it began.');

export const StepSchema = z
  .strictObject({
    type: z.literal('step'),
    ...common,
    cell: cellKey.describe('Id of the cell that did it; its cell number is 0 for a background job.'),
    job: z.string().optional().describe('Name of the background job that did it.'),
    step: count.describe('Number of the step in its sandbox.'),
    name: z.string().describe('Name of its function.'),
    after: z.array(count).describe('The steps that had ended before it, and that nothing else had followed.'),
    within: count.optional().describe('The step that did it; left out for one that the cell did itself.'),
    rows: count.optional().describe('Number of rows, if the step is a map. Its rows have no records.'),
    failed_rows: count.optional().describe('Those of them that failed.'),
    tries: count.optional().describe('How often it was tried, if more than once.'),
    outcome: z
      .enum(['ok', 'error', 'cancelled', 'kept'])
      .describe(
        'How it ended; `kept` if it was not done, because an interrupted run that goes on had done it, and `cancelled` also if its cell ended first.',
      ),
    exception: z.string().optional().describe('Class of its exception, according to the sandbox.'),
    duration_ms: z.number().nonnegative().describe('How long it took.'),
  })
  .describe('A step of `runtime.step` or `runtime.step_map` has ended. `at` is when it began.');

export const QuestionAnsweredSchema = z
  .strictObject({
    type: z.literal('question_answered'),
    ...common,
    session: sessionKey.session,
    cell: cellKey.optional().describe('Id of the cell for which the person was asked; left out if none ran yet.'),
    answered_by: z.literal('operator').describe('The user who runs the bridge.'),
    action: z.enum(['accept', 'decline', 'cancel']).describe('The answer.'),
    choice: z.string().optional().describe('What was chosen, such as `Allow once`, if the question offers choices.'),
  })
  .describe(
    'The operator has answered a question over the local API, before the person at the client did. Without this record, the answer came from the client.',
  );

export const DefinitionsSchema = z
  .strictObject({
    type: z.literal('definitions'),
    ...common,
    server: z.string().optional().describe('Name of the server; left out for the tools of the bridge itself.'),
    tools: count.describe('Number of tools.'),
    bytes: count.describe('Size of their names, descriptions and input schemas as JSON.'),
  })
  .describe(
    'Tools that a client shows to a model in every conversation: those of the bridge, and those of a server as if the client were connected to it. Written once by each bridge: with the first answer to a client, and with the first call of each server.',
  );

export const ToolSavedSchema = z
  .strictObject({
    type: z.literal('tool_saved'),
    ...common,
    cell: cellKey.describe('Id of the cell that saved it; its cell number is 0 for a background job.'),
    name: z.string().describe('Name of the function.'),
    sha256: z.string().describe('SHA-256 of its source, as in `tools/NAME.sha256`.'),
    bytes: count.describe('Bytes of its source.'),
    replaced: z.string().optional().describe('SHA-256 of the source that it replaced.'),
    asked: z.boolean().describe('Whether the user was asked, and allowed it.'),
  })
  .describe('Code has saved a function for later sessions.');

export const ArtifactSavedSchema = z
  .strictObject({
    type: z.literal('artifact_saved'),
    ...common,
    cell: cellKey.describe('Id of the cell that saved it; its cell number is 0 for a background job.'),
    call: count.describe('Number of the call that saved it, in its sandbox.'),
    name: z.string().describe('Name of the file.'),
    bytes: count.describe('Its size.'),
    modified: z.iso
      .datetime()
      .describe('Time of the stored file, which with its size tells whether it was replaced since.'),
  })
  .describe('Code has saved an artifact.');

export const ProgramSchema = z
  .strictObject({
    type: z.literal('program'),
    ...common,
    cell: cellKey
      .optional()
      .describe('Id of the cell that ran it; left out if a client did, with the tool `execute_code`.'),
    language: z.string().optional().describe('Its language; left out if it was refused before that was known.'),
    snippet: z.string().optional().describe('Name of the stored snippet, if it is one.'),
    code_sha256: code.code_sha256.optional(),
    code_bytes: code.code_bytes.optional(),
    code: code.code.optional(),
    status: z
      .enum(['started', 'success', 'error', 'timeout', 'refused'])
      .describe(
        'How it ended; `refused` if it did not run. With `MCP_BRIDGE_AUDIT=required`, `started` before a program of a client runs.',
      ),
    error_code: errorCode.optional().describe('Why it did not run.'),
    exit_code: z.int().optional().describe('Its exit code, unless it was ended.'),
    duration_ms: z.number().nonnegative().describe('Time until the end, including the start of the sandbox.'),
    stdout_bytes: count.optional().describe('Bytes that it wrote to stdout, as far as they were kept.'),
    stderr_bytes: count.optional().describe('Bytes that it wrote to stderr, as far as they were kept.'),
  })
  .describe('A program in another language has ended, or was refused. `at` is when it was asked for.');

export const PackagesInstalledSchema = z
  .strictObject({
    type: z.literal('packages_installed'),
    ...common,
    cell: cellKey.describe(
      'Id of the cell that asked for them; its cell number is 0 for a background job. Ends with `/preinstall/0/0` if the bridge fetched what `MCP_BRIDGE_PREINSTALL` names.',
    ),
    allowed_by: z
      .enum(['common', 'setting', 'policy', 'user', 'command', 'lock'])
      .describe(
        'Who allowed it: the list of common packages, a setting (`MCP_BRIDGE_PACKAGES=any` or `MCP_BRIDGE_PREINSTALL`), a rule of `policy.json`, the user when asked, the user with `packages add`, or an earlier installation of the same files.',
      ),
    packages: z.array(z.string()).describe('Each wheel, as `NAME==VERSION sha256:HASH`.'),
    fetched_bytes: count.describe('Bytes fetched; 0 if the store had all of them.'),
  })
  .describe('Packages were installed for a session.');

export const PackagesRefusedSchema = z
  .strictObject({
    type: z.literal('packages_refused'),
    ...common,
    cell: cellKey.describe('Id of the cell that asked for them; its cell number is 0 for a background job.'),
    requirements: z.array(z.string()).describe('What the code asked for, such as `pandas>=2`.'),
    error_code: errorCode,
    reason: z.string().describe('The reason, with the rule that decided.'),
  })
  .describe('Packages were refused: by the policy, by the user, or because no one could be asked.');

export const CallsRefusedSchema = z
  .strictObject({
    type: z.literal('calls_refused'),
    ...common,
    cell: cellKey.describe('Id of the cell that made the calls; its cell number is 0 for calls from background jobs.'),
    server: z.string().optional().describe('Name of the server; left out if it differs.'),
    tool: z.string().optional().describe('Name of the tool; left out if it differs.'),
    error_code: errorCode,
    calls: count.describe('Number of calls since the last such record.'),
  })
  .describe(
    'Further calls of a cell were refused. The first 100 have a record each; requests for packages count as `packages.install`. `at` is when the first of these was made.',
  );

export const LostSchema = z
  .strictObject({
    type: z.literal('lost'),
    ...common,
    session: sessionKey.session.optional(),
    records: count.describe('Number of lost records.'),
    reason: z.string().describe('The reason, in one clause.'),
  })
  .describe('Records that should be here but could not be written.');

export const AuditRecordSchema = z.discriminatedUnion('type', [
  SessionStartedSchema,
  SessionEndedSchema,
  CellStartedSchema,
  CellEndedSchema,
  CellRefusedSchema,
  CallSchema,
  StepSchema,
  DefinitionsSchema,
  QuestionAnsweredSchema,
  ToolSavedSchema,
  ArtifactSavedSchema,
  ProgramSchema,
  PackagesInstalledSchema,
  PackagesRefusedSchema,
  CallsRefusedSchema,
  LostSchema,
]);
export type AuditRecord = z.infer<typeof AuditRecordSchema>;
export type RecordOf<Type extends AuditRecord['type']> = Extract<AuditRecord, { readonly type: Type }>;
