/**
 * What the local API of a running bridge answers. docs/reference/live-api.md is generated from these schemas, and a test validates
 * with them what a bridge sends. Times are ISO 8601 in UTC.
 */
import { z } from 'zod';
import { CELL_STATUSES } from '../../core/base/cell.ts';

/** The only `Host`: a Unix socket has no name. */
export const API_HOST = 'localhost';

const count = z.int().nonnegative();
const at = z.iso.datetime();
const text = z.string();
const ms = z.number().nonnegative();

const whose = {
  principal: text.optional().describe('Name of the token over HTTP; left out for the user of the machine.'),
  profile: text.optional().describe('Profile of `policy.json` that the client has chosen.'),
};
const session = text.describe('Name of the session.');
const cellId = text.describe('Id of the cell, as in the audit log.');
const call = count.describe('Number of the call in its sandbox.');
const server = text.describe('Name of the server.');
const tool = text.describe('Name of the tool, or an MCP method such as `resources/read`.');
const errorCode = text.optional().describe('Code of the error, if it failed and has one; `help CODE` explains it.');
const durationMs = ms.describe('How long it took.');

export const BridgeInfoSchema = z.strictObject({
  pid: count.describe('Process of the bridge.'),
  version: text.describe('Version of the bridge.'),
  started: at.describe('When the process started.'),
  transport: z.enum(['stdio', 'http']).describe('How its clients reach it.'),
  client: text.optional().describe('Name of the client, over stdio.'),
  engine: text.optional().describe('Engine of its sandboxes; left out before the first one.'),
  memory_bytes: count.describe('Memory of the bridge itself, without sandboxes and servers.'),
  folder: text.describe('Folder in which it was started.'),
  state_dir: text.describe('State directory.'),
  settings: z
    .strictObject({
      runtime: text.describe('`MCP_BRIDGE_RUNTIME`.'),
      memory_bytes: count.describe('Limit of one sandbox, `MCP_BRIDGE_MEMORY`.'),
      timeout_seconds: ms.describe('`MCP_BRIDGE_TIMEOUT`.'),
      idle_seconds: ms.describe('`MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT`.'),
      max_sessions: count.describe('`MCP_BRIDGE_MAX_SESSIONS`.'),
      checkpoint: text.describe('`MCP_BRIDGE_CHECKPOINT`.'),
      audit: text.describe('`MCP_BRIDGE_AUDIT`.'),
    })
    .describe('Settings that matter to whoever watches.'),
});
export type BridgeInfo = z.infer<typeof BridgeInfoSchema>;

const CallSchema = z.strictObject({
  call,
  server,
  tool,
  started: at.describe('When the code made it.'),
  status: z.enum(['running', 'ok', 'error']).describe('How it ended.'),
  duration_ms: durationMs.optional(),
  error_code: errorCode,
});

export const StepSchema = z.strictObject({
  step: count.describe('Number of the step in its sandbox.'),
  name: text.describe('Name of its function.'),
  after: z.array(count).describe('The steps that had ended before it, and that nothing else had followed.'),
  within: count.optional().describe('The step that does it; left out for one that the cell does itself.'),
  started: at.describe('When it began.'),
  status: z
    .enum(['running', 'ok', 'error', 'cancelled', 'kept'])
    .describe('`kept`: not done, because an interrupted run that goes on had done it.'),
  duration_ms: durationMs.optional(),
  rows: count.optional().describe('Number of rows, if it is a map.'),
  rows_ended: count.optional().describe('Rows that have ended, if it is a map and that is known.'),
  rows_failed: count.optional().describe('Rows that have failed, if any have.'),
  tries: count.optional().describe('How often it was tried, if more than once.'),
  exception: text.optional().describe('Class of its exception, according to the sandbox.'),
});
export type LiveStep = z.infer<typeof StepSchema>;

const RunningCellSchema = z.strictObject({
  id: cellId,
  code: text.describe('The code, with known secrets replaced by `***`.'),
  servers: z.array(text).describe('Servers that it may call.'),
  started: at.describe('When it began.'),
  deadline: at.describe('When it will be interrupted; later if a person was asked meanwhile.'),
  paused: z
    .literal(true)
    .optional()
    .describe('The time until `deadline` stands still: a person is asked, or a server is downloaded.'),
  output: text.describe('The end of what it has written: at most 16,384 characters of stdout and stderr.'),
  output_chars: count.describe('Characters that it has written so far.'),
  calls: z
    .array(CallSchema)
    .describe('The calls that run, and the last 100 that have ended, in the order of their numbers.'),
  calls_running: count.describe('Calls that run.'),
  calls_ended: count.describe('All calls that have ended.'),
  steps: z
    .array(StepSchema)
    .optional()
    .describe('Steps of `runtime.step`: those that run, and the last 200 that have ended; left out if there are none.'),
});

export const SessionSchema = z.strictObject({
  name: session,
  ...whose,
  state: z
    .enum(['starting', 'running', 'idle', 'hibernated'])
    .describe('`starting`: its sandbox is not ready. `running`: a cell runs. `hibernated`: saved, without a sandbox.'),
  questions: count
    .optional()
    .describe('Questions of its cell that wait for a person, and with them the cell; left out if there are none.'),
  engine: text.optional().describe('Engine of its sandbox.'),
  generation: count.describe('Number of the sandbox: 1, plus 1 after each loss or reset.'),
  cells: count.describe('Number of its last cell.'),
  waiting: count.describe('Cells that wait for the one that runs.'),
  servers: z.array(text).describe('Servers that are loaded in it.'),
  age_ms: ms.optional().describe('Age of the sandbox.'),
  idle_ms: ms.optional().describe('Time since its last cell.'),
  memory_bytes: count
    .optional()
    .describe('What its process used after the last cell, according to the sandbox; left out if that is not known.'),
  variables: count.optional().describe('Top-level variables, functions and imports after the last cell.'),
  names: z.array(text).describe('Names of the first variables, at most 100, according to the sandbox.'),
  saved: at.optional().describe('Time of its newest checkpoint.'),
  cell: RunningCellSchema.optional().describe('The cell that runs.'),
});
export type LiveSession = z.infer<typeof SessionSchema>;

export const ApprovalSchema = z.strictObject({
  id: text.describe('What the answer names.'),
  ...whose,
  session: session.optional().describe('Name of the session; left out for a scheduled run.'),
  schedule: z
    .strictObject({
      name: text.describe('Name of the schedule.'),
      run: text.describe('Id of the run: the time at which it was due, in UTC.'),
    })
    .optional()
    .describe('The scheduled run that asks and has ended meanwhile; all bridges of the user list it.'),
  asked: at.describe('When the person was asked.'),
  calls: z
    .array(z.strictObject({ server, tool, reason: text.describe('The rule that asks, and where it is.') }))
    .optional()
    .describe('The different calls that it is about; left out if it is about something else.'),
  mode: z.enum(['form', 'url']).describe('A form to fill in, or a page to open.'),
  message: text.describe('The question, as the client shows it. Known secrets are masked in questions about calls.'),
  schema: z.record(z.string(), z.unknown()).optional().describe('Fields of the form, as JSON Schema.'),
  url: text.optional().describe('Address of the page.'),
});
export type LiveApproval = z.infer<typeof ApprovalSchema>;

export const ServerSchema = z.strictObject({
  name: server,
  ...whose,
  state: z.enum(['idle', 'starting', 'ready', 'failing']).describe('`idle`: not running; its next call starts it.'),
  pid: count.optional().describe('Its process, if it is one of this machine and runs.'),
  tools: count.optional().describe('Tools that code can see, if they are known.'),
  in_flight: count.describe('Requests that it has not answered.'),
  calls: count.describe('Calls that were sent to it since the bridge started.'),
  failed: count.describe('Those of them that failed.'),
  p50_ms: ms.optional().describe('Half of its last 256 calls took less.'),
  p95_ms: ms.optional().describe('95 % of its last 256 calls took less.'),
  error: text.optional().describe('Why it does not work, if it is failing. Secrets of its entry are masked.'),
});
export type LiveServer = z.infer<typeof ServerSchema>;

const common = { at: at.describe('Time of the event.'), ...whose };

export const EventSchema = z.discriminatedUnion('type', [
  z
    .strictObject({
      type: z.literal('session_started'),
      ...common,
      session,
      generation: count.describe('Number of the sandbox.'),
      engine: text.describe('Engine that runs it.'),
    })
    .describe('The sandbox of a session is ready.'),
  z
    .strictObject({
      type: z.literal('session_ended'),
      ...common,
      session,
      generation: count.describe('Number of the sandbox.'),
      reason: text.describe('The reason, in one clause. Known secrets are masked.'),
    })
    .describe('The sandbox of a session has ended.'),
  z
    .strictObject({
      type: z.literal('cell_started'),
      ...common,
      session,
      cell: cellId,
      code: text.describe('The code, with known secrets replaced by `***`.'),
      servers: z.array(text).describe('Servers that it may call.'),
      timeout_ms: count.describe('Its deadline.'),
    })
    .describe('A cell runs.'),
  z
    .strictObject({
      type: z.literal('cell_output'),
      ...common,
      session,
      cell: cellId,
      stream: z.enum(['stdout', 'stderr']).describe('Where it was written.'),
      from_char: count.describe('Characters that the cell had written before; compare with `output_chars`.'),
      text: text.describe('What was written in about 50 ms, at most 65,536 characters.'),
      dropped_chars: count.optional().describe('Characters that were left out after `text`.'),
    })
    .describe('A cell has written something.'),
  z
    .strictObject({
      type: z.literal('cell_ended'),
      ...common,
      session,
      cell: cellId,
      status: z.enum(CELL_STATUSES).describe('How it ended.'),
      error_code: errorCode,
      duration_ms: durationMs,
    })
    .describe('A cell has ended.'),
  z
    .strictObject({
      type: z.literal('call_started'),
      ...common,
      session,
      cell: cellId.describe('Id of the cell; its number is 0 for a background job.'),
      call,
      job: text.optional().describe('Name of the background job that makes it.'),
      server,
      tool,
    })
    .describe('Code has made a call. It may be refused, or a person may be asked.'),
  z
    .strictObject({
      type: z.literal('call_ended'),
      ...common,
      session,
      cell: cellId.describe('Id of the cell; its number is 0 for a background job.'),
      call,
      server,
      tool,
      status: z.enum(['ok', 'error']).describe('Whether it succeeded.'),
      error_code: errorCode,
      duration_ms: durationMs,
    })
    .describe('A call has ended.'),
  z
    .strictObject({
      type: z.literal('step_changed'),
      ...common,
      session,
      cell: cellId,
      ...StepSchema.shape,
    })
    .describe('A step has begun or ended. Rows of a map have no events of their own.'),
  z
    .strictObject({
      type: z.literal('approval_asked'),
      ...common,
      session,
      id: text.describe('What `/v1/approvals` calls it.'),
    })
    .describe('A question waits for a person.'),
  z
    .strictObject({
      type: z.literal('approval_answered'),
      ...common,
      session,
      id: text.describe('What `/v1/approvals` called it.'),
      answered_by: z
        .enum(['client', 'operator', 'nobody'])
        .describe(
          '`client`: the person at the client. `operator`: over this API. `nobody`: withdrawn, or not in time.',
        ),
      action: z.enum(['accept', 'decline', 'cancel']).optional().describe('The answer, if there was one.'),
    })
    .describe('A question no longer waits.'),
  z
    .strictObject({
      type: z.literal('server_state'),
      ...common,
      server,
      state: ServerSchema.shape.state.describe('As in `/v1/servers`.'),
    })
    .describe('A server has another state. Looked at twice a second, and only while someone reads events.'),
  z
    .strictObject({
      type: z.literal('lost'),
      ...common,
      events: count.describe('How many.'),
    })
    .describe('More happened at once than a stream carries: read `/v1/sessions` again.'),
  z
    .strictObject({ type: z.literal('end'), ...common, reason: text.describe('The reason, in one clause.') })
    .describe('The stream ends with this event.'),
]);
export type LiveEvent = z.infer<typeof EventSchema>;
